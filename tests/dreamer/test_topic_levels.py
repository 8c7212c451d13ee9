"""Summaries of topic summaries: precise, made from the leaves, and erased with them."""

from __future__ import annotations

import pytest

from infinite_memory import LinkType, Memory, MemoryStore, Status
from infinite_memory.features.background.dreamer.topics.material import level_of
from tests.dreamer.topic_cycles import Cycles, link_all, topics_of


@pytest.fixture
def cycles(store: MemoryStore) -> Cycles:
    """Return the cycles of a store with three topic summaries about crates, and one of level 2."""
    for number in range(1, 4):
        ids = [
            store.remember(
                f"Crate {number} of the harbour: we packed lamp {number}{part} in straw.",
                id=f"c{number}-{part}",
                similar=False,
            ).id
            for part in range(3)
        ]
        link_all(store, ids)
    made = Cycles(store)
    assert len(made.run().written) == 3
    (higher,) = made.run().written
    assert level_of(higher) == 2
    return made


def by_level(store: MemoryStore, level: int) -> list[Memory]:
    return [topic for topic in topics_of(store) if level_of(topic) == level]


def test_near_topics_have_a_summary_that_is_made_from_the_leaves(
    store: MemoryStore, cycles: Cycles
) -> None:
    (higher,) = by_level(store, 2)
    lower = by_level(store, 1)
    assert set(higher.sources) == {topic.id for topic in lower}
    assert higher.scope == "Global"
    # The text quotes what people told, and not the summaries.
    quoted = [line for line in higher.text.splitlines() if line.startswith("Crate")]
    told = [store.get(f"c{number}-{part}").text for number in range(1, 4) for part in range(3)]
    assert quoted
    assert all(line in told for line in quoted)
    links = store._services.storage.links([higher.id])
    assert {link.target for link in links if link.type is LinkType.DERIVED_FROM} == {
        topic.id for topic in lower
    }
    assert cycles.run().puts == ()
    assert store.verify().sound


def test_a_change_of_a_leaf_is_carried_up_level_by_level(
    store: MemoryStore, cycles: Cycles
) -> None:
    (higher,) = by_level(store, 2)
    store.forget("c2-1")
    store.remember("Crate 2 has a lid", id="c2-9", similar=False)
    for part in (0, 2):
        store.graph.link("c2-9", f"c2-{part}", weight=0.8)
    levels = []
    for _ in range(4):
        levels.append([level_of(topic) for topic in cycles.run().rewritten])
    assert levels[-1] == []
    assert 2 in [level for cycle in levels for level in cycle]
    (after,) = by_level(store, 2)
    assert after.id == higher.id
    assert "lamp 21" not in "".join(topic.text for topic in topics_of(store))


def test_an_erased_leaf_takes_every_summary_above_with_it(
    store: MemoryStore, cycles: Cycles
) -> None:
    (higher,) = by_level(store, 2)
    lower = next(topic for topic in by_level(store, 1) if "c2-1" in topic.sources)
    store.forget("c2-1", hard=True)
    assert store._services.storage.erased([higher.id, lower.id]) == {higher.id, lower.id}
    assert not any("lamp 21" in topic.text for topic in topics_of(store, *Status))


def test_a_summary_that_is_taken_back_leaves_the_one_above(
    store: MemoryStore, cycles: Cycles
) -> None:
    (higher,) = by_level(store, 2)
    store.forget(higher.sources[0])
    (archived,) = cycles.run().rewritten
    assert (archived.id, archived.status) == (higher.id, Status.ARCHIVED)
    assert cycles.run().puts == ()
