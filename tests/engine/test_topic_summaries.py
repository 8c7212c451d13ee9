"""Topic summaries, which the dreamer writes, never stand in the way of what people said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from attrs import evolve

from infinite_memory import Depth, MemoryStore
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.hits import Step
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.engine.journal import with_entry
from infinite_memory.features.overviews.values import BriefingPart

MAY = datetime(2026, 5, 1, 9, tzinfo=UTC)
TOPIC = "Apollo is due on June 5. Apollo is led by Alice."
DREAMED: dict[str, Any] = {
    "kind": "summary",
    "origin": "dream",
    "context": {"dreamed": {"level": 1, "by": "quotation"}},
    "sources": ["due", "lead"],
    "tags": ["apollo"],
}


@pytest.fixture
def apollo(store: MemoryStore) -> MemoryStore:
    """Return a store of two notes, with a topic summary that quotes both."""
    store.remember("Apollo is due on June 5", id="due", happened_at=MAY, tags=["apollo"])
    store.remember("Apollo is led by Alice", id="lead", happened_at=MAY, tags=["apollo"])
    store.remember(TOPIC, id="topic", happened_at=MAY, **DREAMED)
    return store


def ids(found: Any) -> list[str]:
    return sorted(hit.memory.id for hit in found)


def test_a_normal_search_leaves_them_out_and_ranks_as_if_there_were_none(
    apollo: MemoryStore,
) -> None:
    question = "When is Apollo due, and who is Apollo led by?"
    with_topic = apollo.search(question)
    assert ids(with_topic) == ["due", "lead"]
    apollo.forget("topic", hard=True)
    assert apollo.search(question) == with_topic


@pytest.mark.parametrize(
    "asked", [{"depth": "overview"}, {"depth": "exhaustive"}, {"kinds": ["summary", "fact"]}]
)
def test_deeper_searches_and_searches_for_summaries_find_them(
    apollo: MemoryStore, asked: dict[str, Any]
) -> None:
    assert "topic" in ids(apollo.search("Apollo", **asked))


def test_an_overview_begins_with_one(apollo: MemoryStore) -> None:
    hits = apollo.search("Apollo", depth="overview")
    assert hits[0].memory.id == "topic"
    assert sorted(hits[0].covers) == ["due", "lead"]


def test_other_kinds_leave_them_out_at_every_depth(apollo: MemoryStore) -> None:
    for depth in Depth:
        assert ids(apollo.search("Apollo", depth=depth, kinds=["note"])) == ["due", "lead"]


def test_why_not_says_so_and_names_the_depth_that_finds_one(apollo: MemoryStore) -> None:
    absence = apollo.why_not("Apollo", "topic")
    assert (absence.step, absence.unmet) == (Step.CONDITIONS, ("topic_summaries",))
    assert absence.found_at is Depth.OVERVIEW
    assert absence.reason == (
        "it is a topic summary, which the dreamer wrote; a search of the depth normal leaves those"
        " out, unless its kinds name summary; the depth overview finds it"
    )
    assert apollo.why_not("Apollo", "topic", depth="overview").step is Step.FOUND


def test_lists_leave_them_out_unless_summaries_are_asked_for(apollo: MemoryStore) -> None:
    diary = apollo.recall_by_time(when="always")
    assert sorted(memory.id for memory in diary.memories) == ["due", "lead"]
    assert diary.total == 2
    page = apollo.browse()
    assert sorted(memory.id for memory in page.memories) == ["due", "lead"]
    assert apollo.scopes.count_tags() == {"apollo": 2}
    summaries = {"kinds": ["summary"]}
    assert [memory.id for memory in apollo.browse(**summaries).memories] == ["topic"]
    recalled = apollo.recall_by_time(when="always", **summaries)
    assert [memory.id for memory in recalled.memories] == ["topic"]


def test_the_pages_of_a_list_have_no_gaps_where_they_are_left_out(apollo: MemoryStore) -> None:
    first = apollo.browse(limit=1)
    assert first.next is not None
    second = apollo.browse(limit=1, after=first.next)
    assert sorted(memory.id for memory in first.memories + second.memories) == ["due", "lead"]


def test_a_briefing_leaves_them_out(apollo: MemoryStore) -> None:
    now = apollo.get("due").stored_at
    for name, fields in (("news", {}), ("fresh", DREAMED)):
        apollo.remember("Apollo has moved to Lyon", id=name, happened_at=now, **fields)
    sections = {section.part: section.items for section in apollo.briefing().sections}
    assert "news" in [item.id for item in sections[BriefingPart.RECENT]]
    assert not any(item.id in ("fresh", "topic") for items in sections.values() for item in items)


def test_a_digest_counts_them_as_summaries(apollo: MemoryStore) -> None:
    apollo.remember("Apollo in short", id="own", kind="summary", happened_at=MAY)
    digest = apollo.recall_by_time(when="always", kinds=["summary"], limit=1).digest
    assert digest is not None
    assert digest.by_kind == {"summary": 2}


def test_no_receipt_names_one_as_similar(apollo: MemoryStore) -> None:
    receipt = apollo.remember("Apollo is due on June 5, and Apollo is led by Alice.")
    assert "topic" not in [similar.id for similar in receipt.similar]
    assert {similar.id for similar in receipt.similar} <= {"due", "lead"}
    assert apollo.remember(TOPIC + " So it is.", **DREAMED).similar == ()


def test_a_text_that_one_has_as_well_is_stored(apollo: MemoryStore) -> None:
    assert "topic" in ids(apollo.search("Apollo", depth="overview"))
    told = apollo.remember(TOPIC, origin="assistant")
    assert str(told.outcome) == "stored"


@pytest.mark.parametrize("operation", [Operation.DREAM, Operation.UPKEEP])
def test_a_repeat_is_one_whatever_was_dreamed_in_between(
    store: MemoryStore, operation: Operation
) -> None:
    told = store.remember("Prefers short answers", id="told")
    services = store._services
    topic = evolve(
        store.get("told"), id="topic", kind=Kind.SUMMARY, origin=Origin.DREAM, sources=("told",)
    )
    commit = Commit(puts=[Put(memory=topic, expected=0)])
    services.storage.commit(with_entry(services, operation, commit))
    again = store.remember("Prefers short answers")
    assert (again.id, str(again.outcome)) == (told.id, "strengthened")
    store.remember("Prefers long answers")
    assert str(store.remember("Prefers short answers").outcome) == "stored"


def test_nothing_collapses_into_one(apollo: MemoryStore) -> None:
    apollo.remember(TOPIC, id="told", kind="summary", happened_at=MAY)
    apollo.remember(TOPIC, id="again", happened_at=MAY, **DREAMED)
    hits = apollo.search("Apollo", depth="overview")
    assert {"topic", "again", "told"} <= set(ids(hits))
    assert all(hit.twins == () for hit in hits)


def test_an_archived_one_is_no_hint(apollo: MemoryStore) -> None:
    for name in ("due", "lead"):
        apollo.forget(name)
    revision = apollo.get("topic").revision
    apollo.revise("topic", revision=revision, status="archived")
    for depth in ("normal", "overview"):
        assert apollo.search("Apollo is led by Alice", depth=depth).archived == ()


def test_the_newest_memories_are_what_people_said(apollo: MemoryStore) -> None:
    hits = apollo.search("上次我们聊了什么？", depth="overview")
    assert hits.newest_memories
    assert "topic" not in ids(hits)


def test_only_links_lead_to_one(apollo: MemoryStore) -> None:
    related = apollo.graph.related("due", types=["meaning", "time"], depth=1)
    assert "topic" not in [found.memory.id for found in related]


def forget_source(store: MemoryStore) -> None:
    store.forget("due")


def supersede_source(store: MemoryStore) -> None:
    store.remember("Apollo is due on July 9", id="later", supersedes=["due"], similar=False)


def revise_source(store: MemoryStore) -> None:
    store.revise("due", revision=1, text="Apollo has no date")


@pytest.mark.parametrize("change", [forget_source, supersede_source, revise_source])
def test_an_overview_leaves_out_one_that_is_outdated(
    apollo: MemoryStore, change: Callable[[MemoryStore], None]
) -> None:
    change(apollo)
    found = ids(apollo.search("Apollo", depth="overview"))
    assert "topic" not in found
    assert "lead" in found


@pytest.mark.parametrize("change", [forget_source, supersede_source, revise_source])
def test_what_is_known_does_not_begin_with_one_that_is_outdated(
    apollo: MemoryStore, change: Callable[[MemoryStore], None]
) -> None:
    assert [summary.id for summary in apollo.what_do_i_know("Apollo").summaries] == ["topic"]
    change(apollo)
    knowledge = apollo.what_do_i_know("Apollo")
    assert knowledge.summaries == ()
    assert "June 5" not in knowledge.text
    assert "lead" in {highlight.id for highlight in knowledge.highlights}
    assert knowledge.more == 0


def test_what_a_topic_summary_alone_still_quotes_is_unknown(store: MemoryStore) -> None:
    store.remember("Apollo is led by Alice", id="lead", happened_at=MAY)
    store.remember("The code is TANGERINE", id="due", happened_at=MAY)
    text = "Apollo is led by Alice. The code is TANGERINE."
    store.remember(text, id="topic", happened_at=MAY, **DREAMED)
    store.forget("due")
    assert not store.what_do_i_know("TANGERINE").is_known
