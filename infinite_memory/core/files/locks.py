"""An advisory lock on a file, which a process loses when it ends, however it ends.

The locked file has no other use. It is never a database, since closing any descriptor of a database
file drops the locks that SQLite holds on it.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from infinite_memory.core.errors import StorageUnavailable

if sys.platform == "win32":  # pragma: no cover
    import msvcrt
else:
    import fcntl

# Windows locks a byte for one holder, and refuses it to that holder too if it asks again.
_HAS_SHARED = sys.platform != "win32"
_open_descriptors: set[int] = set()


class FileLock:
    """A lock on the file `path`, which is created for the user alone if it does not exist.

    An object is a holder of the lock: two objects exclude each other, also in the same process. It
    is not thread-safe. In a forked child it is not held, and closing it there does nothing: the
    child gets no copy of the descriptor that would keep the lock of its parent.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._process = os.getpid()

    @property
    def is_open(self) -> bool:
        """Whether this object holds the lock, in this process."""
        return self._descriptor is not None and self._process == os.getpid()

    def fileno(self) -> int:
        """Return the descriptor of the locked file, to write to it or to pass it to a process."""
        assert self._descriptor is not None, "the lock is not held"
        return self._descriptor

    def acquire(self, timeout_seconds: float) -> bool:
        """Wait for the exclusive lock for at most `timeout_seconds`; return whether it is held.

        Processes get the lock in the order in which they began to wait. Polling instead would let
        the busiest process starve the rest.

        Raises:
            StorageUnavailable: the file cannot be opened or locked.
        """
        deadline = time.monotonic() + timeout_seconds
        try:
            return self._take_lock(_open_lock_file(self.path), shared=False, deadline=deadline)
        except OSError as error:
            raise self._make_unusable_error(error) from error

    def try_acquire(self, *, shared: bool = False) -> bool:
        """Take the lock if it is free now; return whether it is held.

        Any number of holders may share it. A lock that this object holds is changed between shared
        and exclusive; if that fails, release it. On Windows a shared lock is exclusive too.

        Raises:
            StorageUnavailable: the file cannot be opened or locked.
        """
        try:
            if self.is_open:
                return not _HAS_SHARED or _try_lock(self.fileno(), shared=shared)
            return self._take_lock(_open_lock_file(self.path), shared=shared, deadline=None)
        except OSError as error:
            raise self._make_unusable_error(error) from error

    def release(self) -> None:
        """Unlock the file, also for a process that has a copy of the descriptor."""
        if self.is_open:
            _unlock_descriptor(self.fileno())
        self.close()

    def remove(self) -> None:
        """Delete the file if that is possible, and unlock it."""
        if sys.platform == "win32":
            self.release()  # it deletes no open file, so none that another process locks meanwhile
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        self.release()

    def close(self) -> None:
        """Close the file and leave it locked for a process that was given the descriptor."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None and self._process == os.getpid():
            _close_descriptor(descriptor)

    def _take_lock(self, descriptor: int, *, shared: bool, deadline: float | None) -> bool:
        try:
            is_held = _try_lock(descriptor, shared=shared)
        except BaseException:  # interrupted, perhaps with the lock already taken
            _close_descriptor(descriptor)
            raise
        if not is_held and deadline is None:
            _close_descriptor(descriptor)
            return False
        if not is_held and deadline is not None:
            try:
                # If the wait fails or is interrupted otherwise, it closes the descriptor itself.
                is_held = _wait_for_lock(descriptor, deadline)
            except OSError:
                _close_descriptor(descriptor)
                raise
        if is_held:
            self._descriptor, self._process = descriptor, os.getpid()
        return is_held

    def _make_unusable_error(self, error: OSError) -> StorageUnavailable:
        return StorageUnavailable(
            f"the lock file {self.path} cannot be used: {error.strerror}: "
            "check the folder and its permissions"
        )


def is_locked(path: Path) -> bool:
    """Return whether anybody holds the lock of the file `path`.

    Raises:
        StorageUnavailable: the file cannot be opened or locked.
    """
    lock = FileLock(path)
    is_free = lock.try_acquire()
    lock.release()
    return not is_free


def _open_lock_file(path: Path) -> int:
    # Else Windows would put a carriage return before each line feed that is written.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    _open_descriptors.add(descriptor)
    return descriptor


def _close_descriptor(descriptor: int) -> None:
    _open_descriptors.discard(descriptor)
    os.close(descriptor)


if sys.platform == "win32":  # pragma: no cover

    def _try_lock(descriptor: int, *, shared: bool) -> bool:  # noqa: ARG001
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
            if _try_lock(descriptor, shared=False):
                return True
        _close_descriptor(descriptor)
        return False

    def _unlock_descriptor(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:

    def _try_lock(descriptor: int, *, shared: bool) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait_for_lock(descriptor: int, deadline: float) -> bool:
        """Wait in the queue of the kernel, in a thread because `flock` itself has no time-out."""
        wait = _Wait(descriptor)
        try:
            threading.Thread(target=wait.run, name="infinite-memory-lock", daemon=True).start()
            return wait.result(deadline)
        except BaseException:  # interrupted, as by Ctrl-C: nobody would ever release the lock
            wait.abandon()
            raise

    class _Wait:
        """A wait for the file lock; either its thread or the waiter closes the file, never both."""

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
                    _close_descriptor(self._descriptor)

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
            """Release the lock once the thread has it, or now if it has it already."""
            with self._guard:
                if not self._done.is_set():
                    self._abandoned = True
                elif self._error is None:
                    _close_descriptor(self._descriptor)

    def _unlock_descriptor(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _close_inherited() -> None:
        """Close the descriptors that a fork copied, which would keep the locks of the parent."""
        for descriptor in list(_open_descriptors):
            with suppress(OSError):
                _close_descriptor(descriptor)

    os.register_at_fork(after_in_child=_close_inherited)
