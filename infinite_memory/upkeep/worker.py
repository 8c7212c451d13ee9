"""The worker: runs the jobs that are due, in one process of all that have the store open."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from zoneinfo import ZoneInfo

from attrs import evolve

from infinite_memory.errors import InfiniteMemoryError, StorageError, StoreClosed
from infinite_memory.model.entry import Actor
from infinite_memory.operations.services import Services
from infinite_memory.protocols import Lease, SupportsLease
from infinite_memory.upkeep.context import JobContext
from infinite_memory.upkeep.notes import read_notes
from infinite_memory.upkeep.optimize import available_jobs
from infinite_memory.upkeep.report import JobReport
from infinite_memory.upkeep.run import run_job
from infinite_memory.upkeep.schedule import due_jobs, is_quiet

__all__ = ["WORKER", "OnReport", "Worker"]

WORKER = "worker"
"""The client that the journal names for what the worker does."""

OnReport = Callable[[JobReport], None]
"""Called with the report of each run that did something or was given up."""

_log = logging.getLogger(__name__)
_FIRST_SECONDS = 5.0
_LOOK_SECONDS = 60.0
# A lease on a server lasts for 12 s: whoever waits for it looks often enough to have it within 15.
_RENEW_SECONDS = 3.0
_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 1.0
_NICENESS = 10


class Worker:
    """Runs due jobs while it holds the lease of the store. Used by one thread."""

    def __init__(
        self,
        services: Services,
        stop: threading.Event,
        *,
        on_report: OnReport | None = None,
        first_seconds: float = _FIRST_SECONDS,
    ) -> None:
        """Work on the store of `services` until `stop` is set.

        The first look at the jobs comes `first_seconds` after the lease is held.
        """
        self._services = evolve(services, actor=_worker_of(services.actor))
        self._stop = stop
        self._on_report = on_report
        self._first_seconds = first_seconds

    def run(self) -> None:
        """Wait for the lease, then look for due jobs once a minute, until `stop` is set.

        An error of the store is logged, and the worker tries again.
        """
        _lower_priority()
        while not self._stop.is_set():
            try:
                with self._lease() as lost:
                    if lost is not None:
                        self._work(lost)
            except StoreClosed:
                return
            except StorageError as error:
                _log.warning("the upkeep waits, since the store cannot be used: %s", error)
            self._stop.wait(_RENEW_SECONDS)

    def run_once(self) -> list[JobReport] | None:
        """Run what is due once; return the reports, None if another process holds the lease.

        Raises:
            StorageError: the store cannot be used.
        """
        with self._lease() as lost:
            return None if lost is None else list(self._run_due(lost))

    def _work(self, lost: _Lost) -> None:
        """Run due jobs until the lease is lost or `stop` is set."""
        pause = self._first_seconds
        while not self._stop.wait(min(pause, _RENEW_SECONDS)) and not lost.is_set():
            pause -= _RENEW_SECONDS
            if pause <= 0:
                for _ in self._run_due(lost):
                    pass
                pause = _LOOK_SECONDS

    def _run_due(self, lost: _Lost) -> Iterator[JobReport]:
        services = self._services
        settings = services.config.upkeep
        zone = services.config.time_zone
        quiet = is_quiet(
            services.clock(), None if zone is None else ZoneInfo(zone), settings.quiet_hour
        )
        notes = read_notes(services)
        for job in due_jobs(available_jobs(services), notes, services.clock(), quiet=quiet):
            if self._should_stop(lost):
                return
            context = JobContext(
                services,
                notes=read_notes(services),
                stop=lambda: self._should_stop(lost),
                lease=lost.number,
            )
            report = run_job(job, context, dry_run=False)
            if report.steps or report.done or report.failure:
                if self._on_report is not None:
                    self._on_report(report)
                _log.info("%s", _describe(report))
            yield report

    def _should_stop(self, lost: _Lost) -> bool:
        """Return whether to end; wait for calls of people first, a second at most."""
        deadline = time.monotonic() + _LONGEST_PAUSE_SECONDS
        while self._services.recorder.is_busy and time.monotonic() < deadline:
            if self._stop.wait(_PAUSE_SECONDS):
                break
        return self._stop.is_set() or lost.is_set()

    @contextmanager
    def _lease(self) -> Iterator[_Lost | None]:
        """Hold the lease, and renew it; yield None if somebody else holds it.

        Raises:
            StorageError: the store cannot be used.
        """
        storage = self._services.storage
        lease = (
            storage.try_lease(_describe_holder(self._services.actor))
            if isinstance(storage, SupportsLease)
            else None
        )
        if lease is None:
            yield None
            return
        lost = _Lost(lease.number)
        ended = threading.Event()
        beat = threading.Thread(
            target=_renew, args=(lease, lost, ended), name="upkeep-lease", daemon=True
        )
        beat.start()
        try:
            yield lost
        finally:
            ended.set()
            beat.join()
            _release(lease)


class _Lost(threading.Event):
    """Set when the lease with this number is lost."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def _renew(lease: Lease, lost: _Lost, ended: threading.Event) -> None:
    """Renew a lease every few seconds; a job may take longer than a lease lasts."""
    while not ended.wait(_RENEW_SECONDS):
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


def _release(lease: Lease) -> None:
    try:
        lease.release()
    except InfiniteMemoryError as error:
        _log.debug("the lease of the upkeep ends by itself: %s", error)


def _worker_of(actor: Actor) -> Actor:
    """Return an actor of its own, so that an undo of the last change is never one of the upkeep."""
    process = f"{actor.machine} {os.getpid()}-{os.urandom(4).hex()}"
    return Actor(client=WORKER, process=process)


def _describe_holder(actor: Actor) -> str:
    return f"process {os.getpid()} on {actor.machine}"


def _describe(report: JobReport) -> str:
    parts = [f"the job {report.job}"]
    if report.failure is not None:
        parts.append(f"was given up: {report.failure}")
    if report.steps:
        parts.append(f"changed {len(report.steps):,}, entry {report.entry}")
    return " ".join([*parts, *report.done])


def _lower_priority() -> None:
    """Let this thread run when nothing else wants to; only Linux has priorities of threads."""
    if sys.platform == "linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        except OSError as error:
            _log.debug("the upkeep runs at the usual priority: %s", error)
