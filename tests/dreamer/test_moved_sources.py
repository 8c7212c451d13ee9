"""Topic summaries whose sources move to another scope: nothing is quoted across scopes."""

from __future__ import annotations

import pytest
from attrs import evolve

from infinite_memory import Memory, MemoryStore, Status
from infinite_memory.features.background.dreamer.topics.material import level_of
from tests.dreamer.topic_cycles import Cycles, link_all, tell, topics_of


@pytest.fixture
def told(store: MemoryStore) -> MemoryStore:
    """Return a store with a topic summary of five memories, beside a private scope."""
    store.scopes.create("diary", sensitivity="private")
    link_all(store, tell(store, "ferry", 5))
    Cycles(store).run()
    return store


def quote(store: MemoryStore, scope: str) -> str:
    """Return everything that searches of a scope show of the topic summaries."""
    hits = [
        *store.search("ferry to Lyon cabin", scope=scope, depth="overview", limit=20),
        *store.search("ferry to Lyon cabin", scope=scope, depth="exhaustive", limit=20),
        *store.search("ferry to Lyon cabin", scope=scope, kinds=["summary"], limit=20),
    ]
    return "\n".join(hit.memory.text for hit in hits if hit.memory.is_dreamed)


def test_a_summary_goes_at_once_when_a_source_moves_and_is_written_anew_without_it(
    told: MemoryStore,
) -> None:
    assert "cabin 1" in quote(told, "Global")
    told.revise("ferry-1", revision=1, scope="diary")
    assert quote(told, "Global") == ""
    assert topics_of(told) == []
    Cycles(told).run()
    (topic,) = topics_of(told)
    assert topic.sources == ("ferry-2", "ferry-3", "ferry-4", "ferry-5")
    assert "cabin 1" not in quote(told, "Global")
    assert "cabin 2" in quote(told, "Global")


def test_one_undo_brings_the_memory_and_its_summary_back(told: MemoryStore) -> None:
    (before,) = topics_of(told)
    told.revise("ferry-1", revision=1, scope="diary")
    told.undo()
    assert told.get("ferry-1").scope == "Global"
    (after,) = topics_of(told)
    assert without_revision(after) == without_revision(before)
    assert "cabin 1" in quote(told, "Global")
    assert told.health().pending == 0


def test_a_summary_that_was_written_anew_does_not_prevent_the_undo(told: MemoryStore) -> None:
    moved = told.revise("ferry-1", revision=1, scope="diary")
    Cycles(told).run()
    (anew,) = topics_of(told)
    entry = told.journal.entries(limit=1, memory_id=moved.id)[0].number
    told.undo(entry)
    assert told.get("ferry-1").scope == "Global"
    assert topics_of(told) == [anew]


def test_an_undo_leaves_no_summary_in_the_scope_that_the_memory_leaves(told: MemoryStore) -> None:
    entries = []
    told.scopes.create("work")
    for number in (5, 4, 3, 2, 1):
        told.revise(f"ferry-{number}", revision=1, scope="work")
        entries.append(told.journal.entries(limit=1)[0].number)
    link_all(told, [f"ferry-{number}" for number in range(1, 6)])
    Cycles(told, "work").run()
    assert "cabin 1" in quote(told, "work")
    told.undo(entries[-1])
    assert told.get("ferry-1").scope == "Global"
    assert "cabin 1" not in quote(told, "work")
    Cycles(told, "work").run()
    assert "cabin 1" not in quote(told, "work")
    assert "cabin 2" in quote(told, "work")


def test_a_redo_brings_no_summary_back_whose_source_has_moved(told: MemoryStore) -> None:
    (topic,) = topics_of(told)
    cycle = told.journal.entries(limit=1, memory_id=topic.id)[0].number
    undone = told.undo(cycle)
    told.revise("ferry-1", revision=1, scope="diary")
    told.undo(undone.entry)
    assert topics_of(told) == []


def test_the_summary_of_the_summary_goes_too(store: MemoryStore) -> None:
    for number in range(1, 4):
        texts = [
            f"Crate {number} of the harbour of Lyon holds the lamp {number}{part}."
            for part in range(4)
        ]
        ids = [f"c{number}-{part}" for part in range(4)]
        store.remember_many(
            {"id": name, "text": text} for name, text in zip(ids, texts, strict=True)
        )
        link_all(store, ids)
    cycles = Cycles(store)
    cycles.run()
    cycles.run()
    assert sorted(level_of(topic) for topic in topics_of(store)) == [1, 1, 1, 2]
    store.scopes.create("diary", sensitivity="private")
    store.revise("c2-1", revision=1, scope="diary")
    assert [level_of(topic) for topic in topics_of(store)] == [1, 1]
    for _ in range(3):
        cycles.run()
    assert sorted(level_of(topic) for topic in topics_of(store)) == [1, 1, 1, 2]
    assert not any("lamp 21" in topic.text for topic in topics_of(store))


def test_what_a_person_forgot_stays_forgotten_after_a_move(told: MemoryStore) -> None:
    (topic,) = topics_of(told)
    told.forget(topic.id)
    told.revise("ferry-1", revision=1, scope="diary")
    for _ in range(3):
        Cycles(told).run()
    assert topics_of(told) == []
    assert told.get(topic.id).status is Status.FORGOTTEN


def without_revision(memory: Memory) -> Memory:
    return evolve(memory, revision=1, stored_at=memory.happened_at)
