"""Locks on files, which a process loses when it ends, however it ends.

Starting and stopping go on under an exclusive lock of `start.lock`. Each user holds a shared lock
of `users.lock` as long as it lives; whoever can have that exclusively, on leaving, was the last.
The server itself holds `server.lock`, from before it is started until it is gone.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from infinite_memory.errors import ConfigurationError, StorageUnavailable

if sys.platform != "win32":
    import fcntl

__all__ = ["Users", "alone", "is_held", "lock_to_pass_on"]

_WAIT_SECONDS = 120.0

_descriptors: set[int] = set()


def _let_go_in_child() -> None:
    """Close in a forked child what would keep the locks of its parent for as long as it lives."""
    for descriptor in _descriptors:
        with suppress(OSError):
            os.close(descriptor)
    _descriptors.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_let_go_in_child)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the lock under which a server is started and stopped.

    Raises:
        ConfigurationError: this platform has no such locks.
        StorageUnavailable: another process has held it for too long.
    """
    descriptor = _opened(folder / "start.lock")
    try:
        deadline = time.monotonic() + _WAIT_SECONDS
        while not _try(descriptor, shared=False):
            if time.monotonic() > deadline:
                raise StorageUnavailable(
                    f"another process has been starting or stopping the server in {folder} for "
                    f"{_WAIT_SECONDS:g} s: look for one that hangs, end it and try again"
                )
            time.sleep(0.01)
        yield
    finally:
        _close(descriptor)


class Users:
    """Our place among the users of the server in a folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "users.lock"
        self._descriptor: int | None = None
        self._process = os.getpid()

    def join(self) -> None:
        """Be a user from now on; under `alone`, so that nobody stops the server meanwhile.

        Raises:
            StorageUnavailable: another program holds the file exclusively.
        """
        descriptor = _opened(self._path)
        if not _try(descriptor, shared=True):
            _close(descriptor)
            raise StorageUnavailable(
                f"another program holds {self._path}, which only we should: end it and try again"
            )
        self._descriptor, self._process = descriptor, os.getpid()

    def joined(self) -> bool:
        """Tell whether we are a user; under `alone`. A forked child is none."""
        return self._descriptor is not None and self._process == os.getpid()

    def leave(self) -> bool:
        """Be no user any more; under `alone`. Tell whether nobody else is one either.

        In a forked child this does nothing: its parent is the user.
        """
        joined = self.joined()
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None or not joined:
            return False
        try:
            return _try(descriptor, shared=False)
        finally:
            _close(descriptor)


def is_held(path: Path) -> bool:
    """Tell whether a process holds the lock of the file `path`."""
    descriptor = _opened(path)
    try:
        return not _try(descriptor, shared=False)
    finally:
        _close(descriptor)


@contextmanager
def lock_to_pass_on(path: Path) -> Iterator[int]:
    """Lock the file `path`, which is free, for the process that is given its descriptor.

    Raises:
        StorageUnavailable: another process holds it.
    """
    descriptor = _opened(path)
    try:
        if not _try(descriptor, shared=False):
            raise StorageUnavailable(f"another process holds {path}: end it and try again")
        yield descriptor
    finally:
        # Closed, not unlocked: whoever was given it keeps the lock.
        _descriptors.discard(descriptor)
        os.close(descriptor)


def _opened(path: Path) -> int:
    if sys.platform == "win32":
        raise ConfigurationError(
            "a managed server is not supported on Windows: run MongoDB as a service and give its "
            "address, such as mongodb://localhost:27017/infinite_memory"
        )
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageUnavailable(
            f"the lock file {path} cannot be used: {error.strerror}: check the folder and its "
            "permissions"
        ) from error
    _descriptors.add(descriptor)
    return descriptor


def _close(descriptor: int) -> None:
    _descriptors.discard(descriptor)
    if sys.platform != "win32":
        # A child that was forked meanwhile may have a copy, which would keep the lock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _try(descriptor: int, *, shared: bool) -> bool:
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
