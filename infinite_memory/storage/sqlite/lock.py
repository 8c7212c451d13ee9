"""The one lock of the writers: fair between threads, and a file lock between processes."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from infinite_memory.errors import StorageUnavailable

if sys.platform == "win32":  # pragma: no cover
    import msvcrt
else:
    import fcntl

__all__ = ["FairLock", "WriterBusy", "WriterLock"]

_held_files: set[int] = set()


class WriterBusy(StorageUnavailable):
    """Another writer did not let go of the lock in time."""


class FairLock:
    """A lock of threads that is given in the order in which it was asked for."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._holder: threading.Lock | None = None

    def acquire(self, timeout_seconds: float) -> bool:
        """Wait for the lock at most so long; tell whether it was given."""
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
            return not self._leave(gate)  # it may be handed over at the very end of the wait
        except BaseException:  # interrupted, as by Ctrl-C: nobody would ever give it back
            if not self._leave(gate) and self._holder is gate:
                self.release()
            raise

    def _leave(self, gate: threading.Lock) -> bool:
        """Give up waiting; tell whether it was still waited."""
        with self._guard:
            if gate in self._waiting:
                self._waiting.remove(gate)
                return True
        return False

    def release(self) -> None:
        """Hand the lock to whoever has waited longest."""
        with self._guard:
            self._holder = self._waiting.popleft() if self._waiting else None
            if self._holder is not None:
                self._holder.release()


class WriterLock:
    """Excludes every other writer of the store, in this process and in others.

    The file is of its own, never the database, since closing any descriptor of a database file
    would drop the locks that SQLite holds on it.
    """

    def __init__(self, path: Path, *, timeout_seconds: float) -> None:
        self.path = path
        self._timeout_seconds = timeout_seconds
        self._threads = FairLock()

    @contextmanager
    def held(self, seconds: float | None = None) -> Iterator[None]:
        """Hold the lock for the length of a block; wait for it for `seconds`, None for the usual.

        Raises:
            WriterBusy: it was not free in time.
            StorageUnavailable: its file cannot be opened.
        """
        seconds = self._timeout_seconds if seconds is None else seconds
        deadline = time.monotonic() + seconds
        with self.held_by_thread(seconds):
            descriptor = self._acquire_file(deadline, seconds)
            try:
                yield
            finally:
                _release(descriptor)

    @contextmanager
    def held_within(self, seconds: float) -> Iterator[bool]:
        """Hold the lock if it is free within `seconds`; tell the block whether it is held.

        Raises:
            StorageUnavailable: its file cannot be opened.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(self.held(seconds))
                held = True
            except WriterBusy:
                held = False
            yield held

    @contextmanager
    def held_by_thread(self, seconds: float) -> Iterator[None]:
        """Exclude the other threads of this process that use this lock, and no other process.

        Raises:
            WriterBusy: one of them held it for that long.
        """
        if not self._threads.acquire(seconds):
            raise self._late(seconds)
        try:
            yield
        finally:
            self._threads.release()

    def _acquire_file(self, deadline: float, seconds: float) -> int:
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            _held_files.add(descriptor)
            try:
                if _try_lock(descriptor):
                    return descriptor
            except BaseException:  # interrupted, perhaps with the lock already taken
                _forget(descriptor)
                raise
            try:
                if _wait_for_lock(descriptor, deadline):
                    return descriptor
            except OSError:
                _forget(descriptor)
                raise
        except OSError as error:
            raise StorageUnavailable(
                f"the lock file {self.path} cannot be used: {error.strerror}: "
                "check the folder and its permissions"
            ) from error
        raise self._late(seconds)

    def _late(self, seconds: float) -> WriterBusy:
        return WriterBusy(
            f"another writer has held {self.path} for {seconds:g} s: look for a "
            "process that is stopped or hangs, end it, and try again; nothing was stored"
        )


def _forget(descriptor: int) -> None:
    _held_files.discard(descriptor)
    os.close(descriptor)


if sys.platform == "win32":  # pragma: no cover

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLOCK):
                return False
            raise
        return True

    def _wait_for_lock(descriptor: int, deadline: float) -> bool:
        while time.monotonic() < deadline:
            time.sleep(0.005)
            if _try_lock(descriptor):
                return True
        _forget(descriptor)
        return False

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        _forget(descriptor)

else:

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_for_lock(descriptor: int, deadline: float) -> bool:
        """Stand in the kernel's queue, from a thread because `flock` itself knows no time-out.

        Trying again and again instead would let the busiest process starve the others.
        """
        wait = _Wait(descriptor)
        try:
            threading.Thread(target=wait.run, name="infinite-memory-lock", daemon=True).start()
            return wait.result(deadline)
        except BaseException:  # interrupted, as by Ctrl-C: nobody would ever give it back
            wait.abandon()
            raise

    class _Wait:
        """One wait for the file lock, which its thread or whoever gives up ends, never both."""

        def __init__(self, descriptor: int) -> None:
            self._descriptor = descriptor
            self._guard = threading.Lock()
            self._done = threading.Event()
            self._error: OSError | None = None
            self._abandoned = False

        def run(self) -> None:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            except OSError as error:
                self._error = error
            with self._guard:
                self._done.set()
                if self._abandoned:
                    _forget(self._descriptor)

        def result(self, deadline: float) -> bool:
            self._done.wait(max(0.0, deadline - time.monotonic()))
            with self._guard:
                if not self._done.is_set():
                    self._abandoned = True
                    return False
            if self._error is not None:
                raise self._error
            return True

        def abandon(self) -> None:
            """Let go of the file once it is locked, or now if it is."""
            with self._guard:
                if not self._done.is_set():
                    self._abandoned = True
                elif self._error is None:
                    _forget(self._descriptor)

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        _forget(descriptor)

    def _drop_inherited() -> None:
        """Close the lock files that a fork copied, else the child would hold its parent's lock."""
        for descriptor in list(_held_files):
            _forget(descriptor)

    os.register_at_fork(after_in_child=_drop_inherited)
