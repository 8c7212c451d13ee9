"""Topic summaries of a cycle: what is written, once, within a scope, and undone for good."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from attrs import evolve

from infinite_memory import LinkType, Memory, MemoryStore, Status
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.link import Link, LinkKey
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.background.dreamer.topics.groups import find_groups
from infinite_memory.features.background.dreamer.topics.material import level_of
from infinite_memory.features.background.dreamer.topics.planning import plan_topic, plan_topics
from infinite_memory.features.background.dreamer.view import DREAMER
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.summaries.extractive import ExtractiveSummariser
from tests.dreamer.topic_cycles import BrokenSummariser, Cycles, link_all, tell, topics_of


def test_a_cluster_becomes_a_summary_with_its_sources(store: MemoryStore) -> None:
    begin = datetime(2026, 1, 5, 9, tzinfo=UTC)
    for number, memory_id in enumerate(tell(store, "ferry")):
        store.revise(memory_id, revision=1, happened_at=begin + timedelta(days=number))
    tell(store, "garden", 2)
    ids = [f"ferry-{number}" for number in range(1, 5)]
    link_all(store, ids)
    plan = Cycles(store).run()
    (topic,) = topics_of(store)
    assert plan.written == (topic,)
    assert (topic.kind, topic.origin, topic.scope) == (Kind.SUMMARY, Origin.DREAM, "Global")
    assert topic.id.startswith("topic:")
    assert topic.is_dreamed
    assert (topic.context["dreamed"]["level"], topic.context["dreamed"]["by"]) == (1, "extractive")
    assert topic.context["period"] == {
        "from": "2026-01-05T09:00:00Z",
        "to": "2026-01-08T09:00:00Z",
    }
    assert topic.sources == tuple(ids)
    assert topic.happened_at == begin + timedelta(days=3)
    assert topic.title is not None
    assert "ferry" in topic.title.lower()
    assert "cabin 4" in topic.text
    links = [link for link in store.graph.links(topic.id) if link.type is LinkType.DERIVED_FROM]
    assert {(link.source, link.target, link.made_by, link.weight) for link in links} == {
        (topic.id, memory_id, DREAMER, 1.0) for memory_id in ids
    }
    assert plan.seen == {topic.id: 0, **dict.fromkeys(ids, 2)}
    assert not any("ferry" in link.reason.lower() for link in links)


def test_a_second_cycle_writes_nothing(store: MemoryStore) -> None:
    link_all(store, tell(store, "ferry"))
    cycles = Cycles(store)
    cycles.run()
    for _ in range(5):
        assert cycles.run().puts == ()
    assert store.verify().sound


def test_equal_stores_and_seeds_give_equal_plans(store: MemoryStore) -> None:
    link_all(store, tell(store, "ferry"))
    link_all(store, tell(store, "garden"))
    first, second = Cycles(store).plan(), Cycles(store).plan()
    assert len(first.written) == 2
    assert [(topic.id, topic.title, topic.text) for topic in first.written] == [
        (topic.id, topic.title, topic.text) for topic in second.written
    ]


@pytest.mark.parametrize("change", ["forget", "move", "replace"])
def test_what_may_not_be_used_is_no_source(store: MemoryStore, change: str) -> None:
    store.remember("The harbour master is Ada", id="w", scope="Work")
    ids = tell(store, "ferry", 3)
    link_all(store, ids)
    if change == "forget":
        store.forget(ids[0])
    elif change == "move":
        store.revise(ids[0], revision=1, scope="Work")
    else:
        store.remember("The ferry was cancelled", supersedes=[ids[0]])
    assert Cycles(store).run().puts == ()


def test_memories_that_say_nearly_the_same_are_no_topic(store: MemoryStore) -> None:
    ids = tell(store, "ferry", 3)
    link_all(store, ids)
    services = store._services
    twin = Link(
        source=ids[1], target=ids[0], type=LinkType.NEAR_DUPLICATE_OF, made_at=services.clock()
    )
    services.storage.commit(Commit(links=[twin]))
    assert Cycles(store).run().puts == ()


def test_what_is_told_again_in_the_same_words_is_no_topic_and_is_quoted_once(
    store: MemoryStore,
) -> None:
    same = ["Put out the bins.", "put out the bins", "Put out the  bins."]
    link_all(store, [store.remember(text, id=f"bins-{n}").id for n, text in enumerate(same)])
    assert Cycles(store).run().puts == ()
    others = tell(store, "garden", 2)
    link_all(store, ["bins-0", "bins-1", "bins-2", *others])
    (topic,) = Cycles(store).run().written
    assert len(topic.sources) == 5
    assert topic.text.casefold().count("put out the") == 1


def test_a_summary_stays_in_its_scope(store: MemoryStore) -> None:
    link_all(store, tell(store, "ferry", scope="Work"))
    link_all(store, tell(store, "garden"))
    (topic,) = Cycles(store, "Work").run().written
    assert topic.scope == "Work"
    assert all(source.startswith("ferry") for source in topic.sources)
    assert [topic.scope for topic in Cycles(store, "Global").run().written] == ["Global"]


def test_at_most_five_are_written_in_a_cycle_and_the_rest_later(store: MemoryStore) -> None:
    for number in range(7):
        ids = [
            store.remember(f"Crate {number}: part {part}", id=f"c{number}-{part}").id
            for part in range(3)
        ]
        link_all(store, ids)
    cycles = Cycles(store)
    written = [cycles.run().written for _ in range(4)]
    assert [[level_of(topic) for topic in topics] for topics in written] == [
        [1] * 5,
        [1, 1],
        [],
        [],
    ]


def test_a_cycle_that_is_late_writes_a_single_one(store: MemoryStore) -> None:
    link_all(store, tell(store, "ferry"))
    link_all(store, tell(store, "garden"))
    late = evolve(Cycles(store).view(), deadline=0.0)
    assert len(plan_topics(late, [], ExtractiveSummariser(zone="UTC")).written) == 1


def test_a_cycle_that_is_stopped_writes_nothing(store: MemoryStore) -> None:
    link_all(store, tell(store, "ferry"))
    context = JobContext(store._services, notes={}, stop=lambda: True)
    stopped = evolve(Cycles(store).view(), context=context)
    assert plan_topics(stopped, [], ExtractiveSummariser(zone="UTC")).puts == ()


def test_a_summariser_that_fails_leaves_the_topics_for_later(store: MemoryStore) -> None:
    link_all(store, tell(store, "ferry"))
    cycles = Cycles(store)
    plan = cycles.run(BrokenSummariser())
    assert plan.puts == plan.links == ()
    assert plan.failure is not None
    assert "no answer for 4 memories" in plan.failure
    assert len(cycles.run().written) == 1


def test_a_cluster_that_has_grown_revises_its_summary(store: MemoryStore) -> None:
    ids = tell(store, "ferry")
    link_all(store, ids[:3])
    cycles = Cycles(store)
    (first,) = cycles.run().written
    for memory_id in ids[:3]:
        store.graph.link(ids[3], memory_id, weight=0.8)
    plan = cycles.run()
    (second,) = plan.rewritten
    assert (second.id, second.revision, second.sources) == (first.id, 2, tuple(ids))
    assert [link.target for link in plan.links] == [ids[3]]
    assert plan.erased_links == ()
    assert cycles.run().puts == ()


def test_a_source_that_is_linked_no_longer_leaves_when_the_summary_grows(
    store: MemoryStore,
) -> None:
    ids = tell(store, "ferry", 6)
    link_all(store, ids[:4])
    cycles = Cycles(store)
    (first,) = cycles.run().written
    for memory_id in ids[1:4]:
        store.graph.unlink(memory_id, ids[0])
    link_all(store, ids[1:])
    plan = cycles.run()
    (second,) = plan.rewritten
    assert (second.id, set(second.sources)) == (first.id, set(ids[1:]))
    assert plan.erased_links == (LinkKey(first.id, ids[0], LinkType.DERIVED_FROM),)
    targets = {link.target for link in store.graph.links(first.id)}
    assert targets == set(ids[1:])


def test_a_summary_whose_sources_are_all_in_another_is_archived(store: MemoryStore) -> None:
    ids = tell(store, "ferry", 8)
    link_all(store, ids[:5])
    link_all(store, ids[5:])
    cycles = Cycles(store)
    first, second = sorted(cycles.run().written, key=lambda topic: -len(topic.sources))
    link_all(store, ids)
    rewritten = cycles.run().rewritten
    assert {topic.id for topic in rewritten} == {first.id, second.id}
    assert [(topic.id, len(topic.sources)) for topic in topics_of(store)] == [(first.id, 8)]
    assert [topic.id for topic in topics_of(store, Status.ARCHIVED)] == [second.id]
    assert cycles.run().puts == ()


@pytest.mark.parametrize("way", ["undo", "forget", "revise", "erase"])
def test_what_somebody_took_back_is_not_written_again(store: MemoryStore, way: str) -> None:
    ids = tell(store, "ferry")
    link_all(store, ids)
    cycles = Cycles(store)
    (topic,) = cycles.run().written
    if way == "undo":
        store.undo(store.journal.entries()[0].number)
    elif way == "forget":
        store.forget(topic.id)
    elif way == "revise":
        store.revise(topic.id, revision=1, text="We go to Lyon by ferry.")
        store.revise(ids[0], revision=1, text="The ferry to Lyon leaves on July 9.")
    else:
        store.forget(topic.id, hard=True)
    before = topics_of(store)
    for _ in range(3):
        assert cycles.run().puts == ()
    assert topics_of(store) == before
    if way in ("undo", "forget"):
        # Nor for about the same memories.
        extra = store.remember("The ferry to Lyon has a sauna", id="ferry-5", similar=False).id
        for memory_id in ids:
            store.graph.link(extra, memory_id, weight=0.8)
        assert cycles.run().puts == ()


def test_a_rewriting_that_was_undone_is_not_done_again(store: MemoryStore) -> None:
    ids = tell(store, "ferry")
    link_all(store, ids)
    cycles = Cycles(store)
    (first,) = cycles.run().written
    store.revise(ids[0], revision=1, text="The ferry to Lyon leaves on July 9, we decided.")
    assert len(cycles.run().rewritten) == 1
    store.undo(store.journal.entries()[0].number)
    assert [topic.text for topic in topics_of(store)] == [first.text]
    assert cycles.run().puts == ()


def test_groups_are_found_and_written_one_by_one(store: MemoryStore) -> None:
    link_all(store, tell(store, "ferry"))
    cycles = Cycles(store)
    (group,) = find_groups(cycles.view())
    assert [memory.id for memory in group.members] == [f"ferry-{number}" for number in range(1, 5)]
    assert (group.level, group.present) == (1, None)
    plan = plan_topic(cycles.view(), group, text="Four crossings.", title="Crossings", by="Ada")
    cycles.store(plan)
    (topic,) = topics_of(store)
    assert (topic.text, topic.title) == ("Four crossings.", "Crossings")
    assert topic.context["dreamed"]["by"] == "Ada"
    assert find_groups(cycles.view()) == []


def test_a_memory_that_a_person_stored_is_as_before(store: MemoryStore) -> None:
    ids = tell(store, "ferry")
    link_all(store, ids)

    def stored() -> list[Memory]:
        return [store._services.storage.get([memory_id])[memory_id].memory for memory_id in ids]

    before = stored()
    Cycles(store).run()
    assert stored() == before
