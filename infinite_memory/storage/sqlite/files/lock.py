"""The lock of the writers of a store: fair between threads, and a file lock between processes."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.files.locks import FileLock


class WriterBusy(StorageUnavailable):
    """A different writer did not release the lock in time."""


class FairLock:
    """A lock between threads, which get it in the order in which they request it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._holder: threading.Lock | None = None

    def acquire(self, timeout_seconds: float) -> bool:
        """Wait for the lock for at most `timeout_seconds`; return whether it is held."""
        gate = threading.Lock()
        gate.acquire()
        try:
            with self._guard:
                if self._holder is None:
                    self._holder = gate
                    return True
                self._waiting.append(gate)
            if gate.acquire(timeout=timeout_seconds):
                return True
            # `release` may hand it over at the very end of the wait.
            return not self._leave_queue(gate)
        except BaseException:  # interrupted, as by Ctrl-C: nobody would ever release the lock
            if not self._leave_queue(gate) and self._holder is gate:
                self.release()
            raise

    def _leave_queue(self, gate: threading.Lock) -> bool:
        """Give up waiting; return whether the gate was still in the queue."""
        with self._guard:
            if gate in self._waiting:
                self._waiting.remove(gate)
                return True
        return False

    def release(self) -> None:
        """Hand the lock to the thread that has waited longest."""
        with self._guard:
            self._holder = self._waiting.popleft() if self._waiting else None
            if self._holder is not None:
                self._holder.release()


class WriterLock:
    """Excludes all further writers of the store, in this process and in every process."""

    def __init__(self, path: Path, *, timeout_seconds: float) -> None:
        self.path = path
        self._timeout_seconds = timeout_seconds
        self._threads = FairLock()

    @contextmanager
    def hold(self, seconds: float | None = None) -> Iterator[None]:
        """Hold the lock for the length of a block.

        `seconds` is the longest wait for the lock; None takes the timeout of this object.

        Raises:
            WriterBusy: the lock was not free in time.
            StorageUnavailable: the lock file cannot be opened.
        """
        seconds = self._timeout_seconds if seconds is None else seconds
        deadline = time.monotonic() + seconds
        with self.hold_in_thread(seconds):
            lock = FileLock(self.path)
            if not lock.acquire(deadline - time.monotonic()):
                raise self._make_busy_error(seconds)
            try:
                yield
            finally:
                lock.release()

    @contextmanager
    def hold_within(self, seconds: float) -> Iterator[bool]:
        """Hold the lock if it is free within `seconds`; yield whether it is held.

        Raises:
            StorageUnavailable: the lock file cannot be opened.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(self.hold(seconds))
                held = True
            except WriterBusy:
                held = False
            yield held

    @contextmanager
    def hold_in_thread(self, seconds: float) -> Iterator[None]:
        """Exclude all threads that share this object, but no different process.

        Raises:
            WriterBusy: a thread held the lock for all of `seconds`.
        """
        if not self._threads.acquire(seconds):
            raise self._make_busy_error(seconds)
        try:
            yield
        finally:
            self._threads.release()

    def _make_busy_error(self, seconds: float) -> WriterBusy:
        return WriterBusy(
            f"another writer has held {self.path} for {seconds:g} s: look for a "
            "process that is stopped or hangs, end it, and try again; nothing was stored"
        )
