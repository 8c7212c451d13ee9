"""A hard forget takes every summary with it that quotes the memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from infinite_memory import Config, Kind, MemoryStore, NotFound, Outcome
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.engine.writes.quoting_summaries import find_quoting_summaries
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import make_memory

SECRET = "zanzibarquokka"


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    made: Storage = (
        InMemoryStorage() if request.param == "memory" else SqliteStorage.open(tmp_path / "home")
    )
    yield made
    made.close()


def open_store(tmp_path: Path, storage: Storage, **options: object) -> MemoryStore:
    home = tmp_path / "home"
    return MemoryStore.open(
        home,
        config=Config(home=home),
        storage=storage,
        embedder=HashingEmbedder(),
        **options,  # type: ignore[arg-type]
    )


def remaining(storage: Storage) -> set[str]:
    ids = ["secret", "other", "sum", "sum-of-sum", "unrelated", "lesson", "linked"]
    return set(storage.get(ids))


def test_a_hard_forget_erases_the_summaries_of_its_memory_and_names_them(
    tmp_path: Path, storage: Storage
) -> None:
    with open_store(tmp_path, storage) as store:
        store.remember(f"the password is {SECRET}", id="secret")
        store.remember("the garden is green", id="other")
        store.remember(f"a {SECRET}", id="sum", kind="summary", sources=["secret", "other"])
        store.remember(f"b {SECRET}", id="sum-of-sum", kind="summary", sources=["sum"])
        store.remember("c", id="unrelated", kind="summary", sources=["other"])
        store.remember("never share it", id="lesson", kind="lesson", sources=["secret"])
        receipt = store.forget("secret", hard=True)
        assert receipt.outcome is Outcome.ERASED
        assert receipt.erased == (
            *("memory secret", "1 revision", "1 vector"),
            *("summary sum, which quoted it", "summary sum-of-sum, which quoted it"),
        )
        assert remaining(storage) == {"other", "unrelated", "lesson"}
        assert [len(entry.action.memories) for entry in store.journal.entries(limit=1)] == [3]
        assert store.verify().sound
        assert store.forget("secret", hard=True).erased == ()


def test_a_summary_is_also_found_by_its_link_alone(tmp_path: Path, storage: Storage) -> None:
    with open_store(tmp_path, storage) as store:
        store.remember(f"the password is {SECRET}", id="secret")
        store.remember(f"a {SECRET}", id="linked", kind="summary")
        link = Link(
            source="linked",
            target="secret",
            type=LinkType.DERIVED_FROM,
            made_at=store.get("secret").stored_at,
        )
        storage.commit(Commit(links=(link,)))
        assert "summary linked, which quoted it" in store.forget("secret", hard=True).erased
        assert remaining(storage) == set()


def test_a_soft_forget_leaves_the_summaries(tmp_path: Path, storage: Storage) -> None:
    with open_store(tmp_path, storage) as store:
        store.remember("x", id="secret")
        store.remember("y", id="sum", kind="summary", sources=["secret"])
        store.forget("secret")
        assert remaining(storage) == {"secret", "sum"}


def test_a_repeated_hard_forget_erases_a_summary_that_was_stored_at_the_same_moment(
    tmp_path: Path, storage: Storage
) -> None:
    with open_store(tmp_path, storage) as store:
        store.remember("x", id="secret")
        store.forget("secret", hard=True)
        store.remember(f"late {SECRET}", id="sum", kind="summary", sources=["secret"])
        receipt = store.forget("secret", hard=True)
        assert (receipt.outcome, receipt.erased) == (
            Outcome.UNCHANGED,
            ("summary sum, which quoted it",),
        )
        assert remaining(storage) == set()
        assert [str(e.action.operation) for e in store.journal.entries(limit=1)] == ["erase"]


def test_a_handle_of_some_scopes_erases_what_quotes_its_memory_elsewhere_and_says_nothing(
    tmp_path: Path, storage: Storage
) -> None:
    with open_store(tmp_path, storage) as store:
        for scope in ("work", "home"):
            store.scopes.create(scope)
        store.remember(f"the password is {SECRET}", id="secret", scope="home")
        store.remember(f"a {SECRET}", id="sum", kind="summary", sources=["secret"], scope="home")
        store.remember(f"b {SECRET}", id="sum-of-sum", kind="summary", sources=["sum"])
        store.revise("sum-of-sum", revision=1, scope="work")
        store.revise("secret", revision=1, scope="work")
        with open_store(tmp_path, storage, scopes=["work"]) as work:
            receipt = work.forget("secret", hard=True)
            # The summary in scope home is the link to the one in scope work.
            assert receipt.erased[0] == "memory secret"
            assert "sum," not in " ".join(receipt.erased)
            assert remaining(storage) == set()
            (entry,) = work.journal.entries(limit=1)
            assert "sum" not in {step.id for step in entry.action.memories}
            assert "secret" in {step.id for step in entry.action.memories}
            with pytest.raises(NotFound):
                work.get("sum")
            with pytest.raises(NotFound):
                work.forget("sum", hard=True)
        # The journal of the whole store tells of all.
        (entry,) = store.journal.entries(limit=1)
        assert {"secret", "sum", "sum-of-sum"} == {step.id for step in entry.action.memories}
        assert store.verify().sound


def test_erasing_what_a_handle_does_not_show_erases_no_summary(
    tmp_path: Path, storage: Storage
) -> None:
    with open_store(tmp_path, storage) as store:
        for scope in ("work", "home"):
            store.scopes.create(scope)
        store.remember("x", id="secret", scope="home")
        store.remember("y", id="sum", kind="summary", sources=["secret"], scope="home")
        with open_store(tmp_path, storage, scopes=["work"]) as work, pytest.raises(NotFound):
            work.forget("secret", hard=True)
        assert remaining(storage) == {"secret", "sum"}


def test_a_circle_of_summaries_is_followed_once(tmp_path: Path, storage: Storage) -> None:
    with open_store(tmp_path, storage) as store:
        for name, sources in (("sum", ("other", "linked")), ("linked", ("sum",))):
            memory = make_memory(name, kind=Kind.SUMMARY, sources=sources)
            storage.commit(Commit(puts=(Put(memory=memory, expected=0),)))
        found = find_quoting_summaries(store._services, ["other"])
        assert {memory.id for memory in found} == {"sum", "linked"}
