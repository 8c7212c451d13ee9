"""Among equal hits of a search the memory of the higher priority comes first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from attrs import evolve

from infinite_memory import Hit, MemoryStore
from infinite_memory.core.values.hits import Told
from infinite_memory.engine.retrieval.search import order_equals

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NAMES = ("harbour", "journey", "engines", "kitchen")


@pytest.fixture
def equal(store: MemoryStore) -> MemoryStore:
    """Return a store with four memories that match the word Kittiwake equally well."""
    for name in NAMES:
        store.remember(f"Kittiwake {name}", id=name, happened_at=NOON, similar=False)
    return store


def ask(store: MemoryStore) -> list[str]:
    hits = store.search("Kittiwake", arms=["words"], explain=True)
    assert len({hit.score for hit in hits}) == 1
    return [hit.memory.id for hit in hits]


def recall(store: MemoryStore, name: str) -> None:
    (hit,) = store.search(name, arms=["words"], limit=1, threshold=0.01)
    assert hit.memory.id == name
    counter = store._services.usage
    assert counter is not None
    counter.flush()


def test_a_recall_lifts_a_memory_among_equals(equal: MemoryStore) -> None:
    last = ask(equal)[-1]
    recall(equal, last)
    assert ask(equal)[0] == last


def test_what_the_dreamer_the_upkeep_and_a_walk_read_lifts_nothing(equal: MemoryStore) -> None:
    before = ask(equal)
    for _ in range(3):
        equal.graph.related(before[-1])
        equal.get(before[-1])
        equal.dream(seed=1)
        equal.upkeep.optimize()
    counter = equal._services.usage
    assert counter is not None
    counter.flush()
    usage = {name: equal.usage(name) for name in NAMES}
    assert {u.count for u in usage.values() if u is not None} == {1}
    assert ask(equal) == before


def test_a_better_match_and_one_told_later_keep_their_place(equal: MemoryStore) -> None:
    hits = list(equal.search("Kittiwake", arms=["words"], explain=True))
    first, second, third, last = hits
    recall(equal, last.memory.id)
    services = equal._services
    assert order_equals(services, hits) == [last, first, second, third]
    assert last.explanation is not None
    worse = evolve(last, explanation=evolve(last.explanation, total=0.9 * last.explanation.total))
    assert order_equals(services, [first, worse]) == [first, worse]
    lower = evolve(last, score=last.score - 0.001)
    assert order_equals(services, [first, lower]) == [first, lower]
    told = Told(id=last.memory.id, happened_at=NOON + timedelta(days=1), text="")
    assert order_equals(services, [evolve(first, told_later=(told,)), last])[1] == last


def test_without_equals_no_usage_is_read(
    equal: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (hit,) = equal.search("harbour", arms=["words"], limit=1, explain=True)
    monkeypatch.setattr(equal._services.storage, "usage", None)
    assert order_equals(equal._services, [hit]) == [hit]
    assert order_equals(equal._services, []) == []
    assert isinstance(hit, Hit)
