"""Every library operation, with a failure at every call that it makes to the storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Literal

import pytest

from infinite_memory import Conflict, MemoryStore, NotFound, StorageUnavailable
from infinite_memory.core.protocols import Storage
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.failing import FailingStorage

Operation = Callable[[MemoryStore], object]
When = Literal["before", "after"]


def _search(store: MemoryStore) -> object:
    hits = store.search("deadline of project Apollo")
    assert [hit.memory.id for hit in hits][:1] == ["apollo"]
    return hits


OPERATIONS: dict[str, Operation] = {
    "remember": lambda store: store.remember("A new text", id="new", scope="a new scope"),
    "remember_many": lambda store: store.remember_many(
        [{"id": f"many-{number}", "text": f"Text {number}"} for number in range(260)]
    ),
    "revise": lambda store: store.revise("apollo", revision=1, text="The deadline is June 6"),
    "forget": lambda store: store.forget("birthday"),
    "forget hard": lambda store: store.forget("birthday", hard=True),
    "catch_up": lambda store: store.models.catch_up(),
    "search": _search,
    "browse": lambda store: store.browse(),
    "stats": lambda store: store.stats(),
    "scopes": lambda store: list(store.scopes),
}


def _fill(storage: Storage) -> None:
    with _opened(storage) as store:
        store.remember("The deadline of project Apollo is June 5", id="apollo", tags=["deadline"])
        store.remember("Alice's birthday is January 20", id="birthday")
        store.remember("x" * 50_001, id="waits")


@contextmanager
def _opened(storage: Storage) -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", storage=storage, embedder=HashingEmbedder()) as store:
        yield store


def _texts(storage: Storage) -> dict[str, tuple[str, ...]]:
    """Return the texts of every revision that can be seen, by id."""
    return {
        change.id: tuple(f"{memory.status}: {memory.text}" for memory in storage.history(change.id))
        for change in storage.changes(0, limit=10_000).items
    }


def _error(store: MemoryStore, operation: Operation) -> str | None:
    """Return what it fails with; where only the vectors could not be stored, it does not."""
    try:
        operation(store)
    except (StorageUnavailable, Conflict, NotFound) as error:
        return str(error)
    return None


@pytest.fixture(params=["memory", "sqlite"])
def new_storage(request: pytest.FixtureRequest, quick_folder: Path) -> Callable[[], Storage]:
    numbers = count()

    def make() -> Storage:
        if request.param == "memory":
            return InMemoryStorage()
        return SqliteStorage.open(quick_folder / str(next(numbers)))

    return make


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_that_fails_at_any_call_can_be_repeated_and_loses_nothing(
    new_storage: Callable[[], Storage], name: str, when: When
) -> None:
    operation = OPERATIONS[name]
    whole = new_storage()
    _fill(whole)
    before = _texts(whole)
    counting = FailingStorage(whole)
    with _opened(counting) as store:
        counting.calls = 0
        operation(store)
        calls = counting.calls
    after = _texts(whole)
    whole.close()
    assert calls > 0
    raised = 0
    for number in range(1, calls + 1):
        storage = new_storage()
        _fill(storage)
        failing = FailingStorage(storage)
        with _opened(failing) as store:
            failing.calls, failing.fail_at, failing.when = 0, number, when
            error = _error(store, operation)
            assert error is None or f"call {number}, failed {when}" in error
            raised += error is not None
            half = _texts(storage)
            for memory_id in before.keys() | after.keys() | half.keys():
                assert half.get(memory_id) in (before.get(memory_id), after.get(memory_id))
            failing.fail_at = 0
            again = _error(store, operation)  # it may say that it is done already
            assert again is None or "revision 2 by now" in again or "erased for good" in again
            assert _texts(storage) == after
            store.models.catch_up()
            assert storage.pending(HashingEmbedder().model, limit=10) == []
            for memory_id in after:
                if after[memory_id] and after[memory_id][-1].startswith("current"):
                    text = store.get(memory_id).text
                    found = store.search(text[:200], limit=400, threshold=0)
                    assert [hit.memory.id for hit in found].count(memory_id) == 1
                    break
        storage.close()
    assert raised > 0
