"""Endings stand for ids, each for a single memory that the call may name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import Config, InvalidInput, MemoryStore, NotFound
from infinite_memory.testing.embedders import HashingEmbedder

AT = datetime(2026, 11, 20, 9, tzinfo=UTC)


def open_store(**options: object) -> MemoryStore:
    return MemoryStore.open("memory://", embedder=HashingEmbedder(), **options)  # type: ignore[arg-type]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with open_store() as opened:
        yield opened


def remember(store: MemoryStore, *ids: str, scope: str = "Global") -> None:
    for memory_id in ids:
        store.remember(f"a note of {memory_id}", id=memory_id, scope=scope, happened_at=AT)


def test_the_last_eight_characters_stand_for_an_id(store: MemoryStore) -> None:
    memory_id = store.remember("The deadline is June 5").id
    assert store.ids.shorten([memory_id]) == {memory_id: memory_id[-8:]}
    for length in range(8, len(memory_id) + 1):
        assert store.ids.resolve(memory_id[-length:]) == memory_id
    assert store.ids.resolve(memory_id[-7:]) == memory_id[-7:]
    assert store.ids.resolve(memory_id[:8]) == memory_id[:8]


@pytest.mark.parametrize("text", ["tea \ud9f2 time", "a key of a fact", "x" * 200])
def test_what_cannot_be_an_id_is_left_to_the_call(store: MemoryStore, text: str) -> None:
    remember(store, "a-note-of-tea")
    assert store.ids.resolve(text) == text


def test_what_eight_characters_do_not_tell_apart_is_shown_longer(store: MemoryStore) -> None:
    remember(store, "a/12345678", "b/12345678", "bb/12345678", "12345678", "short")
    assert store.ids.shorten(["a/12345678", "b/12345678", "bb/12345678", "12345678", "short"]) == {
        "a/12345678": "a/12345678",
        "b/12345678": "b/12345678",
        "bb/12345678": "bb/12345678",
        "12345678": "12345678",
        "short": "short",
    }
    remember(store, "first:22345678", "other:22345678")
    assert store.ids.shorten(["first:22345678"]) == {"first:22345678": "t:22345678"}
    assert store.ids.shorten(["never stored"]) == {"never stored": "never stored"}


def test_an_id_stands_for_itself_before_an_ending_does(store: MemoryStore) -> None:
    remember(store, "x-12345678", "12345678")
    assert store.ids.resolve("12345678") == "12345678"
    assert store.ids.resolve("x-12345678") == "x-12345678"
    store.forget("12345678", hard=True)
    # What is asked of an erased id must not happen to another memory.
    assert store.ids.resolve("12345678") == "12345678"


def test_an_ambiguous_ending_is_refused_with_what_it_may_mean(store: MemoryStore) -> None:
    remember(store, "a-12345678", "b-12345678")
    with pytest.raises(InvalidInput) as refusal:
        store.ids.resolve("12345678")
    assert str(refusal.value) == (
        "2 ids end with '12345678': a-12345678 (2026-11-20, 'a note of a-12345678'); b-12345678"
        " (2026-11-20, 'a note of b-12345678'): give the whole id, or more of it; nothing was done"
    )
    store.forget("b-12345678")
    with pytest.raises(InvalidInput, match="2 ids"):
        store.ids.resolve("12345678")
    store.forget("b-12345678", hard=True)
    assert store.ids.resolve("12345678") == "a-12345678"


def test_a_long_list_of_meanings_is_cut(store: MemoryStore) -> None:
    remember(store, *(f"{number}-12345678" for number in range(14)))
    with pytest.raises(InvalidInput, match=r"14 ids .*; and 4 more: give"):
        store.ids.resolve("12345678")


def test_erasing_needs_the_whole_id(store: MemoryStore) -> None:
    remember(store, "a-12345678")
    assert store.ids.resolve("a-12345678", whole=True) == "a-12345678"
    assert store.ids.resolve("unknown-id", whole=True) == "unknown-id"
    with pytest.raises(InvalidInput, match=r"the whole id, and '12345678' .* a-12345678 \(2026"):
        store.ids.resolve("12345678", whole=True)


def test_superseded_and_forgotten_memories_have_endings_too(store: MemoryStore) -> None:
    old = store.remember("Alice lives in Rome", key="alice.city").id
    store.remember("Alice lives in Oslo", key="alice.city")
    gone = store.remember("Something else").id
    store.forget(gone)
    assert store.ids.resolve(store.ids.shorten([old])[old]) == old
    assert store.ids.resolve(store.ids.shorten([gone])[gone]) == gone


def test_an_ending_reveals_nothing_of_a_private_scope(store: MemoryStore) -> None:
    store.scopes.create("health", sensitivity="private")
    remember(store, "a-12345678", scope="health")
    assert store.ids.shorten(["a-12345678"]) == {"a-12345678": "a-12345678"}
    assert store.ids.resolve("12345678") == "12345678"
    assert store.ids.resolve("a-12345678") == "a-12345678"
    for nowhere in ("12345678", "87654321"):
        with pytest.raises(NotFound, match="in a private scope, where only its whole id stands"):
            store.get(nowhere)
    remember(store, "b-12345678")
    assert store.ids.resolve("12345678") == "b-12345678"
    assert store.ids.shorten(["b-12345678"]) == {"b-12345678": "12345678"}


def test_a_private_default_scope_has_endings() -> None:
    with open_store(config=Config(default_scope="health")) as store:
        store.scopes.create("health", sensitivity="private")
        remember(store, "a-12345678", scope="health")
        assert store.ids.shorten(["a-12345678"]) == {"a-12345678": "12345678"}
        assert store.ids.resolve("12345678") == "a-12345678"


def test_the_text_of_another_scope_is_not_quoted(store: MemoryStore) -> None:
    remember(store, "a-12345678", scope="work")
    remember(store, "b-12345678")
    with pytest.raises(InvalidInput, match=r"a-12345678; b-12345678 \(2026-11-20"):
        store.ids.resolve("12345678")


def test_a_confined_store_knows_only_the_endings_inside(tmp_path: object) -> None:
    home = str(tmp_path)
    with MemoryStore.open(home, embedder=HashingEmbedder()) as everything:
        remember(everything, "a-12345678", "c-22345678", scope="home")
        remember(everything, "b-12345678", scope="work")
        with MemoryStore.open(home, embedder=HashingEmbedder(), scopes=["work"]) as work:
            assert work.ids.resolve("12345678") == "b-12345678"
            assert work.ids.shorten(["b-12345678"]) == {"b-12345678": "12345678"}
            assert work.ids.resolve("22345678") == "22345678"
        with pytest.raises(InvalidInput, match=re.escape("2 ids end with '12345678'")):
            everything.ids.resolve("12345678")


@given(st.sets(st.from_regex(r"[ab:]{1,4}(12345678|ab12345678|aaaaaaaa)?", fullmatch=True)))
def test_every_ending_leads_back_to_its_id(ids: set[str]) -> None:
    with open_store() as store:
        store.remember_many({"text": f"note {i}", "id": i} for i in ids)
        shortened = store.ids.shorten(ids)
        assert {store.ids.resolve(ending) for ending in shortened.values()} == ids
        assert {memory_id: store.ids.resolve(shortened[memory_id]) for memory_id in ids} == {
            memory_id: memory_id for memory_id in ids
        }
        assert all(i.endswith(shortened[i]) and len(shortened[i]) >= min(8, len(i)) for i in ids)
