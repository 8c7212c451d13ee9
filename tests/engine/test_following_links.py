"""An exhaustive search follows stored links from its best matches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import Config, Hit, Hits, Link, LinkType, MemoryStore
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.hits import Reached, Step
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

MAY = datetime(2026, 5, 1, 9, tzinfo=UTC)


@pytest.fixture
def storage() -> InMemoryStorage:
    return InMemoryStorage()


@pytest.fixture
def lyon(storage: InMemoryStorage, tmp_path: Path) -> Iterator[MemoryStore]:
    """Open a store of a plan, of notes on others, and of two that say nothing like the plan."""
    config = Config(home=tmp_path)
    with MemoryStore.open(
        storage=storage, config=config, embedder=HashingEmbedder(), clock=lambda: MAY
    ) as store:
        store.remember("We move the office to Lyon", id="plan")
        store.remember("Die Miete endet", id="lease")
        store.remember("租约", id="letter", kind="fact")
        for number in range(30):
            store.remember(f"The office of branch {number} is open", id=f"branch{number}")
        yield store


def found(hits: Hits, memory_id: str) -> Hit | None:
    return next((hit for hit in hits if hit.memory.id == memory_id), None)


def exhaust(store: MemoryStore, **conditions: object) -> Hits:
    options: dict[str, object] = {"limit": 200, "threshold": 0.01, **conditions}
    return store.search("office move to Lyon", depth="exhaustive", **options)


def test_what_is_linked_with_a_match_is_listed_and_says_from_where(lyon: MemoryStore) -> None:
    assert found(exhaust(lyon), "lease") is None
    lyon.graph.link("plan", "lease", type="intent", weight=0.8)
    lyon.graph.link("letter", "lease", type="context", weight=0.5)
    hits = exhaust(lyon, explain=True)
    assert hits[0].memory.id == "plan"
    assert hits[0].reached is None
    lease, letter = found(hits, "lease"), found(hits, "letter")
    assert lease is not None
    assert letter is not None
    assert lease.reached == Reached(match="plan", links=(LinkType.INTENT,), weight=0.8)
    assert letter.reached == Reached(
        match="plan", links=(LinkType.INTENT, LinkType.CONTEXT), weight=0.4
    )
    assert lease.score == pytest.approx(0.4 * hits[0].score, abs=1e-5)
    assert letter.score == pytest.approx(0.2 * hits[0].score, abs=1e-5)
    assert lease.explanation is not None
    steps = ("meaning", "words", "conversation", "linked")
    assert sum(getattr(lease.explanation, step) for step in steps) == pytest.approx(
        lease.explanation.total, rel=1e-5
    )


def test_a_memory_that_matches_well_has_its_own_rank(lyon: MemoryStore) -> None:
    before = exhaust(lyon)
    lyon.graph.link("plan", before[1].memory.id, type="semantic", weight=0.1)
    assert exhaust(lyon) == before


def test_a_weak_match_may_be_reached_from_a_better_one(lyon: MemoryStore) -> None:
    lyon.remember("We move the office to Lyon", id="best", kind="decision")
    lyon.remember("Lyon has many bridges over two rivers", id="weak", kind="decision")
    before = exhaust(lyon, kinds=["decision"])
    assert [(hit.memory.id, hit.reached) for hit in before] == [("best", None), ("weak", None)]
    assert before[1].score < 0.4
    lyon.graph.link("weak", "best", type="context", weight=1)
    after = exhaust(lyon, kinds=["decision"])
    assert after[1].reached == Reached(match="best", links=(LinkType.CONTEXT,), weight=1.0)
    assert after[1].score == pytest.approx(0.5 * after[0].score, abs=1e-5)
    assert (after.matches, after[0]) == (before.matches, before[0])


def test_the_stronger_of_two_ways_counts_though_it_is_longer(lyon: MemoryStore) -> None:
    lyon.remember("Lyon has many bridges over two rivers", id="weak", kind="fact")
    lyon.remember("We move the office to Lyon", id="best", kind="fact")
    lyon.graph.link("best", "weak", type="intent", weight=0.9)
    lyon.graph.link("weak", "letter", type="context", weight=0.9)
    letter = found(exhaust(lyon, kinds=["fact"]), "letter")
    assert letter is not None
    assert letter.reached is not None
    assert (letter.reached.match, letter.reached.way) == ("best", "by two links (intent, context)")


@pytest.mark.parametrize("depth", ["normal", "overview"])
def test_other_depths_follow_no_links(lyon: MemoryStore, depth: str) -> None:
    before = lyon.search("office move to Lyon", depth=depth)
    lyon.graph.link("plan", "lease", type="intent")
    assert lyon.search("office move to Lyon", depth=depth) == before


def test_pages_are_stretches_of_one_list(lyon: MemoryStore) -> None:
    lyon.graph.link("plan", "lease", type="intent", weight=0.6)
    lyon.graph.link("branch0", "letter", type="context", weight=0.6)
    whole = exhaust(lyon, threshold=0.0)
    assert {hit.memory.id for hit in whole if hit.reached} == {"lease", "letter"}
    for size in (1, 4, 7, 50):
        pages: list[Hit] = []
        offset: int | None = 0
        while offset is not None:
            page = exhaust(lyon, threshold=0.0, limit=size, offset=offset)
            assert (page.matches, page.best) == (whole.matches, whole.best)
            pages += page
            offset = page.next
        assert tuple(pages) == whole.items


def test_replaced_and_archived_memories_are_reached_and_forgotten_ones_are_not(
    lyon: MemoryStore,
) -> None:
    for number, status in enumerate(["superseded", "archived"]):
        receipt = lyon.remember(f"租约 {number}", id=status)
        lyon.graph.link("plan", status, type="context")
        lyon.revise(status, revision=receipt.revision, status=status)
    lyon.graph.link("plan", "lease", type="context")
    lyon.forget("lease")
    reached = [hit.memory.id for hit in exhaust(lyon) if hit.reached]
    assert reached == ["archived", "superseded"]


def test_what_was_replaced_by_a_match_is_reached(lyon: MemoryStore) -> None:
    lyon.remember("Wir bleiben", id="old", happened_at=MAY - timedelta(days=1))
    lyon.remember("We move the whole office to Lyon", id="new", supersedes=["old"])
    old = found(exhaust(lyon), "old")
    assert old is not None
    assert old.reached == Reached(match="new", links=(LinkType.SUPERSEDES,), weight=1.0)


def test_a_way_leads_over_other_kinds_but_lists_only_those_asked_for(lyon: MemoryStore) -> None:
    lyon.remember("Lyon office", id="fact", kind="fact")
    lyon.graph.link("fact", "lease", type="context", weight=0.5)
    lyon.graph.link("lease", "letter", type="semantic", weight=1)
    hits = exhaust(lyon, kinds=["fact"])
    assert [hit.memory.id for hit in hits] == ["fact", "letter"]
    assert hits[1].reached == Reached(
        match="fact", links=(LinkType.CONTEXT, LinkType.SEMANTIC), weight=0.5
    )


def test_no_way_leads_through_another_scope(lyon: MemoryStore, storage: InMemoryStorage) -> None:
    lyon.remember("Die andere Miete", id="elsewhere", scope="secret")

    def link(source: str, target: str) -> Link:
        return Link(source=source, target=target, type=LinkType.CONTEXT, made_at=MAY)

    # No operation makes such links; a store written by another program may have them.
    storage.commit(Commit(links=(link("plan", "elsewhere"), link("elsewhere", "letter"))))
    hits = exhaust(lyon, scope="Global")
    assert [hit.memory.id for hit in hits if hit.reached] == []
    opened = exhaust(lyon, scope=["Global", "secret"])
    assert sorted(hit.memory.id for hit in opened if hit.reached) == ["elsewhere", "letter"]


def test_at_most_a_hundred_are_reached_over_fifty_links_of_each(lyon: MemoryStore) -> None:
    lyon.remember_many({"id": f"far{n:03}", "text": f"租{n}"} for n in range(180))
    for number in range(180):
        weight = 1 - number / 1000
        lyon.graph.link("plan", f"far{number:03}", type="context", weight=weight)
    reached = {hit.memory.id for hit in exhaust(lyon, limit=300) if hit.reached}
    assert reached == {f"far{n:03}" for n in range(50)}
    for number in range(60):
        lyon.graph.link("far000", f"far{number + 100:03}", type="context")
        lyon.graph.link("far001", f"far{number + 120:03}", type="context")
    reached = {hit.memory.id for hit in exhaust(lyon, limit=300) if hit.reached}
    # One of them may match better itself.
    assert 99 <= len(reached) <= 100


def test_why_not_knows_what_links_lead_to(lyon: MemoryStore) -> None:
    question = "office move to Lyon"
    options = {"depth": "exhaustive", "threshold": 0.01}
    assert lyon.why_not(question, "lease", **options).step is not Step.FOUND
    lyon.graph.link("plan", "lease", type="intent")
    assert lyon.why_not(question, "lease", **options).step is Step.FOUND
    absence = lyon.why_not(question, "lease", threshold=0.3)
    assert absence.step is not Step.FOUND


def test_a_threshold_cuts_what_links_lead_to(lyon: MemoryStore) -> None:
    lyon.graph.link("plan", "lease", type="intent")
    lease = found(exhaust(lyon), "lease")
    assert lease is not None
    assert found(exhaust(lyon, threshold=lease.score + 0.01), "lease") is None


def test_an_erased_link_leads_nowhere(lyon: MemoryStore) -> None:
    lyon.graph.link("plan", "lease", type="intent")
    lyon.undo()
    assert found(exhaust(lyon), "lease") is None
