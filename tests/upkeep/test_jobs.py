"""The jobs of the upkeep: what each does to a store, in bounds, and undone as one."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stopped_clock import StoppedClock

from infinite_memory import Config, InvalidInput, MemoryStore, ReadOnly
from infinite_memory.core.config import Retention
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.record import Usage
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import MAX_CHANGES
from infinite_memory.features.background.upkeep.notes import last_run, read_notes
from infinite_memory.features.background.upkeep.report import JobReport, StepAction
from infinite_memory.features.background.worker import jobs as all_jobs
from infinite_memory.features.background.worker.run import run_job
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=365)
Open = Callable[..., MemoryStore]

TALK = [
    ("Ann", "The build of Apollo fails since the update of libfoo to 2.3."),
    ("Ben", "Did you clean the cache of the build server before you tried again?"),
    ("Ann", "Yes, that did not help at all, the linker still does not find libbar."),
    ("Ben", "We decided to pin libfoo to 2.2, because the changed rpath is the root cause."),
    ("Ann", "ok"),
    ("Ben", "Carol will send the patch to the maintainers of libfoo on June 5."),
    ("Ann", "And I will write it down in the guide for new colleagues, so that nobody asks again."),
]


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock(BEGIN)


@pytest.fixture(params=["memory", "sqlite"])
def open_store(
    request: pytest.FixtureRequest, tmp_path: Path, clock: StoppedClock
) -> Iterator[Open]:
    """Open a store whose upkeep has the given settings; again the same store."""
    home = tmp_path / "home"
    home.mkdir()
    shared = InMemoryStorage() if request.param == "memory" else SqliteStorage.open(home)
    opened: list[MemoryStore] = []

    def call(**upkeep: Any) -> MemoryStore:
        store = MemoryStore.open(
            config=Config(home=home, upkeep=upkeep),
            storage=shared,
            embedder=HashingEmbedder(),
            clock=clock,
        )
        opened.append(store)
        return store

    with closing(shared):
        yield call
        for store in opened:
            store.close()


def run(store: MemoryStore, *jobs: str, dry_run: bool = False) -> JobReport:
    (report,) = store.upkeep.optimize(jobs=jobs, dry_run=dry_run).jobs
    assert report.failure is None
    return report


def tell_talk(store: MemoryStore, **fields: Any) -> list[str]:
    drafts = [
        {
            "id": f"{fields.get('conversation_id', 'talk')}-{number}",
            "text": text,
            "speaker": speaker,
            "kind": "message",
            "conversation_id": "talk",
            "happened_at": BEGIN + timedelta(minutes=number),
            **fields,
        }
        for number, (speaker, text) in enumerate(TALK)
    ]
    return [receipt.id for receipt in store.remember_many(drafts)]


def state(store: MemoryStore) -> dict[str, Memory]:
    """Return every memory that is not forgotten, without what any change changes."""
    memories = store.browse(scope="ALL", statuses=[], limit=100).memories
    return {
        memory.id: evolve(memory, revision=0, stored_at=BEGIN)
        for memory in memories
        if memory.status != "forgotten"
    }


def statuses(store: MemoryStore) -> Mapping[str, str]:
    return {memory_id: str(memory.status) for memory_id, memory in state(store).items()}


def statuses_of(store: MemoryStore, scope: str) -> list[str]:
    """Return the statuses of all memories of a scope."""
    counted = store.browse(scope=scope, inherited="none", statuses=[], limit=100).memories
    return [str(memory.status) for memory in counted]


def test_old_and_unused_memories_are_archived_found_exhaustively_and_brought_back(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store()
    store.remember("The heron fishes at the pond", id="unused")
    store.remember("The swan sleeps at the pond", id="used")
    store.remember("The pond freezes in January", id="fact", kind="fact")
    store.remember("The pond belongs to the mayor", id="important", important=True)
    before = state(store)
    clock.now += timedelta(days=200)
    store.search("swan", limit=1)
    store.close()  # which counts the recall
    store = open_store()
    clock.now += YEAR
    report = run(store, "archive")
    assert [(step.memory_id, step.action) for step in report.steps] == [
        ("unused", StepAction.ARCHIVE)
    ]
    assert [hit.memory.id for hit in store.search("heron fishes")] != ["unused"]
    assert store.search("heron fishes", depth="exhaustive")[0].memory.id == "unused"
    assert report.entry is not None
    entry = store.journal[report.entry].action
    assert (entry.operation, entry.reason[:20]) == (Operation.UPKEEP, "Archive what has exp")
    store.undo(report.entry)
    assert state(store) == before
    # It counts as young from now on, so the next run leaves it alone.
    assert run(store, "archive").steps == ()
    store.revise("unused", revision=store.get("unused").revision, status="archived")
    store.revise("unused", revision=store.get("unused").revision, status="current")
    assert statuses(store)["unused"] == "current"


def test_a_finished_conversation_is_summarised_and_archived_and_undone_for_good(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store()
    ids = tell_talk(store)
    store.revise(ids[3], revision=1, important=True)
    before = state(store)
    clock.now += timedelta(weeks=25)
    assert run(store, "summarise").steps == ()
    clock.now += timedelta(weeks=2)
    report = run(store, "summarise")
    (step,) = report.steps
    assert (step.action, step.reason) == (
        StepAction.SUMMARISE,
        "7 memories, 6 of them archived",
    )
    summary = store.get(step.other or "")
    assert (summary.kind, summary.scope, summary.conversation_id) == (
        Kind.SUMMARY,
        "Global",
        "talk",
    )
    assert summary.sources == tuple(ids)
    assert "pin libfoo to 2.2" in summary.text
    assert summary.context["period"] == {
        "from": "2024-01-01T00:00:00Z",
        "to": "2024-01-01T00:06:00Z",
    }
    assert statuses(store) == {
        **dict.fromkeys(ids, "archived"),
        ids[3]: "current",
        summary.id: "current",
    }
    assert run(store, "summarise").steps == ()
    assert report.entry is not None
    store.undo(report.entry)
    assert state(store) == before
    assert run(store, "summarise").steps == ()


def test_what_is_said_later_in_a_conversation_is_summarised_with_what_was_said_before(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store(retention="aggressive")
    first = tell_talk(store)
    clock.now += timedelta(weeks=5)
    (earlier,) = run(store, "summarise").steps
    second = tell_talk(store, id=None, happened_at=clock.now)
    clock.now += timedelta(weeks=5)
    (step,) = run(store, "summarise").steps
    assert set(store.get(step.other or "").sources) == {*first, *second}
    assert str(store.get(earlier.other or "").status) == "superseded"


def test_a_month_of_notes_is_summarised_and_its_notes_stay(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store()
    for number in range(14):
        store.remember(f"Bed {number} of the garden got {number * 3} litres of water today")
    store.remember("A single note of another month", happened_at=BEGIN - timedelta(days=40))
    clock.now += timedelta(weeks=32)
    (step,) = run(store, "summarise").steps
    assert (step.heading, step.reason) == ("Notes of 2024-01-01, in excerpts", "14 memories")
    assert set(statuses(store).values()) == {"current"}


def test_noise_is_archived_and_short_answers_that_say_something_stay(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store()
    for number in range(6):
        store.remember("ok", kind="message", id=f"ok-{number}")
    store.remember("Bergen", kind="message", id="answer")
    clock.now += timedelta(weeks=5)
    report = run(store, "archive")
    assert sorted(step.memory_id for step in report.steps) == [f"ok-{n}" for n in range(6)]


def test_a_time_to_live_erases_only_where_its_rule_says_so(
    open_store: Open, clock: StoppedClock
) -> None:
    rules = {"diary": {"keep_days": 30, "erase": True}, "inbox": {"keep_days": 30}}
    store = open_store(retention="keep_all", scopes=rules)
    for scope in ("diary", "inbox", "work"):
        store.remember(f"A secret of {scope}", id=scope, scope=scope, important=True)
    clock.now += timedelta(days=31)
    dry = run(store, "archive", dry_run=True)
    assert [(step.action, step.memory_id) for step in dry.steps] == [
        (StepAction.ERASE, "diary"),
        (StepAction.ARCHIVE, "inbox"),
    ]
    assert set(statuses(store)) == {"diary", "inbox", "work"}
    assert run(store, "archive").steps == dry.steps
    assert statuses(store) == {"inbox": "archived", "work": "current"}
    assert store.journal.history("inbox")[0].text == "A secret of inbox"


def test_a_summary_that_quotes_an_erased_memory_is_erased_with_it(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store(retention="aggressive", scopes={"chat": {"keep_days": 60, "erase": True}})
    ids = tell_talk(store, scope="chat")
    clock.now += timedelta(weeks=5)
    (step,) = run(store, "summarise").steps
    clock.now += timedelta(days=24)
    assert run(store, "archive").steps == ()
    # Archiving changed the messages, and does not prolong their life.
    clock.now += timedelta(days=2)
    erased = {step.memory_id for step in run(store, "archive").steps}
    assert erased == {*ids, step.other}
    assert state(store) == {}


@pytest.mark.parametrize(
    "limits", [{"max_memories": 10}, {"scopes": {"Global": {"max_memories": 10}}}]
)
def test_beyond_a_limit_the_least_valuable_memories_are_archived(
    limits: dict[str, Any], open_store: Open, clock: StoppedClock
) -> None:
    store = open_store(retention="keep_all", **limits)
    for number in range(15):
        clock.now += timedelta(days=1)
        store.remember(
            f"Note {number} about the harbour", id=f"n{number:02}", important=number == 1
        )
    report = run(store, "limit")
    assert [step.memory_id for step in report.steps] == ["n00", "n02", "n03", "n04", "n05"]
    assert "holds 15 current memories, and the limit is 10" in report.steps[0].reason
    assert run(store, "limit").steps == ()


def test_a_limit_spares_what_was_recalled_and_what_has_strong_links(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store(retention="keep_all", max_memories=4)
    for number in range(6):
        clock.now += timedelta(days=1)
        store.remember(f"Note {number} about the harbour", id=f"n{number}", similar=False)
    clock.now += timedelta(days=10)
    store.graph.link("n0", "n5", weight=1.0)
    counter = store._services.usage
    assert counter is not None
    counter.store({"n1": Usage(count=1, last=clock.now)})
    assert [step.memory_id for step in run(store, "limit").steps] == ["n2", "n3"]


@pytest.mark.parametrize("limit", [{"max_memories": 3}, {"max_megabytes": 1}])
def test_topic_summaries_count_for_no_limit(
    limit: dict[str, Any], open_store: Open, clock: StoppedClock
) -> None:
    store = open_store(retention="keep_all", **limit)
    dreamed = {"dreamed": {"level": 1, "by": "quotation"}}
    for number in range(3):
        clock.now += timedelta(days=1)
        store.remember(f"Note {number} " + "harbour " * 40_000, id=f"n{number}")
        store.remember(
            f"Topic {number} " + "harbour " * 40_000,
            kind="summary",
            origin="dream",
            context=dreamed,
        )
    assert run(store, "limit").steps == ()
    clock.now += timedelta(days=1)
    store.remember("Another note " + "harbour " * 40_000)
    assert [step.memory_id for step in run(store, "limit").steps] == ["n0"]


def test_what_a_limit_of_a_scope_archives_counts_for_the_limit_of_the_store(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store(
        retention="keep_all", max_memories=8, scopes={"harbour": {"max_memories": 3}}
    )
    for number in range(10):
        clock.now += timedelta(days=1)
        scope = "harbour" if number >= 5 else "garden"
        store.remember(f"Note {number} about {scope}", id=f"n{number}", scope=scope)
    first = run(store, "limit")
    assert ([step.memory_id for step in first.steps], first.more) == (["n5", "n6"], True)
    assert run(store, "limit").steps == ()


def test_a_limit_in_megabytes_counts_the_texts_of_current_memories(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store(retention="keep_all", max_megabytes=1)
    for number in range(3):
        clock.now += timedelta(days=1)
        store.remember(f"{number} " + "harbour " * 60_000, id=f"n{number}")
    assert [step.memory_id for step in run(store, "limit").steps] == ["n0"]
    assert run(store, "limit").steps == ()


def test_near_duplicates_are_linked_within_their_scope_and_never_merged(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store()
    text = "The ferry to Bergen leaves the harbour at nine"
    for memory_id, scope in (("a", "work"), ("b", "work"), ("c", "home")):
        clock.now += timedelta(hours=2)
        store.remember(text, id=memory_id, scope=scope)
    before = state(store)
    report = run(store, "link-duplicates")
    assert [(step.action, step.memory_id, step.other) for step in report.steps] == [
        (StepAction.LINK, "a", "b")
    ]
    assert report.entry is not None
    (link,) = [step.after for step in store.journal[report.entry].action.links]
    assert link is not None
    assert (link.source, link.target, link.type) == ("b", "a", LinkType.NEAR_DUPLICATE_OF)
    assert run(store, "link-duplicates").steps == ()
    assert state(store) == before
    store.undo(report.entry)


def test_a_topic_summary_is_no_near_duplicate_of_what_it_quotes(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store()
    text = "The ferry to Bergen leaves the harbour at nine"
    store.remember(text, id="told")
    clock.now += timedelta(hours=2)
    dreamed = {"dreamed": {"level": 1, "by": "quotation"}}
    store.remember(text, id="topic", kind="summary", origin="dream", context=dreamed)
    assert run(store, "link-duplicates").steps == ()


def test_a_retired_scope_is_exported_and_then_archived(
    open_store: Open, clock: StoppedClock, tmp_path: Path
) -> None:
    store = open_store(scopes={"old job": {"retired": True}})
    store.remember("The door code is 1234", id="code", scope="old job", kind="fact")
    store.remember("The garden", id="garden")
    dry = run(store, "retire", dry_run=True)
    assert not (tmp_path / "home" / "export").exists()
    report = run(store, "retire")
    assert [step.memory_id for step in report.steps] == [s.memory_id for s in dry.steps] == ["code"]
    (export,) = (tmp_path / "home" / "export").iterdir()
    assert stat.S_IMODE(export.stat().st_mode) == 0o600
    texts = [json.loads(line).get("text") for line in export.read_text("utf-8").splitlines()]
    assert "The door code is 1234" in texts
    assert statuses(store) == {"code": "archived", "garden": "current"}
    assert run(store, "retire").steps == ()
    assert report.entry is not None
    store.undo(report.entry)
    assert statuses(store)["code"] == "current"


def test_what_comes_into_a_retired_scope_after_its_export_is_exported_too(
    open_store: Open, clock: StoppedClock, tmp_path: Path
) -> None:
    store = open_store(retention="keep_all", scopes={"old": {"retired": True}})
    drafts = [{"text": f"Paper {number}", "scope": "old"} for number in range(2 * MAX_CHANGES)]
    store.remember_many(drafts)
    exports = tmp_path / "home" / "export"
    clock.now += timedelta(hours=1)
    assert run(store, "retire").more
    clock.now += timedelta(hours=1)
    store.remember("A late paper", scope="old")
    clock.now += timedelta(hours=1)
    while run(store, "retire").more:
        pass
    assert set(statuses_of(store, "old")) == {"archived"}
    assert len([path for path in exports.iterdir() if "A late paper" in path.read_text()]) == 1
    assert len(list(exports.iterdir())) == 2


def test_a_scope_that_cannot_be_exported_is_not_archived(open_store: Open, tmp_path: Path) -> None:
    store = open_store(scopes={"old": {"retired": True}})
    store.remember("The door code is 1234", scope="old")
    (tmp_path / "home" / "export").write_text("in the way")
    (report,) = store.upkeep.optimize(jobs=["retire"]).jobs
    assert report.failure is not None
    assert "cannot be made" in report.failure
    assert statuses_of(store, "old") == ["current"]


def test_private_scopes_are_left_alone_unless_they_are_switched_on(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store(retention="aggressive")
    store.scopes.create("diary", sensitivity="private")
    store.remember("I slept badly", id="sleep", scope="diary")
    clock.now += YEAR
    assert run(store, "archive").steps == ()
    assert run(open_store(retention="aggressive", scopes={"diary": {"include": False}},
                          private_scopes=True), "archive").steps == ()  # fmt: skip
    (step,) = run(open_store(retention="aggressive", private_scopes=True), "archive").steps
    assert step.memory_id == "sleep"


def test_a_run_changes_a_bounded_number_and_the_next_goes_on(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store()
    store.remember_many({"text": f"Note {n} about nothing"} for n in range(MAX_CHANGES + 200))
    clock.now += 2 * YEAR
    first = run(store, "archive")
    assert first.more
    assert len(first.steps) == MAX_CHANGES
    second = run(store, "archive")
    assert (len(second.steps), second.more) == (200, False)


def test_scheduled_backups_are_made_and_the_outdated_ones_deleted(
    open_store: Open, clock: StoppedClock, tmp_path: Path
) -> None:
    store = open_store(daily_backups=2, weekly_backups=1)
    store.remember("The ferry leaves at ten")
    own = store.backups.create()
    names = []
    for _ in range(4):
        clock.now += timedelta(days=1)
        (made, *_deleted) = run(store, "backup").done
        names.append(made.split()[3])
    kept = {backup.name for backup in store.backups.list()}
    assert kept == {own.name, *names[-2:]}
    assert all("-scheduled" in name for name in names)
    assert run(open_store(daily_backups=0, weekly_backups=0), "backup").done == ()


def test_waiting_texts_are_embedded_and_changes_read_into_the_index(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store()
    store.remember("word " * 20_000)
    assert run(store, "embed", dry_run=True).done == ("Embed 1 memory.",)
    assert run(store, "embed").done == ("Embedded 1 memory.",)
    store.remember("The ferry leaves at ten", similar=False)
    assert run(store, "index").done == ("Read 1 changed memory into the index.",)
    assert run(store, "index").done == ()
    assert run(store, "compact").done == ("Compacted the files of the store.",)


def test_every_job_does_nothing_to_an_empty_store(open_store: Open) -> None:
    store = open_store(daily_backups=0, weekly_backups=0)
    for job in all_jobs.JOBS:
        assert run(store, job.name).steps == ()
    assert store.journal.entries() == []


RULES = st.fixed_dictionaries(
    {},
    optional={
        "retention": st.sampled_from([str(r) for r in Retention]),
        "keep_days": st.integers(1, 900),
        "max_memories": st.integers(1, 20),
        "retired": st.booleans(),
        "include": st.booleans(),
    },
)


@given(
    retention=st.sampled_from([str(r) for r in Retention]),
    rules=st.dictionaries(st.sampled_from(["Global", "work", "diary"]), RULES),
    limit=st.none() | st.integers(1, 20),
    private=st.booleans(),
    days=st.integers(1, 900),
)
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_without_a_rule_that_erases_nothing_is_ever_erased_and_all_of_it_is_undone(
    retention: str,
    rules: dict[str, Any],
    limit: int | None,
    private: bool,
    days: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    clock = StoppedClock(BEGIN)
    upkeep = {
        "retention": retention,
        "scopes": rules,
        "max_memories": limit,
        "private_scopes": private,
        "daily_backups": 0,
        "weekly_backups": 0,
    }
    home = tmp_path_factory.mktemp("home")
    with MemoryStore.open(
        config=Config(home=home, upkeep=upkeep),
        storage=InMemoryStorage(),
        embedder=HashingEmbedder(),
        clock=clock,
    ) as store:
        store.scopes.create("diary", sensitivity="private")
        for scope in ("Global", "work", "diary"):
            tell_talk(store, scope=scope, conversation_id=f"talk-{scope}")
            store.remember("ok", scope=scope, kind="message", id=f"{scope}-ok")
            store.remember(f"The rent of {scope} is 900", scope=scope, kind="fact", id=f"{scope}-f")
        told = {
            m.id: m.text
            for m in store.browse(scope=["Global", "work", "diary"], limit=100).memories
        }
        before = {memory_id: store.get(memory_id).status for memory_id in told}
        for _ in range(3):
            clock.now += timedelta(days=days)
            for report in store.upkeep.optimize().jobs:
                assert report.failure is None
        assert {memory_id: store.get(memory_id).text for memory_id in told} == told
        for entry in [e for e in store.journal if e.action.operation is Operation.UPKEEP]:
            store.undo(entry.number)
        assert {memory_id: store.get(memory_id).status for memory_id in told} == before


@pytest.mark.parametrize("job", [job.name for job in all_jobs.JOBS])
def test_a_dry_run_says_what_the_run_does_and_changes_nothing(
    job: str, open_store: Open, clock: StoppedClock, tmp_path: Path
) -> None:
    rules = {
        "inbox": {"keep_days": 30},
        "screen": {"keep_days": 30, "erase": True},
        "attic": {"retired": True},
        "small": {"max_memories": 1},
    }
    store = open_store(scopes=rules)
    for scope in ("Global", *rules):
        tell_talk(store, scope=scope, conversation_id=f"talk-{scope}")
        store.remember("The ferry leaves at nine every day", scope=scope, id=f"{scope}-first")
        clock.now += timedelta(hours=2)
        store.remember("The ferry leaves at nine every day", scope=scope, id=f"{scope}-again")
    clock.now += 2 * YEAR
    before = (state(store), store.journal.entries(), sorted(tmp_path.rglob("*.jsonl")))
    dry = run(store, job, dry_run=True)
    assert before == (state(store), store.journal.entries(), sorted(tmp_path.rglob("*.jsonl")))
    done = run(store, job)
    assert (done.steps, done.more) == (dry.steps, dry.more)
    assert bool(done.entry) is bool(dry.steps)
    assert bool(dry.steps) is (
        job in {"link-duplicates", "retire", "summarise", "dream", "archive", "limit"}
    )
    if done.entry is not None and job != "archive":
        store.undo(done.entry)
        assert state(store) == before[0]


@pytest.mark.parametrize("scopes", ["*", "Global"])
def test_a_handle_that_may_only_read_says_what_would_be_done_and_refuses_to_do_it(
    scopes: str, open_store: Open, clock: StoppedClock
) -> None:
    store = open_store()
    store.remember("The heron fishes at the pond", id="heron")
    clock.now += 2 * YEAR
    with store.confine(scopes=scopes, read_only=True) as handle:
        assert [step.memory_id for step in run(handle, "archive", dry_run=True).steps] == ["heron"]
        with pytest.raises(ReadOnly, match="for reading only: nothing was changed"):
            handle.upkeep.optimize()
    assert statuses(store) == {"heron": "current"}


def test_a_job_that_is_told_to_stop_is_still_due_and_a_limit_archives_no_wrong_memory(
    open_store: Open, clock: StoppedClock
) -> None:
    store = open_store(retention="keep_all", max_memories=1)
    for number in range(3):
        store.remember(f"Note {number} about the harbour")
    services = store._services
    stopped = JobContext(services, notes=read_notes(services), stop=lambda: True)
    for job in all_jobs.JOBS:
        run_job(job, stopped, dry_run=False)
    assert set(statuses(store).values()) == {"current"}
    assert [last_run(read_notes(services), job.name) for job in all_jobs.JOBS] == [None] * len(
        all_jobs.JOBS
    )
    assert len(run(store, "limit").steps) == 2


def test_a_job_that_does_not_exist_is_refused_with_the_nearest(open_store: Open) -> None:
    with pytest.raises(InvalidInput, match="there is no job 'archiv': the nearest is 'archive'"):
        open_store().upkeep.optimize(jobs=["archiv"])
