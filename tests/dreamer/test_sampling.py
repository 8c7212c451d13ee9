"""A cycle samples pairs that may belong together, of its scope alone, within bounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from infinite_memory import EmbedderError, LinearSearch, MemoryStore
from infinite_memory.core.protocols import Embedder, Storage
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.dream.pair import Pair
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.features.background.dreamer.pairs.sampling import (
    MAX_PAIRS,
    Sampled,
    SeedScan,
    sample_pairs,
)
from infinite_memory.features.background.dreamer.view import DREAMER
from infinite_memory.search.index import SearchIndex
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.dreaming import NOW, TOLD, TOPICS, open_store, tell_topics, view_of


@pytest.fixture
def opened() -> Iterator[tuple[Storage, MemoryStore]]:
    with open_store() as (storage, store):
        yield storage, store


@pytest.fixture
def store(opened: tuple[Storage, MemoryStore]) -> MemoryStore:
    return opened[1]


def ends_of(pairs: tuple[Pair, ...]) -> set[frozenset[str]]:
    return {frozenset({pair.first.id, pair.second.id}) for pair in pairs}


def topic_of(memory_id: str) -> str:
    return memory_id.rsplit("-", 1)[0]


def run_cycles(store: MemoryStore, number: int, *, seed: int = 0) -> list[Sampled]:
    """Sample `number` times, each time with the notes of the time before."""
    notes: dict[str, str] = {}
    sampled = []
    for cycle in range(number):
        sampled.append(sample_pairs(view_of(store, seed=seed + cycle, notes=notes)))
        notes |= sampled[-1].notes
    return sampled


def test_pairs_of_a_topic_are_found_and_stand_out_from_pairs_at_random(store: MemoryStore) -> None:
    tell_topics(store)
    pairs = [pair for sampled in run_cycles(store, 4) for pair in sampled.pairs]
    same = {
        frozenset({f"{topic}-{a}", f"{topic}-{b}"})
        for topic in TOPICS
        for a, b in ((0, 1), (0, 2), (1, 2))
    }
    assert same <= ends_of(tuple(pairs))
    for pair in pairs:
        is_same = topic_of(pair.first.id) == topic_of(pair.second.id)
        assert (pair.words > 2 and pair.shared_words == 4) == is_same, pair


def test_the_later_memory_comes_first(store: MemoryStore) -> None:
    tell_topics(store)
    pairs = sample_pairs(view_of(store)).pairs
    assert pairs
    for pair in pairs:
        assert (pair.first.happened_at, pair.first.id) > (pair.second.happened_at, pair.second.id)


def test_equal_stores_and_seeds_give_equal_pairs_and_notes() -> None:
    results = []
    for _ in range(2):
        with open_store() as (_, store):
            tell_topics(store)
            results.append(run_cycles(store, 3, seed=7))
    assert results[0] == results[1]


def test_another_seed_looks_at_other_memories(store: MemoryStore) -> None:
    tell_topics(store, number=12)
    one, other = (sample_pairs(view_of(store, seed=seed)) for seed in (1, 2))
    assert ends_of(one.pairs) != ends_of(other.pairs)
    assert one.notes == other.notes


def test_a_cycle_never_pairs_memories_of_two_scopes(store: MemoryStore) -> None:
    store.scopes.create("work")
    store.scopes.create("work-notes", parent="work")
    tell_topics(store)
    tell_topics(store, scope="work", prefix="w-")
    alone = sample_pairs(view_of(store, scope="work")).pairs
    tell_topics(store, scope="work-notes", prefix="n-")
    for scope in ("Global", "work", "work-notes"):
        pairs = sample_pairs(view_of(store, scope=scope)).pairs
        assert pairs
        assert {memory.scope for pair in pairs for memory in (pair.first, pair.second)} == {scope}
    assert sample_pairs(view_of(store, scope="work")).pairs == alone


def test_what_may_not_be_linked_is_left_out(store: MemoryStore) -> None:
    tell_topics(store)
    store.forget("ferry-0")
    text = "ferry harbour Calais crossing"
    store.remember(f"{text} unindexed", id="ferry-8", context={"indexed": False})
    store.remember(f"{text} superseding", id="ferry-9", supersedes=["ferry-2"])
    picture = store.attachments.attach("ferry-1", uri="file:///ferry.png", description=text).id
    store.remember(
        text, id="dreamt", kind="summary", origin="dream", context={"dreamed": {"level": 1}}
    )
    ids = {i for sampled in run_cycles(store, 5) for ends in ends_of(sampled.pairs) for i in ends}
    assert {"ferry-1", "ferry-9"} <= ids
    assert not ids & {"ferry-0", "ferry-2", "ferry-8", picture, "dreamt"}


def test_what_is_new_comes_first(store: MemoryStore) -> None:
    tell_topics(store, number=12)
    notes = sample_pairs(view_of(store)).notes
    store.remember(
        "kiln glaze pottery firing", id="kiln-99", happened_at=TOLD - timedelta(days=900)
    )
    pairs = sample_pairs(view_of(store, notes=notes)).pairs
    assert {pair.second.id for pair in pairs if pair.sampled == "new, near"} == {"kiln-99"}
    assert pairs[0].second.id == "kiln-99"


def seeds_of(store: MemoryStore, notes: dict[str, str]) -> dict[str, str]:
    """Return the reason of each seed of a cycle, by id, and add its notes to `notes`."""
    scan = SeedScan(view_of(store, notes=notes))
    seeds = {seed.memory.id: seed.reason for seed in scan.seeds()}
    notes |= scan.notes
    return seeds


def test_every_memory_has_its_turn_and_linked_ones_wait_for_the_second_round(
    opened: tuple[Storage, MemoryStore],
) -> None:
    storage, store = opened
    tell_topics(store, number=8)
    linked = {f"choir-{number}" for number in range(8)}
    made = {"type": LinkType.SEMANTIC, "made_by": DREAMER, "made_at": NOW}
    storage.commit(
        Commit(links=tuple(Link(source=i, target="choir-0", **made) for i in linked - {"choir-0"}))
    )
    everybody = {f"{topic}-{number}" for topic in TOPICS for number in range(8)}
    notes: dict[str, str] = {}
    cycles = [seeds_of(store, notes) for _ in range(8)]
    # A memory that came at random before does not come again in its turn.
    assert everybody - linked <= {memory_id for seeds in cycles[:3] for memory_id in seeds}
    by_reason: defaultdict[str, set[str]] = defaultdict(set)
    for seeds in cycles:
        for memory_id, reason in seeds.items():
            by_reason[reason].add(memory_id)
    assert not by_reason["not linked yet"] & linked
    assert by_reason["in turn"] & linked
    assert everybody == {memory_id for seeds in cycles for memory_id in seeds}


def test_a_recent_memory_is_compared_with_much_older_ones(store: MemoryStore) -> None:
    for day in range(60):
        store.remember(
            f"day{day} choir rehearsal soprano chapel {'choir ' * (day % 7)}",
            id=f"choir-{day:02}",
            happened_at=NOW - timedelta(days=day / 20),
        )
    store.remember("choir", id="old", happened_at=NOW - timedelta(days=90))
    pairs = [p for sampled in run_cycles(store, 3) for p in sampled.pairs]
    old = [pair for pair in pairs if pair.sampled == "recent and old, near"]
    assert {pair.second.id for pair in old} == {"old"}
    assert all(pair.cosine is not None for pair in old)


def test_a_cycle_is_bounded_and_its_notes_say_only_what_was_looked_at(store: MemoryStore) -> None:
    tell_topics(store, number=12)
    sampled = sample_pairs(view_of(store))
    assert 80 < len(sampled.pairs) <= MAX_PAIRS
    over = sample_pairs(view_of(store, deadline=0))
    assert over == Sampled(notes={name: n for name, n in sampled.notes.items() if "feed" in name})


@pytest.mark.parametrize(
    "note",
    [
        "",
        "all x y",
        "unlinked 5",
        "other 5 m1",
        "all --5 m",
        "all ²5 m",
        "all 99999999999999999999 m",
    ],
)
def test_a_note_that_cannot_be_read_begins_at_the_start(store: MemoryStore, note: str) -> None:
    tell_topics(store)
    names = sample_pairs(view_of(store)).notes
    pairs = sample_pairs(view_of(store, notes=dict.fromkeys(names, note))).pairs
    assert ends_of(pairs)


def test_memories_without_a_vector_are_paired_by_their_words(
    opened: tuple[Storage, MemoryStore],
) -> None:
    with open_store(embedder=FailingEmbedder()) as (_, store):
        tell_topics(store)
        pairs = sample_pairs(view_of(store)).pairs
    assert pairs
    assert all(pair.cosine is None and pair.meaning is None for pair in pairs)
    near = [pair for pair in pairs if pair.words > 2]
    assert near
    assert all(topic_of(pair.first.id) == topic_of(pair.second.id) for pair in near)


def test_a_search_without_neighbors_gives_pairs_by_meaning_alone() -> None:
    def nearest_only(storage: Storage, embedder: Embedder) -> NearestOnly:
        return NearestOnly(SearchIndex(storage, embedder))

    with open_store(search=nearest_only) as (_, store):
        tell_topics(store)
        pairs = sample_pairs(view_of(store)).pairs
    best = max(pairs, key=lambda pair: pair.meaning or 0)
    assert topic_of(best.first.id) == topic_of(best.second.id)
    assert all(pair.words <= 0 for pair in pairs)


def test_every_search_measures_the_same(store: MemoryStore) -> None:
    with open_store() as (_, indexed), open_store(search=LinearSearch) as (_, linear):
        tell_topics(indexed)
        tell_topics(linear)
        one, other = (sample_pairs(view_of(each)).pairs for each in (indexed, linear))
    assert [(p.first.id, p.second.id) for p in one] == [(p.first.id, p.second.id) for p in other]
    assert [p.meaning for p in one] == pytest.approx([p.meaning for p in other], abs=1e-3)
    assert [p.words for p in one] == pytest.approx([p.words for p in other], abs=1e-3)


@given(
    number=st.integers(0, 7), seed=st.integers(0, 3), deadline=st.sampled_from([0, float("inf")])
)
def test_small_stores_have_few_pairs_and_never_a_memory_with_itself(
    number: int, seed: int, deadline: float
) -> None:
    with open_store() as (_, store):
        for memory in range(number):
            store.remember(f"note {memory % 2} about tea", id=f"m{memory}", similar=False)
        pairs = sample_pairs(view_of(store, seed=seed, deadline=deadline)).pairs
    assert len(ends_of(pairs)) == len(pairs) <= number * (number - 1) // 2
    assert all(pair.first.id != pair.second.id for pair in pairs)


class FailingEmbedder(HashingEmbedder):
    """Embeds nothing."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:  # noqa: ARG002 - protocol
        raise EmbedderError("the model is not there")


class NearestOnly:
    """A search with the required methods alone."""

    def __init__(self, inner: SearchIndex) -> None:
        self.search, self.nearest = inner.search, inner.nearest


def test_seeds_at_random_and_recent_ones_have_room_where_many_memories_are_near(
    store: MemoryStore,
) -> None:
    notes = dict(sample_pairs(view_of(store)).notes)
    tell_topics(store, number=12)
    ways = {pair.sampled for pair in sample_pairs(view_of(store, notes=notes)).pairs}
    assert {"new, near", "recent, near", "at random, near", "both at random"} <= ways
    assert "not linked yet, near" in {
        pair.sampled for sampled in run_cycles(store, 3) for pair in sampled.pairs
    }


def test_entries_of_a_list_are_no_pair_and_two_facts_of_one_form_are(store: MemoryStore) -> None:
    runs = [f"Ran {km}.2 km in {6 * km} minutes" for km in range(3, 9)]
    facts = ["The standup is at 8:50 every day", "The standup is at 9:15 every day"]
    ids = {text: store.remember(text, similar=False).id for text in [*runs, *facts]}
    ends = {end for sampled in run_cycles(store, 3) for end in ends_of(sampled.pairs)}
    assert frozenset(ids[text] for text in facts) in ends
    assert not any(end <= {ids[text] for text in runs} for end in ends)
