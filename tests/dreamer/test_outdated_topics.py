"""A topic summary whose sources change is written anew without what is gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from infinite_memory import Hit, LinkType, MemoryStore, Status
from infinite_memory.engine.retrieval.summaries import drop_outdated
from tests.dreamer.topic_cycles import Cycles, link_all, tell, topics_of


def hits_of(store: MemoryStore) -> list[Hit]:
    return [Hit(memory=topic, score=1.0) for topic in topics_of(store)]


@pytest.fixture
def cycles(store: MemoryStore) -> Cycles:
    """Return the cycles of a store with a topic summary of four memories."""
    link_all(store, tell(store, "ferry"))
    made = Cycles(store)
    assert len(made.run().written) == 1
    return made


CHANGES: dict[str, Callable[[MemoryStore], object]] = {
    "forgotten": lambda store: store.forget("ferry-2"),
    "superseded": lambda store: store.remember("Cabin 2 is taken", supersedes=["ferry-2"]),
    "moved": lambda store: store.revise("ferry-2", revision=1, scope="Work"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_gone_is_no_longer_in_the_summary(
    store: MemoryStore, cycles: Cycles, change: str
) -> None:
    store.remember("The harbour master is Ada", id="w", scope="Work")
    (before,) = topics_of(store)
    assert "cabin 2" in before.text
    CHANGES[change](store)
    plan = cycles.run()
    (after,) = topics_of(store)
    assert plan.rewritten == (after,)
    assert (after.id, after.scope) == (before.id, "Global")
    # A move forgets the summary at once, which is a revision of its own.
    assert after.revision == (3 if change == "moved" else 2)
    assert after.sources == ("ferry-1", "ferry-3", "ferry-4")
    assert "cabin 2" not in after.text
    links = store._services.storage.links([after.id])
    assert {link.target for link in links if link.type is LinkType.DERIVED_FROM} == {*after.sources}
    assert cycles.run().puts == ()


def test_a_source_with_another_text_is_summarised_anew(store: MemoryStore, cycles: Cycles) -> None:
    store.revise("ferry-2", revision=1, text="The ferry to Lyon leaves on July 30, we decided.")
    assert drop_outdated(store._services, hits_of(store))[0] == []
    cycles.run()
    (after,) = topics_of(store)
    assert "July 30" in after.text
    assert "cabin 2" not in after.text
    assert after.sources == tuple(f"ferry-{number}" for number in range(1, 5))
    assert drop_outdated(store._services, hits_of(store))[0] == hits_of(store)
    assert cycles.run().puts == ()


def test_tags_of_a_source_change_nothing(store: MemoryStore, cycles: Cycles) -> None:
    store.revise("ferry-2", revision=1, tags=["travel"])
    assert cycles.run().puts == ()


def test_an_archived_source_is_still_a_source(store: MemoryStore, cycles: Cycles) -> None:
    store.revise("ferry-2", revision=1, status="archived")
    assert cycles.run().puts == ()


def test_with_fewer_than_three_sources_the_summary_is_archived_until_they_are_back(
    store: MemoryStore, cycles: Cycles
) -> None:
    store.forget("ferry-1")
    store.forget("ferry-2")
    forgotten = store.journal.entries()[0].number
    (archived,) = cycles.run().rewritten
    assert archived.status is Status.ARCHIVED
    assert topics_of(store) == []
    assert cycles.run().puts == ()
    store.undo(forgotten)
    (back,) = cycles.run().rewritten
    assert (back.id, back.status) == (archived.id, Status.CURRENT)
    assert back.sources == ("ferry-2", "ferry-3", "ferry-4")


def test_a_source_that_is_erased_takes_the_summary_with_it(
    store: MemoryStore, cycles: Cycles
) -> None:
    (before,) = topics_of(store)
    store.forget("ferry-2", hard=True)
    assert store._services.storage.erased([before.id]) == {before.id}
    (after,) = cycles.run().written
    assert after.id != before.id
    assert after.sources == ("ferry-1", "ferry-3", "ferry-4")


def test_what_a_person_adds_to_a_summary_is_kept(store: MemoryStore, cycles: Cycles) -> None:
    (topic,) = topics_of(store)
    store.revise(topic.id, revision=1, tags=["mine"])
    store.forget("ferry-2")
    # It is theirs now, and stays as it is.
    assert cycles.run().puts == ()
    assert topics_of(store)[0].tags == ("mine",)
