"""A file that is written under another name, and gets its own name when it is whole."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from infinite_memory.core.errors import Conflict, StorageUnavailable
from infinite_memory.core.files.atomic import sync_folder
from infinite_memory.core.files.locks import FileLock

_SUFFIX = ".part"
# Windows has no quota of this name.
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


class PartFile:
    """A file that is being written. The process that writes it holds a lock on it."""

    def __init__(self, path: Path, lock: FileLock) -> None:
        """Write the file that will be `path`, through the descriptor of `lock`."""
        self._path = path
        self._lock = lock

    @property
    def part(self) -> Path:
        """The path of the file until it is whole."""
        return self._lock.path

    def write(self, content: bytes) -> None:
        """Write all of `content`."""
        view = memoryview(content)
        while view:
            view = view[os.write(self._lock.fileno(), view) :]

    def start_again(self) -> None:
        """Remove everything that was written."""
        os.ftruncate(self._lock.fileno(), 0)
        os.lseek(self._lock.fileno(), 0, os.SEEK_SET)

    def finish(self) -> None:
        """Make the content durable, and give the file its name.

        Raises:
            Conflict: there is a file of that name by now.
        """
        os.fsync(self._lock.fileno())
        refuse_existing(self._path)
        if sys.platform == "win32":  # pragma: no cover
            self._lock.release()  # an open file cannot be renamed there
        self.part.rename(self._path)
        sync_folder(self._path.parent)


def name_part(path: Path) -> Path:
    """Return the name that the file `path` has until it is whole."""
    return path.with_name(f".{path.name}{_SUFFIX}")


def refuse_existing(path: Path) -> None:
    """Refuse to write over a file.

    Raises:
        Conflict: there is something at `path`.
    """
    if os.path.lexists(path):
        raise Conflict(f"{path} exists already, and nothing was written: choose another name")


@contextmanager
def writing_part(path: Path) -> Iterator[PartFile]:
    """Open the file that will be `path`; without `finish`, nothing is left of it.

    Raises:
        Conflict: there is a file at `path`, or another process writes it.
        StorageUnavailable: the disk is full, or the folder cannot be written.
    """
    refuse_existing(path)
    if not path.parent.is_dir():
        raise StorageUnavailable(f"there is no folder {path.parent}: create it, or choose another")
    lock = FileLock(name_part(path))
    with _raise_typed_errors(path):
        if not lock.try_acquire():
            raise Conflict(f"another process writes {path} at the moment: choose another name")
        part = PartFile(path, lock)
        try:
            _check_own(lock)
            part.start_again()
            yield part
        finally:
            # After `finish` there is no file of that name.
            lock.remove()


def _check_own(lock: FileLock) -> None:
    """Refuse a link, through which another file would be written, and make the file private.

    Raises:
        Conflict: the locked file is not the file of that name.
    """
    opened, named = os.fstat(lock.fileno()), os.lstat(lock.path)
    if (opened.st_dev, opened.st_ino) != (named.st_dev, named.st_ino) or named.st_nlink != 1:
        raise Conflict(
            f"{lock.path} is a link, or was replaced, and nothing was written: remove it"
        )
    if sys.platform != "win32":
        os.fchmod(lock.fileno(), 0o600)


@contextmanager
def _raise_typed_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if type(error).__module__ != "builtins":
            raise
        if error.errno in _NO_ROOM:
            raise StorageUnavailable(
                f"{path} could not be written, since the disk is full or your quota is used up, and"
                " nothing is left of it: free some space, or choose another disk"
            ) from error
        raise StorageUnavailable(
            f"{path} could not be written ({error.strerror}), and nothing is left of it: check the"
            " folder and its permissions"
        ) from error


def remove_abandoned(folder: Path) -> None:
    """Remove the unfinished files of processes that have ended."""
    for path in folder.glob(f".*{_SUFFIX}"):
        lock = FileLock(path)
        with suppress(StorageUnavailable, OSError):
            if lock.try_acquire():
                lock.remove()
