"""What fails after the commit of an undo never turns it into an error."""

from __future__ import annotations

from typing import Literal

import pytest

from infinite_memory import MemoryStore, Status, StorageUnavailable
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.failing import FailingStorage


class _FailsAfterUndo(FailingStorage):
    """Fails at every call after the first commit, until it is mended."""

    broken = mended = False

    def commit(self, commit):  # type: ignore[no-untyped-def]
        result = super().commit(commit)
        self.broken = not self.mended
        return result

    def _count(self, name: str, when: Literal["before", "after"]) -> None:
        if self.broken and when == "before":
            raise StorageUnavailable(f"simulated: {name}")


@pytest.mark.parametrize("way", ["forgets", "brings back", "changes the text"])
def test_an_undo_that_is_durable_is_no_error(way: str) -> None:
    storage = InMemoryStorage()
    with MemoryStore.open("memory://", storage=storage, embedder=HashingEmbedder()) as store:
        store.remember("one", id="a")
        if way == "brings back":
            store.forget("a")
        if way == "changes the text":
            store.revise("a", revision=1, text="two")
    failing = _FailsAfterUndo(storage)
    with MemoryStore.open("memory://", storage=failing, embedder=HashingEmbedder()) as store:
        undone = store.undo()
        failing.broken, failing.mended = False, True
        entry = store.journal.entries(limit=1)[0]
        assert (undone.entry, entry.number, undone.memories) == (entry.number, entry.number, ("a",))
        assert entry.action.undoes == undone.undone.number
        memory = store.get("a")
        assert memory.status is (Status.FORGOTTEN if way == "forgets" else Status.CURRENT)
        assert memory.text == "one"
        store.models.catch_up()
        assert storage.pending(HashingEmbedder().model, limit=1) == []


class _ClosesAfterCommit(FailingStorage):
    """Closes the store, as another thread may, once a commit was carried out."""

    store: MemoryStore

    def commit(self, commit):  # type: ignore[no-untyped-def]
        result = super().commit(commit)
        self.store.close()
        return result


def test_a_store_that_is_closed_at_that_moment_still_says_what_was_undone() -> None:
    storage = InMemoryStorage()
    with MemoryStore.open("memory://", storage=storage, embedder=HashingEmbedder()) as store:
        store.remember("one", id="a")
    closing = _ClosesAfterCommit(storage)
    closing.store = MemoryStore.open("memory://", storage=closing, embedder=HashingEmbedder())
    assert closing.store.undo().entry == 2
