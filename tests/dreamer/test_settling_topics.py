"""Whatever happens to the memories, the cycles come to rest, and only add."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest

from infinite_memory import Conflict, InvalidInput, MemoryStore, NotFound, Status
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import Memory
from infinite_memory.features.background.dreamer.topics.material import level_of
from infinite_memory.testing.embedders import HashingEmbedder
from tests.dreamer.topic_cycles import TEXTS, Cycles, topics_of

_STEPS = 60
_MOST_CYCLES = 25


def told(store: MemoryStore) -> dict[str, Memory]:
    """Return every memory that is no topic summary, by id."""
    found = store._services.storage.find(Criteria(), limit=1000).memories
    return {memory.id: memory for memory in found if not memory.is_dreamed}


def change_something(store: MemoryStore, random: Random, number: int) -> None:
    """Do what a person may do: tell, link, unlink, revise, move, forget, erase or undo."""
    here = [memory for memory in told(store).values() if memory.status is Status.CURRENT]
    subject = random.choice(sorted(TEXTS))
    text = TEXTS[subject].format(number=number)
    near = [memory.id for memory in here if memory.id.startswith(subject)]
    way = random.random()
    if way < 0.4 or len(near) < 2:
        scope = random.choice(["Global", "Global", "Work"])
        new = store.remember(text, id=f"{subject}{number}", scope=scope, similar=False).id
        for other in random.sample(near, min(3, len(near))):
            with suppress(InvalidInput):
                store.graph.link(new, other, weight=0.8)
    elif way < 0.6:
        first, second = random.sample(near, 2)
        with suppress(InvalidInput):
            store.graph.link(first, second, weight=random.choice([0.5, 0.9]))
    elif way < 0.7:
        chosen = random.choice(here)
        store.revise(chosen.id, revision=chosen.revision, text=text)
    elif way < 0.75:
        chosen = random.choice(here)
        store.revise(chosen.id, revision=chosen.revision, scope="Work")
    elif way < 0.85:
        store.forget(random.choice(near), hard=random.random() < 0.3)
    elif topics := topics_of(store):
        chosen = random.choice(topics)
        if way < 0.9:
            store.revise(chosen.id, revision=chosen.revision, tags=["mine"])
        else:
            store.forget(chosen.id, hard=random.random() < 0.3)
    else:
        with suppress(NotFound, Conflict):
            store.undo()


# At the end of these there are topic summaries to look at.
@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6])
def test_the_cycles_come_to_rest_and_only_add(seed: int) -> None:
    random = Random(seed)
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        store.remember("The harbour master is Ada", id="work", scope="Work")
        scopes = [Cycles(store), Cycles(store, "Work")]
        for number in range(_STEPS):
            change_something(store, random, number)
            if number % 7 == 0:
                before = told(store)
                for cycles in scopes:
                    cycles.run()
                assert told(store) == before
        before = told(store)
        idle = 0
        for _ in range(_MOST_CYCLES):
            idle = 0 if any(cycles.run().puts for cycles in scopes) else idle + 1
        assert idle > 1
        assert told(store) == before
        topics = {topic.id: topic for topic in topics_of(store)}
        assert topics
        for topic in topics.values():
            entries = store.journal.entries(memory_id=topic.id)
            if entries[0].action.operation is not Operation.DREAM:
                continue
            sources = [store.get(source) for source in topic.sources]
            assert len(sources) >= 3
            assert {source.scope for source in sources} == {topic.scope}
            assert {source.status for source in sources} <= {Status.CURRENT, Status.ARCHIVED}
            assert {level_of(source) for source in sources} == {level_of(topic) - 1}
        assert store.verify().sound


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_undoing_every_cycle_leaves_the_memories_without_topics(seed: int) -> None:
    random = Random(seed)
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        store.remember("The harbour master is Ada", id="work", scope="Work")
        for number in range(30):
            change_something(store, random, number)
        before = told(store)
        storage = store._services.storage
        links = storage.links(list(before))
        cycles = Cycles(store)
        for _ in range(4):
            cycles.run()
        assert topics_of(store)
        for entry in store.journal.entries():
            if entry.action.operation is Operation.DREAM:
                store.undo(entry.number)
        assert topics_of(store) == []
        assert told(store) == before
        assert storage.links(list(before)) == links
