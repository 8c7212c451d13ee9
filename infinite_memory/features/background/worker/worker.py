"""The worker: runs the jobs that are due, in a single process of all that have the store open."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from attrs import evolve, frozen

from infinite_memory.core.clock import find_zone
from infinite_memory.core.errors import (
    AccessDenied,
    InfiniteMemoryError,
    InvalidInput,
    StorageError,
    StoreClosed,
)
from infinite_memory.core.protocols import Lease, SupportsLease
from infinite_memory.core.values.entry import Actor
from infinite_memory.engine.services import Services
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job
from infinite_memory.features.background.upkeep.notes import read_notes, write_notes
from infinite_memory.features.background.upkeep.report import JobReport
from infinite_memory.features.background.worker.optimize import may_work, scheduled_jobs
from infinite_memory.features.background.worker.run import run_job
from infinite_memory.features.background.worker.schedule import due_jobs, is_quiet, notes_of_waiting

WORKER = "worker"
"""The client that the journal names for what the worker does."""

OnReport = Callable[[JobReport], None]
"""Called with the report of each run that did something or was given up."""

_log = logging.getLogger(__name__)
_LONGEST_WAIT_SECONDS = 3600.0
_STEP_SECONDS = 0.02
_NICENESS = 10
_MOST_DOUBLINGS = 20


@frozen(kw_only=True)
class Pace:
    """How often the worker looks, in seconds.

    `first` is the time from the lease to the first look, `look` that between two looks, and `more`
    that after a run that was bounded and has more to do. Every `renew` seconds the holder renews
    the lease, and others try to get it: a lease on a server lasts for 12 s, and is to be had within
    15. `make_way` is the longest time that a job waits at a step for calls of people.
    """

    first: float = 5.0
    look: float = 60.0
    more: float = 5.0
    renew: float = 3.0
    make_way: float = 1.0


_PACE = Pace()


class Worker:
    """Runs due jobs while it holds the lease of the store. Used by one thread."""

    def __init__(
        self,
        services: Services,
        stop: threading.Event,
        *,
        on_report: OnReport | None = None,
        jobs: Sequence[Job] | None = None,
        pace: Pace = _PACE,
    ) -> None:
        """Work on the store of `services` until `stop` is set; `jobs` are by default all.

        Raises:
            AccessDenied: the handle does not show the whole store, or may only read.
            InvalidInput: the storage, which was plugged in, gives no lease.
        """
        if not may_work(services):
            raise AccessDenied(
                "the upkeep works on the whole store, and this store was opened for some scopes or"
                " for reading only: open it without scopes"
            )
        if not isinstance(services.storage, SupportsLease):
            raise InvalidInput(
                "this storage has no lease, so nothing is done in the background: call"
                " store.upkeep.optimize() now and then"
            )
        self._storage: SupportsLease = services.storage
        self._services = evolve(services, actor=_make_worker_actor(services.actor))
        self._stop = stop
        self._on_report = on_report
        self._jobs = scheduled_jobs(services) if jobs is None else jobs
        self._pace = pace
        self._failures: dict[str, _Failures] = {}

    def run(self) -> None:
        """Wait for the lease, then look for due jobs once a minute, until `stop` is set.

        An error of the store is logged, and the worker tries again.
        """
        _lower_priority()
        while not self._stop.is_set():
            try:
                self._services.calls.check()
                with self._hold_lease() as lost:
                    if lost is not None:
                        self._run_due_jobs(lost)
            except StoreClosed:
                return
            except StorageError as error:
                _log.warning("the upkeep waits, since the store cannot be used: %s", error)
            self._stop.wait(self._pace.renew)

    def run_once(self) -> list[JobReport] | None:
        """Run what is due once; return the reports, None if another process holds the lease.

        Raises:
            StorageError: the store cannot be used.
        """
        with self._hold_lease() as lost:
            return None if lost is None else list(self._run_due(lost))

    def _run_due_jobs(self, lost: _Lost) -> None:
        """Run due jobs until the lease is lost or `stop` is set."""
        pace = self._pace
        pause = pace.first
        while not self._stop.wait(min(pause, pace.renew)) and not lost.is_set():
            self._services.calls.check()
            pause -= pace.renew
            if pause <= 0:
                reports = list(self._run_due(lost))
                has_more = any(report.more for report in reports)
                pause = pace.more if has_more else pace.look

    def _run_due(self, lost: _Lost) -> Iterator[JobReport]:
        services = self._services
        now, notes = services.clock(), read_notes(services)
        if waiting := notes_of_waiting(self._jobs, notes, now):
            write_notes(services, waiting)
        for job in due_jobs(self._jobs, notes, now, quiet=self._is_quiet(now)):
            if self._should_stop(lost):
                return
            if not self._waits_after_failure(job):
                yield self._run_job(job, lost)

    def _is_quiet(self, now: datetime) -> bool:
        config = self._services.config
        zone = None if config.time_zone is None else find_zone(config.time_zone)
        return is_quiet(now, zone, config.upkeep.quiet_hour)

    def _run_job(self, job: Job, lost: _Lost) -> JobReport:
        """Run a job as a call of the store, so that closing the store waits for it."""
        services = self._services
        with services.calls.running():
            context = JobContext(
                services,
                notes=read_notes(services),
                stop=lambda: self._should_stop(lost),
                lease=lost.number,
            )
            try:
                report = run_job(job, context, dry_run=False)
            # A job may call a plug-in of the user, which can raise anything.
            except Exception as error:  # noqa: BLE001 -- the boundary to a plug-in, see above
                _log.exception("the job %s failed", job.name)
                report = JobReport(job=job.name, failure=f"{type(error).__name__}: {error}")
        self._note_outcome(report)
        if report.steps or report.done or report.failure:
            level = logging.INFO if report.failure is None else logging.WARNING
            _log.log(level, "%s", _describe_report(report))
            if self._on_report is not None:
                self._on_report(report)
        return report

    def _note_outcome(self, report: JobReport) -> None:
        """Let a job that fails again and again wait for longer and longer."""
        if report.failure is None:
            self._failures.pop(report.job, None)
            return
        before = self._failures.get(report.job)
        number = 1 if before is None else before.number + 1
        doubled = self._pace.look * 2.0 ** min(number, _MOST_DOUBLINGS)
        wait = min(doubled, _LONGEST_WAIT_SECONDS)
        self._failures[report.job] = _Failures(number, time.monotonic() + wait)

    def _waits_after_failure(self, job: Job) -> bool:
        failures = self._failures.get(job.name)
        return failures is not None and time.monotonic() < failures.until

    def _should_stop(self, lost: _Lost) -> bool:
        """Return whether to end; wait for calls of people first, a second at most."""
        deadline = time.monotonic() + self._pace.make_way
        while self._services.recorder.is_busy and time.monotonic() < deadline:
            if self._stop.wait(_STEP_SECONDS):
                break
        return self._stop.is_set() or lost.is_set()

    @contextmanager
    def _hold_lease(self) -> Iterator[_Lost | None]:
        """Hold the lease, and renew it; yield None if somebody else holds it.

        Raises:
            StorageError: the store cannot be used.
        """
        lease = self._storage.try_lease(_describe_holder(self._services.actor))
        if lease is None:
            yield None
            return
        lost = _Lost(lease.number)
        ended = threading.Event()
        arguments = (lease, lost, ended, self._pace.renew)
        beat = threading.Thread(
            target=_renew_lease, args=arguments, name="upkeep-lease", daemon=True
        )
        beat.start()
        try:
            yield lost
        finally:
            ended.set()
            beat.join()
            _release_lease(lease)


class _Failures(NamedTuple):
    """How often a job failed in a row, and the monotonic time in seconds until which it waits."""

    number: int
    until: float


class _Lost(threading.Event):
    """Set when the lease with this number is lost."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def _renew_lease(lease: Lease, lost: _Lost, ended: threading.Event, seconds: float) -> None:
    """Renew a lease every few seconds; a job may take longer than a lease lasts."""
    while not ended.wait(seconds):
        try:
            if not lease.renew():
                lost.set()
                return
        except StoreClosed:
            lost.set()
            return
        except StorageError as error:
            # If it was lost meanwhile, every commit of this worker is refused.
            _log.debug("the lease of the upkeep could not be renewed: %s", error)


def _release_lease(lease: Lease) -> None:
    try:
        lease.release()
    except InfiniteMemoryError as error:
        _log.debug("the lease of the upkeep ends by itself: %s", error)


def _make_worker_actor(actor: Actor) -> Actor:
    """Return a separate actor, so that an undo of the last change never reverses the upkeep."""
    process = f"{actor.machine} {os.getpid()}-{os.urandom(4).hex()}"
    return Actor(client=WORKER, process=process)


def _describe_holder(actor: Actor) -> str:
    return f"process {os.getpid()} on {actor.machine}"


def _describe_report(report: JobReport) -> str:
    parts = [f"the job {report.job}"]
    if report.failure is not None:
        parts.append(f"was given up: {report.failure}")
    if report.steps:
        parts.append(f"changed {len(report.steps):,}, entry {report.entry}")
    return ": ".join(filter(None, (" ".join(parts), " ".join(report.done))))


def _lower_priority() -> None:
    """Let this thread run when nothing else wants to; only Linux has priorities of threads."""
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        except OSError as error:
            _log.debug("the upkeep runs at the usual priority: %s", error)
