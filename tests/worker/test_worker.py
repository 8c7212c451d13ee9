"""The worker: it holds the lease, runs what is due, makes way, and survives what fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.errors import AccessDenied, InvalidInput, NotFound
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.entry import Operation
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan
from infinite_memory.features.background.upkeep.report import JobReport
from infinite_memory.features.background.worker.worker import Pace, Worker
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract.base import make_memory

NOON = datetime(2026, 6, 5, 12, tzinfo=UTC)
QUICK = Pace(first=0, look=0.01, more=0.01, renew=0.01)
PATIENT = Pace(first=0, look=0.01, renew=0.01, make_way=60)
LONG = 60.0


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


def opened(target: object = "memory://", **others: Any) -> MemoryStore:
    return MemoryStore.open(target, embedder=HashingEmbedder(), **others)  # type: ignore[arg-type]


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def store(time: Time) -> Iterator[MemoryStore]:
    with opened(clock=time) as store:
        yield store


def job(name: str, plan: Callable[[JobContext], Plan], *, hours: float = 1) -> Job:
    return Job(name=name, summary=f"Do {name}.", every=timedelta(hours=hours), plan=plan)


def telling(name: str, said: list[str]) -> Job:
    """Return a job that says its name at each run."""

    def say() -> list[str]:
        said.append(name)
        return [f"Did {name}."]

    return job(name, lambda _: Plan(work=say))


def worker(store: MemoryStore, *jobs: Job, stop: threading.Event | None = None) -> Worker:
    return Worker(store._services, stop or threading.Event(), jobs=jobs, pace=QUICK)


@contextmanager
def working(
    store: MemoryStore, *jobs: Job, pace: Pace = QUICK
) -> Iterator[tuple[threading.Thread, list[JobReport]]]:
    """Run a worker in a thread for the duration of the block."""
    stop, reports = threading.Event(), list[JobReport]()
    found = Worker(store._services, stop, jobs=jobs, pace=pace, on_report=reports.append)
    thread = threading.Thread(target=found.run)
    thread.start()
    try:
        yield thread, reports
    finally:
        stop.set()
        thread.join()


def storing(memory_id: str) -> Job:
    """Return a job that stores a memory."""

    def plan(context: JobContext) -> Plan:
        memory = make_memory(memory_id)
        if context.services.storage.get([memory_id]):
            return Plan()
        return Plan(commit=Commit(puts=(Put(memory=memory, expected=0),)))

    return job("store", plan)


def test_the_worker_runs_what_is_due_once(store: MemoryStore, time: Time) -> None:
    said: list[str] = []
    found = worker(store, telling("a", said), telling("b", said))
    assert [report.done for report in found.run_once() or ()] == [("Did a.",), ("Did b.",)]
    assert found.run_once() == []
    time.now += timedelta(hours=1)
    assert len(found.run_once() or ()) == 2
    assert said == ["a", "b", "a", "b"]


def test_after_a_sleep_and_after_a_jump_of_the_clock_a_job_runs_once(
    store: MemoryStore, time: Time
) -> None:
    said: list[str] = []
    found = worker(store, telling("a", said))
    for moment in (
        NOON,
        NOON + timedelta(days=90),
        datetime(2001, 1, 1, tzinfo=UTC),
        datetime(2999, 1, 1, tzinfo=UTC),
        NOON,
    ):
        time.now = moment
        assert len(found.run_once() or ()) == 1
        assert found.run_once() == []
    assert said == ["a"] * 5


def test_a_worker_in_a_thread_runs_jobs_again_until_it_is_stopped(store: MemoryStore) -> None:
    again = threading.Event()
    turns: list[int] = []

    def plan(_: JobContext) -> Plan:
        turns.append(1)
        if len(turns) == 5:
            again.set()
        return Plan(more=True)

    with working(store, job("a", plan)) as (thread, _):
        assert again.wait(LONG)
        assert thread.is_alive()
        assert store.health().worker is not None
    assert not thread.is_alive()
    assert store.health().worker is None


def test_a_second_worker_waits_until_the_first_is_stopped(store: MemoryStore) -> None:
    said: list[str] = []
    told = threading.Event()

    def plan(_: JobContext) -> Plan:
        told.set()
        return Plan()

    with working(store, job("idle", plan)):
        assert told.wait(LONG)
        assert worker(store, telling("late", said)).run_once() is None
        assert store.upkeep.work_once() is None
    assert said == []
    assert worker(store, telling("late", said)).run_once() is not None
    assert said == ["late"]


def test_a_waiting_worker_takes_over(store: MemoryStore) -> None:
    began, taken = threading.Event(), threading.Event()

    def noting(event: threading.Event) -> Job:
        def plan(_: JobContext) -> Plan:
            event.set()
            return Plan(more=True)

        return job("a", plan)

    with ExitStack() as second:
        with working(store, noting(began)):
            assert began.wait(LONG)
            second.enter_context(working(store, noting(taken)))
            assert not taken.is_set()
        assert taken.wait(LONG)


def test_an_undo_of_the_last_change_takes_what_a_person_did(store: MemoryStore) -> None:
    told = store.remember("Alice's birthday is January 20")
    reports = worker(store, storing("by-the-worker")).run_once()
    assert reports is not None
    entry = store.journal[reports[0].entry or 0]
    assert entry.action.operation is Operation.UPKEEP
    assert entry.action.actor.client == "worker"
    assert entry.action.actor.machine == store._services.actor.machine
    for last_of in ("process", "machine"):
        assert store.undo(last_of=last_of, dry_run=True).memories == (told.id,)
    store.undo()
    with pytest.raises(NotFound):
        store.undo()
    assert store.undo(entry.number).memories == ("by-the-worker",)


def test_a_job_that_raises_waits_and_the_others_go_on(store: MemoryStore) -> None:
    said: list[str] = []

    def plan(_: JobContext) -> Plan:
        raise RuntimeError("a plug-in has failed")

    found = worker(store, job("bad", plan), telling("good", said))
    reports = found.run_once() or []
    assert [report.failure for report in reports] == ["RuntimeError: a plug-in has failed", None]
    assert said == ["good"]
    # The job is due, but waits for longer and longer.
    assert found.run_once() == []
    assert store.upkeep.work_once() is not None


def test_a_store_that_cannot_be_used_is_tried_again(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        told = threading.Event()

        def plan(_: JobContext) -> Plan:
            told.set()
            return Plan()

        (tmp_path / "store.upkeep").mkdir()
        with working(store, job("a", plan)) as (thread, _):
            thread.join(0.2)
            assert thread.is_alive()
            (tmp_path / "store.upkeep").rmdir()
            assert told.wait(LONG)


def test_a_worker_ends_when_its_store_is_closed(tmp_path: Path) -> None:
    for target in ("memory://", tmp_path):
        store = opened(target)
        with working(store) as (thread, _):
            store.close()
            thread.join(LONG)
            assert not thread.is_alive()


def test_closing_a_store_waits_for_the_job_under_way(store: MemoryStore) -> None:
    began, closed = threading.Event(), threading.Event()
    order: list[str] = []

    def plan(_: JobContext) -> Plan:
        began.set()
        closed.wait(0.1)
        order.append("job")
        return Plan()

    with working(store, job("a", plan)):
        assert began.wait(LONG)
        store.close()
        order.append("closed")
    assert order == ["job", "closed"]


def test_a_job_makes_way_for_a_call_that_is_under_way(store: MemoryStore) -> None:
    order: list[str] = []
    started = threading.Event()
    told = threading.Event()

    def plan(context: JobContext) -> Plan:
        assert not context.stop()
        order.append("job")
        told.set()
        return Plan()

    def drafts() -> Iterator[dict[str, str]]:
        started.set()
        for number in range(400):
            yield {"text": f"memory number {number}"}
        order.append("call")

    call = threading.Thread(target=lambda: store.remember_many(drafts()))
    call.start()
    assert started.wait(LONG)
    with working(store, job("a", plan), pace=PATIENT):
        assert told.wait(LONG)
    call.join()
    assert order == ["call", "job"]


def test_a_job_is_not_starved_by_calls_without_an_end(store: MemoryStore) -> None:
    done = threading.Event()
    told = threading.Event()

    def plan(context: JobContext) -> Plan:
        assert not context.stop()
        told.set()
        return Plan()

    def drafts() -> Iterator[dict[str, str]]:
        yield {"text": "the first"}
        assert done.wait(LONG)

    call = threading.Thread(target=lambda: store.remember_many(drafts()))
    call.start()
    with working(store, job("a", plan)):
        assert told.wait(LONG)
    done.set()
    call.join()


def test_a_job_is_told_to_stop(store: MemoryStore) -> None:
    began = threading.Event()

    def plan(context: JobContext) -> Plan:
        began.set()
        while not context.stop():
            pass
        return Plan(more=True)

    with working(store, job("a", plan)) as (thread, _):
        assert began.wait(LONG)
    assert not thread.is_alive()


def test_a_worker_that_lost_its_lease_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        inner = storing("late")

        def plan(context: JobContext) -> Plan:
            # As after a disk that was full.
            (tmp_path / "store.upkeep").write_bytes(b"not JSON")
            return inner.plan(context)

        reports = worker(store, job("a", plan)).run_once()
        assert reports is not None
        assert "of the worker was lost, and nothing was stored" in (reports[0].failure or "")
        assert store.stats().memories == 0
        after = worker(store, inner).run_once()
        assert after is not None
        assert after[0].failure is None


def test_a_handle_of_some_scopes_and_one_to_read_do_no_upkeep(store: MemoryStore) -> None:
    stop = threading.Event()
    for narrow in (store.confine(scopes=["Global"]), store.confine(scopes="*", read_only=True)):
        with pytest.raises(AccessDenied, match="open it without scopes"):
            narrow.upkeep.work(stop)
        with pytest.raises(AccessDenied):
            narrow.upkeep.work_once()


class PlainStorage:
    """A storage that was plugged in, without a lease."""

    def __init__(self) -> None:
        self._inner = InMemoryStorage()

    def __getattr__(self, name: str) -> Any:
        if "lease" in name or "upkeep" in name:
            raise AttributeError(name)
        return getattr(self._inner, name)


def test_a_storage_without_a_lease_is_kept_by_hand() -> None:
    with opened(storage=PlainStorage()) as store:
        with pytest.raises(InvalidInput, match=r"store\.upkeep\.optimize"):
            store.upkeep.work_once()
        assert store.upkeep.optimize(jobs=["embed"]).jobs[0].failure is None


def test_what_a_run_did_is_reported_as_it_is_done(store: MemoryStore) -> None:
    reports: list[JobReport] = []
    store.upkeep.work_once(on_report=reports.append)
    assert all(report.done or report.steps for report in reports)


def test_what_a_run_did_is_a_sentence_in_the_log(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "infinite_memory"):
        worker(store, telling("backup", [])).run_once()
    assert "the job backup: Did backup." in caplog.messages
