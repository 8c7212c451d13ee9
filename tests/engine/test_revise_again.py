"""A revise whose outcome was unknown can be repeated; that of somebody else stays a conflict."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Conflict, MemoryStore, Outcome, StorageUnavailable
from infinite_memory.core.values.receipt import Searchable
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.failing import FailingStorage


@pytest.fixture(params=["memory", "sqlite"])
def failing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FailingStorage]:
    inner = InMemoryStorage() if request.param == "memory" else SqliteStorage.open(tmp_path / "s")
    yield FailingStorage(inner, when="after")
    inner.close()


@pytest.fixture
def store(failing: FailingStorage) -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", storage=failing, embedder=HashingEmbedder()) as store:
        store.remember("Alice prefers tea", id="m", tags=["drinks"])
        yield store


def commit_of_revise(store: MemoryStore, failing: FailingStorage, **changes: Any) -> None:
    """Revise revision 1; the commit is durable and yet reports an error."""
    # After get and scopes; a move reads the end of the journal first, and links last, twice.
    number = 6 if "scope" in changes else 3
    failing.calls, failing.fail_at = 0, number
    with pytest.raises(StorageUnavailable, match=f"commit, call {number}, failed after"):
        store.revise("m", revision=1, **changes)
    failing.fail_at = 0


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "Alice prefers coffee"},
        {"status": "forgotten"},
        {"scope": "Kitchen", "tags": ["coffee"], "important": True, "title": None},
    ],
)
def test_a_revise_that_took_place_unseen_is_unchanged_when_it_is_repeated(
    store: MemoryStore, failing: FailingStorage, changes: dict[str, Any]
) -> None:
    commit_of_revise(store, failing, **changes)
    done = store.get("m")
    receipt = store.revise("m", revision=1, **changes)
    assert (receipt.outcome, receipt.revision) == (Outcome.UNCHANGED, 2)
    assert (receipt.scope, receipt.stored_at) == (done.scope, done.stored_at)
    assert store.get("m") == done
    assert len(store.journal.history("m")) == 2


def test_the_receipt_of_a_repeat_says_how_the_memory_is_found(
    store: MemoryStore, failing: FailingStorage
) -> None:
    commit_of_revise(store, failing, text="Alice prefers coffee")
    receipt = store.revise("m", revision=1, text="Alice prefers coffee")
    assert receipt.searchable is Searchable.WORDS
    store.models.catch_up()
    receipt = store.revise("m", revision=1, text="Alice prefers coffee")
    assert receipt.searchable is Searchable.MEANING


@pytest.mark.parametrize(
    "mine",
    [
        {"text": "Alice prefers water"},
        {"text": "Alice prefers coffee", "title": "Drinks"},
        {"tags": ["drinks"]},
    ],
)
def test_what_somebody_else_wrote_stays_a_conflict(
    store: MemoryStore, mine: dict[str, Any]
) -> None:
    store.revise("m", revision=1, text="Alice prefers coffee")
    with pytest.raises(Conflict, match=r"revision 2, not 1; .* 'Alice prefers co"):
        store.revise("m", revision=1, **mine)
    assert len(store.journal.history("m")) == 2


def test_a_repeat_after_a_further_change_is_a_conflict(store: MemoryStore) -> None:
    store.revise("m", revision=1, text="Alice prefers coffee")
    store.revise("m", revision=2, text="Alice prefers milk")
    with pytest.raises(Conflict, match="revision 3, not 1"):
        store.revise("m", revision=1, text="Alice prefers coffee")
    with pytest.raises(Conflict, match="revision 3, not 7"):
        store.revise("m", revision=7, text="Alice prefers coffee")


def test_the_same_change_by_another_client_is_a_conflict_that_shows_both_texts(
    store: MemoryStore, failing: FailingStorage
) -> None:
    other = MemoryStore.open(
        "memory://", storage=failing, embedder=HashingEmbedder(), client="another"
    )
    with other:
        store.revise("m", revision=1, text="Alice had 1 coffee")
        for mine in ("Alice had 1 coffee", "Alice had 2 coffees"):
            with pytest.raises(Conflict, match=f"is 'Alice had 1 coffee' and yours '{mine}'"):
                other.revise("m", revision=1, text=mine)
        assert store.revise("m", revision=1, text="Alice had 1 coffee").outcome == "unchanged"
    assert len(store.journal.history("m")) == 2
