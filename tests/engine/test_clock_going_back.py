"""A clock that goes back between two operations: no memory is stored earlier than it was before."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from infinite_memory import MemoryStore, Status
from infinite_memory.testing.embedders import HashingEmbedder

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class SetClock:
    """A clock that stands where it is set."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def set_clock() -> SetClock:
    return SetClock()


@pytest.fixture
def store(set_clock: SetClock) -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder(), clock=set_clock) as opened:
        yield opened


def moments(store: MemoryStore, memory_id: str) -> list[datetime]:
    """Return when each revision of a memory was stored, in their order."""
    return [memory.stored_at for memory in store._services.storage.history(memory_id)]


def test_what_a_new_fact_supersedes_is_not_stored_earlier(
    store: MemoryStore, set_clock: SetClock
) -> None:
    store.remember("works at Acme", id="old", key="job", happened_at=START - 9 * HOUR)
    set_clock.now = START - HOUR
    store.remember("works at Globex", id="new", key="job", happened_at=START - 2 * HOUR)
    assert store.get("old").status is Status.SUPERSEDED
    assert moments(store, "old") == [START, START]


def test_a_fact_without_a_time_is_stored_behind_the_one_that_it_replaces(
    store: MemoryStore, set_clock: SetClock
) -> None:
    store.remember("works at Acme", id="old", key="job")
    set_clock.now = START - HOUR
    receipt = store.remember("works at Globex", id="new", key="job")
    begin = START + timedelta(microseconds=1)
    assert (store.get("new").valid_from, store.get("new").stored_at) == (begin, begin)
    assert (receipt.stored_at, store.get("old").status) == (begin, Status.SUPERSEDED)


def test_a_forgotten_memory_is_not_stored_earlier(store: MemoryStore, set_clock: SetClock) -> None:
    store.remember("one", id="a")
    set_clock.now = START - HOUR
    assert store.forget("a").stored_at == START
    assert moments(store, "a") == [START, START]


def test_a_memory_that_an_undo_brings_back_is_not_stored_earlier(
    store: MemoryStore, set_clock: SetClock
) -> None:
    store.remember("one", id="a")
    store.forget("a")
    set_clock.now = START - HOUR
    store.undo()
    assert store.get("a").status is Status.CURRENT
    assert moments(store, "a") == [START, START, START]


def test_a_revised_memory_is_not_stored_earlier(store: MemoryStore, set_clock: SetClock) -> None:
    store.remember("one", id="a")
    set_clock.now = START - HOUR
    assert store.revise("a", revision=1, text="two").stored_at == START
    assert moments(store, "a") == [START, START]


def test_a_value_that_leaves_a_profile_is_not_stored_earlier(
    store: MemoryStore, set_clock: SetClock
) -> None:
    store.profile.update({"name": "Alice"})
    (key,) = store.profile.get().keys.values()
    (fact,) = store.journal.history(key)
    set_clock.now = START - HOUR
    store.profile.update({"name": None})
    left = store.get(fact.id)
    assert (left.status, left.valid_to, left.stored_at) == (Status.SUPERSEDED, START, START)
