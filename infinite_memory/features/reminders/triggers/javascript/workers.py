"""The child processes of an evaluator, each used by one call at a time."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from datetime import datetime

from infinite_memory.core.errors import ConfigurationError
from infinite_memory.features.reminders.triggers.javascript.worker import (
    Worker,
    WorkerEnded,
    WorkerLate,
)

CLOSED = "the store is closed"
NO_START = (
    "the process for conditions in JavaScript does not start: run `python -m pip check` to see"
    " whether the installation is complete"
)
_PATIENCE_SECONDS = 0.05
"""How long a call waits for the process of another before it starts its own."""
_MOST_IDLE = 4


class Workers:
    """Child processes, given to one call at a time. Every method may be called from any thread.

    No lock is held while a process starts, is waited for, or is asked: the conditions of one caller
    do not delay those of another.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._changed = threading.Condition()
        self._idle: list[Worker] = []
        self._used: set[Worker] = set()
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    def take(self, now: datetime, *, in_any_zone: bool = False) -> Worker:
        """Return a process whose local time is that of `now`, or any other, ready to be asked.

        Raises:
            ConfigurationError: none can be started.
        """
        worker = self._take_idle(now, in_any_zone=in_any_zone) or self._start(now)
        try:
            worker.wait_ready()
        except (WorkerEnded, WorkerLate) as error:
            self.end(worker)
            raise ConfigurationError(CLOSED if self._is_closed else NO_START) from error
        except BaseException:
            self.end(worker)
            raise
        return worker

    def give_back(self, worker: Worker) -> None:
        """Take back a process that has answered all it was asked."""
        with self._changed:
            is_kept = worker in self._used and len(self._idle) < _MOST_IDLE
            if is_kept:
                self._used.remove(worker)
                self._idle.append(worker)
                self._changed.notify()
        if not is_kept:
            self.end(worker)

    def end(self, worker: Worker) -> int:
        """End a process at once, and return its exit code."""
        code = worker.end()
        with self._changed:
            self._used.discard(worker)
            self._changed.notify()
        return code

    def start_ahead(self, now: datetime) -> None:
        """Start a process if none is free, so that the next call need not wait for its start."""
        if not self._idle:
            # What fails here, the next call says.
            with suppress(ConfigurationError):
                self.give_back(self._start(now))

    def close(self) -> None:
        """End every process, also those that are being asked."""
        with self._changed:
            self._is_closed = True
            workers = [*self._idle, *self._used]
            self._idle.clear()
            self._used.clear()
            self._changed.notify_all()
        for worker in workers:
            worker.end()

    def cross_fork(self) -> None:
        """Leave the processes to the parent of a fork; this child starts its own if need be."""
        workers = [*self._idle, *self._used]
        # Another thread of the parent may have held the lock.
        self._changed = threading.Condition()
        self._idle, self._used = [], set()
        for worker in workers:
            worker.forget()

    def _take_idle(self, now: datetime, *, in_any_zone: bool) -> Worker | None:
        """Return a process that is free now or within a moment, None without one."""
        with self._changed:
            if self._used and not self._idle:
                self._changed.wait(_PATIENCE_SECONDS)
            fitting = [worker for worker in self._idle if in_any_zone or worker.has_zone_of(now)]
            stale = [] if fitting else self._idle[:1]
            for worker in (*fitting[-1:], *stale):
                self._idle.remove(worker)
            self._used.update(fitting[-1:])
        for worker in stale:
            worker.end()
        return fitting[-1] if fitting else None

    def _start(self, now: datetime) -> Worker:
        # A program that was frozen into a file would start itself.
        if not sys.executable or getattr(sys, "frozen", False):
            raise ConfigurationError(
                "conditions in JavaScript run in a process of their own, and this program has no"
                " Python interpreter to start: write them as rules"
            )
        if self.is_closed:
            raise ConfigurationError(CLOSED)
        try:
            worker = Worker(now)
        except OSError as error:
            raise ConfigurationError(
                f"the process for conditions in JavaScript cannot be started: {error}"
            ) from error
        with self._changed:
            is_closed = self._is_closed
            if not is_closed:
                self._used.add(worker)
        if is_closed:
            worker.end()
            raise ConfigurationError(CLOSED)
        return worker
