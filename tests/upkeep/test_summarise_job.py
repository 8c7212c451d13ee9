"""The job `summarise`: finished conversations and months become summaries with their sources."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from stopped_clock import StoppedClock

from infinite_memory import Config, MemoryStore, Status
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Kind, Memory, Origin
from infinite_memory.features.background.upkeep.report import JobReport, StepAction
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder

LONG_AGO = datetime(2024, 3, 4, 9, tzinfo=UTC)
NOW = datetime(2026, 1, 10, tzinfo=UTC)


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(LONG_AGO)


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    made: Storage = (
        InMemoryStorage() if request.param == "memory" else SqliteStorage.open(tmp_path / "home")
    )
    yield made
    made.close()


def open_store(
    tmp_path: Path, storage: Storage, clock: StoppedClock, **options: Any
) -> MemoryStore:
    home = tmp_path / "home"
    settings = {"upkeep": options.pop("upkeep", {}), "summaries": options.pop("summaries", {})}
    config = Config(home=home, time_zone="UTC", **settings)
    return MemoryStore.open(
        home, config=config, storage=storage, embedder=HashingEmbedder(), clock=clock, **options
    )


@pytest.fixture
def store(tmp_path: Path, storage: Storage, clock: StoppedClock) -> Iterator[MemoryStore]:
    with open_store(tmp_path, storage, clock) as opened:
        yield opened


def talk(store: MemoryStore, name: str, begin: datetime, count: int = 8, **fields: Any) -> None:
    """Store a conversation, a message a minute; its ids are the name with a number."""
    for number in range(count):
        store.remember(
            f"Message {number} of {name}: we decided to ship part {number} on June {number + 1}.",
            id=f"{name}-{number:04}",
            kind="message",
            conversation_id=name,
            speaker="Ada" if number % 2 else "Bob",
            happened_at=begin + timedelta(minutes=number),
            **fields,
        )


def summarise(store: MemoryStore, *, dry_run: bool = False) -> JobReport:
    (report,) = store.upkeep.optimize(dry_run=dry_run, jobs=["summarise"]).jobs
    return report


def summaries(storage: Storage, *statuses: Status) -> list[Memory]:
    criteria = Criteria(
        kinds=frozenset({Kind.SUMMARY}), statuses=frozenset(statuses or {Status.CURRENT})
    )
    return list(storage.find(criteria, limit=100).memories)


def statuses(storage: Storage) -> dict[str, Status]:
    return {memory.id: memory.status for memory in storage.find(Criteria(), limit=10_000).memories}


def test_a_finished_conversation_is_summarised_and_its_messages_are_archived(
    store: MemoryStore, storage: Storage, clock: StoppedClock
) -> None:
    talk(store, "plans", LONG_AGO)
    store.revise("plans-0003", revision=1, important=True)
    clock.now = NOW
    report = summarise(store)
    (step,) = report.steps
    assert (step.action, step.memory_id, step.scope) == (
        StepAction.SUMMARISE,
        "plans-0000",
        "Global",
    )
    (summary,) = summaries(storage)
    assert step.other == summary.id
    assert summary.origin is Origin.DREAM
    assert summary.conversation_id == "plans"
    assert summary.sources == tuple(f"plans-{number:04}" for number in range(8))
    assert summary.happened_at == LONG_AGO + timedelta(minutes=7)
    assert summary.title == "Conversation of 2024-03-04, in excerpts"
    assert summary.context["summarised_by"] == "extractive"
    assert {
        link.target
        for link in storage.links([summary.id])
        if (link.type, link.source, link.weight) == (LinkType.DERIVED_FROM, summary.id, 1.0)
    } == set(summary.sources)
    archived = {i for i, status in statuses(storage).items() if status is Status.ARCHIVED}
    assert archived == {f"plans-{number:04}" for number in range(8)} - {"plans-0003"}
    assert store.search("ship part", kinds=["summary"])[0].memory.id == summary.id
    assert store.verify().sound


def test_a_dry_run_shows_the_steps_of_the_run_and_changes_nothing(
    store: MemoryStore, storage: Storage, clock: StoppedClock
) -> None:
    talk(store, "plans", LONG_AGO)
    talk(store, "holidays", LONG_AGO + timedelta(days=3))
    clock.now = NOW
    before = statuses(storage)
    planned = summarise(store, dry_run=True)
    assert statuses(storage) == before
    assert (planned.entry, len(planned.steps)) == (None, 2)
    assert summarise(store).steps == planned.steps


def test_an_undo_of_the_run_restores_everything_and_it_is_not_done_again(
    store: MemoryStore, storage: Storage, clock: StoppedClock
) -> None:
    talk(store, "plans", LONG_AGO)
    clock.now = NOW
    entry = summarise(store).entry
    assert entry is not None
    store.undo(entry)
    assert summaries(storage) == []
    assert {s for i, s in statuses(storage).items() if i.startswith("plans")} == {Status.CURRENT}
    assert summarise(store).steps == ()


def test_a_second_run_finds_nothing_left_to_do(
    store: MemoryStore, storage: Storage, clock: StoppedClock
) -> None:
    talk(store, "plans", LONG_AGO)
    for number in range(5):
        store.remember(
            f"An important decision number {number}, which is kept as it is, since it is of weight"
            " for years and long enough to be summarised by itself.",
            id=f"decision-{number}",
            kind="decision",
            conversation_id="plans",
            happened_at=LONG_AGO + timedelta(hours=1),
        )
    clock.now = NOW
    assert len(summarise(store).steps) == 1
    assert summarise(store).steps == ()
    assert len(summaries(storage)) == 1
    assert all(statuses(storage)[f"decision-{n}"] is Status.CURRENT for n in range(5))


def test_a_conversation_that_goes_on_gets_a_summary_of_all_of_it_in_place_of_the_first(
    store: MemoryStore, storage: Storage, clock: StoppedClock
) -> None:
    talk(store, "plans", LONG_AGO)
    clock.now = NOW
    summarise(store)
    (first,) = summaries(storage)
    store.remember(
        "One more thing: the launch moved to September 3.",
        id="plans-late",
        kind="message",
        conversation_id="plans",
        happened_at=NOW,
    )
    assert summarise(store).steps == ()
    clock.now = NOW + timedelta(days=400)
    assert len(summarise(store).steps) == 1
    (second,) = summaries(storage)
    assert second.sources == (*first.sources, "plans-late")
    (superseded,) = summaries(storage, Status.SUPERSEDED)
    assert superseded.id == first.id
    assert [
        (link.source, link.target)
        for link in storage.links([first.id])
        if link.type is LinkType.SUPERSEDES
    ] == [(second.id, first.id)]


@pytest.mark.parametrize(
    ("upkeep", "age_weeks", "expected"),
    [
        ({"retention": "keep_all"}, 520, 0),
        ({"retention": "aggressive"}, 3, 0),
        ({"retention": "aggressive"}, 5, 1),
        ({"retention": "aggressive", "min_age_weeks": 8}, 5, 0),
        ({"scopes": {"Global": {"retention": "aggressive"}}}, 5, 1),
        ({"scopes": {"Global": {"include": False}}}, 520, 0),
    ],
)
def test_the_retention_says_how_old_a_conversation_must_be(
    tmp_path: Path,
    storage: Storage,
    clock: StoppedClock,
    upkeep: dict[str, Any],
    age_weeks: int,
    expected: int,
) -> None:
    with open_store(tmp_path, storage, clock, upkeep=upkeep) as store:
        talk(store, "plans", LONG_AGO)
        clock.now = LONG_AGO + timedelta(weeks=age_weeks, hours=1)
        assert len(summarise(store).steps) == expected


def test_a_short_exchange_is_left_as_it_is(store: MemoryStore, clock: StoppedClock) -> None:
    talk(store, "hello", LONG_AGO, count=3)
    clock.now = NOW
    assert summarise(store).steps == ()


def test_a_month_of_notes_is_summarised_and_its_notes_stay(
    store: MemoryStore, storage: Storage, clock: StoppedClock
) -> None:
    for number in range(14):
        store.remember(
            f"Note {number}: the team agreed to order part number {number * 37}.",
            id=f"note-{number:02}",
            happened_at=LONG_AGO + timedelta(days=number),
        )
    clock.now = NOW
    (step,) = summarise(store).steps
    (summary,) = summaries(storage)
    assert summary.title == "Notes of 2024-03-04 to 2024-03-17, in excerpts"
    assert step.reason == "14 memories"
    assert {s for i, s in statuses(storage).items() if i.startswith("note")} == {Status.CURRENT}
    assert summarise(store).steps == ()


def test_two_scopes_with_one_conversation_get_a_summary_each(
    store: MemoryStore, storage: Storage, clock: StoppedClock
) -> None:
    for name in ("work", "home"):
        store.scopes.create(name)
    for number in range(16):
        store.remember(
            f"Message {number}: we agreed that {number * 11} bricks are enough for the wall.",
            id=f"talk-{number:02}",
            kind="message",
            scope="work" if number % 2 else "home",
            conversation_id="talk",
            happened_at=LONG_AGO + timedelta(minutes=number),
        )
    clock.now = NOW
    assert len(summarise(store).steps) == 2
    for summary in summaries(storage):
        sources = storage.get(summary.sources)
        assert {record.memory.scope for record in sources.values()} == {summary.scope}
        assert len(sources) == 8


def test_private_scopes_are_summarised_only_if_that_is_switched_on(
    tmp_path: Path, storage: Storage, clock: StoppedClock
) -> None:
    with open_store(tmp_path, storage, clock) as store:
        store.scopes.create("vault", sensitivity="private")
        talk(store, "secrets", LONG_AGO, scope="vault")
        clock.now = NOW
        assert summarise(store).steps == ()
    with open_store(tmp_path, storage, clock, upkeep={"private_scopes": True}) as store:
        (step,) = summarise(store).steps
        assert step.scope == "vault"


def test_a_long_conversation_is_summarised_in_parts_that_stay_the_same(
    store: MemoryStore, storage: Storage, clock: StoppedClock
) -> None:
    store.remember_many(
        {
            "text": f"Line {number} says that the bolt has {number} mm.",
            "id": f"long-{number:05}",
            "kind": "message",
            "conversation_id": "long",
            "happened_at": LONG_AGO + timedelta(seconds=number),
        }
        for number in range(1200)
    )
    clock.now = NOW
    reports = [summarise(store)]
    while reports[-1].more:
        reports.append(summarise(store))
    assert [len(report.steps) for report in reports] == [1, 2]
    assert summarise(store).steps == ()
    assert sorted(len(summary.sources) for summary in summaries(storage)) == [200, 500, 500]
    assert set(statuses(storage).values()) == {Status.ARCHIVED, Status.CURRENT}


def test_two_stores_that_plan_the_same_make_one_summary(
    tmp_path: Path, storage: Storage, clock: StoppedClock, store: MemoryStore
) -> None:
    talk(store, "plans", LONG_AGO)
    clock.now = NOW
    with open_store(tmp_path, storage, clock) as other:
        planned = summarise(other, dry_run=True)
        assert summarise(store).steps == planned.steps
        assert summarise(other).steps == ()
    assert len(summaries(storage)) == 1


def test_a_handle_of_some_scopes_summarises_those_alone(
    tmp_path: Path, storage: Storage, clock: StoppedClock, store: MemoryStore
) -> None:
    for name in ("work", "home"):
        store.scopes.create(name)
        talk(store, f"talk-{name}", LONG_AGO, scope=name)
    clock.now = NOW
    with open_store(tmp_path, storage, clock, scopes=["work"]) as work:
        assert [step.scope for step in summarise(work).steps] == ["work"]
    assert [summary.scope for summary in summaries(storage)] == ["work"]


def test_a_hard_forget_of_a_message_takes_its_summary_with_it(
    store: MemoryStore, storage: Storage, clock: StoppedClock
) -> None:
    talk(store, "plans", LONG_AGO)
    clock.now = NOW
    summarise(store)
    (summary,) = summaries(storage)
    assert f"summary {summary.id}, which quoted it" in store.forget("plans-0005", hard=True).erased
    assert summaries(storage) == []
