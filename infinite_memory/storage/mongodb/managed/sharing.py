"""Locks on files, which the system releases when a process ends, even if it crashes.

A process starts and stops the server under an exclusive lock of `start.lock`. A user holds a shared
lock of `users.lock` as long as it lives; a leaving user that gets the exclusive lock was the last
user. The server itself holds `server.lock`, from before its start until it is gone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infinite_memory.core.errors import ConfigurationError, StorageUnavailable
from infinite_memory.core.files.locks import FileLock

_WAIT_SECONDS = 120.0


@contextmanager
def hold_start_lock(folder: Path) -> Iterator[None]:
    """Hold the lock under which a server is started and stopped.

    Raises:
        ConfigurationError: this platform has no shared file locks.
        StorageUnavailable: another process has held it for too long.
    """
    if sys.platform == "win32":
        raise ConfigurationError(
            "a managed server is not supported on Windows: run MongoDB as a service and give its "
            "address, such as mongodb://localhost:27017/infinite_memory"
        )
    else:
        lock = FileLock(folder / "start.lock")
        if not lock.acquire(_WAIT_SECONDS):
            raise StorageUnavailable(
                f"another process has been starting or stopping the server in {folder} for "
                f"{_WAIT_SECONDS:g} s: look for one that hangs, end it and try again"
            )
        try:
            yield
        finally:
            lock.release()


class Users:
    """The membership of this process among the users of the server in a folder."""

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / "users.lock")

    def join(self) -> None:
        """Join the users; under `hold_start_lock`, so that no process stops the server meanwhile.

        Raises:
            StorageUnavailable: another program holds the file exclusively.
        """
        if not self._lock.try_acquire(shared=True):
            raise StorageUnavailable(
                f"another program holds {self._lock.path}, which only Infinite Memory should: end "
                "it and try again"
            )

    def is_member(self) -> bool:
        """Return whether this process is a user; under `hold_start_lock`.

        A forked child is not a user.
        """
        return self._lock.is_open

    def leave(self) -> bool:
        """Leave the users; under `hold_start_lock`. Return whether no user is left.

        In a forked child this does nothing: its parent is the user.
        """
        if not self._lock.is_open:
            return False
        try:
            return self._lock.try_acquire()
        finally:
            self._lock.release()


@contextmanager
def inheritable_lock(path: Path) -> Iterator[int]:
    """Lock the free file `path` for the process that inherits its descriptor.

    Raises:
        StorageUnavailable: another process holds the lock.
    """
    lock = FileLock(path)
    if not lock.try_acquire():
        raise StorageUnavailable(f"another process holds {path}: end it and try again")
    try:
        yield lock.fileno()
    finally:
        # Closed, not unlocked: the process that inherited the descriptor keeps the lock.
        lock.close()
