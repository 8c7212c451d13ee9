"""Cycles of the dreamer on MongoDB: they only add, are undone, and equal those elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from mongo_servers import Deployment

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.storage.mongodb import MongoStorage, open_mongodb
from tests.harness.dreaming import open_store, tell_topics

pytestmark = pytest.mark.slow("mongodb")


@pytest.fixture
def storage(either: Deployment, tmp_path: Path) -> Iterator[MongoStorage]:
    with closing(open_mongodb(either.address_of(tmp_path))) as storage:
        yield storage
    either.drop(tmp_path)


def read_state(storage: Storage) -> tuple[dict[str, Memory], set[Link]]:
    """Return everything that is not forgotten, and every link."""
    criteria = Criteria(statuses=frozenset(Status) - {Status.FORGOTTEN})
    memories = {m.id: m for m in storage.find(criteria, limit=1000).memories}
    return memories, set(storage.links(memories))


def test_cycles_only_add_and_undo_gives_the_state_before(storage: MongoStorage) -> None:
    with open_store(storage=storage) as (_, store):
        for scope in ("home", "work"):
            tell_topics(store, number=6, scope=scope, prefix=f"{scope}-")
        before = read_state(storage)
        steps = [store.dream(seed).steps for seed in range(8)]
        memories, links = read_state(storage)
        assert {name: memories[name] for name in before[0]} == before[0]
        assert len(links) > 100
        assert {memory.scope for memory in memories.values() if memory.is_dreamed}
        for link in links:
            assert memories[link.source].scope == memories[link.target].scope
        cycles = store.dreams.diary(limit=100)
        assert len(cycles) > 1
        for cycle in cycles:
            store.undo(cycle.entry)
        assert read_state(storage) == before
    with open_store() as (_, other):
        for scope in ("home", "work"):
            tell_topics(other, number=6, scope=scope, prefix=f"{scope}-")
        assert [other.dream(seed).steps for seed in range(8)] == steps
