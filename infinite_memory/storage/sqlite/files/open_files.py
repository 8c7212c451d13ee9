"""The databases that this process has open, so that a forked child does not open them again.

The kernel gives file locks to a process, and a forked child gets none of its parent's locks. But
the child inherits SQLite's table of open files, in which the locks are still held. If the child
opened a database again, it would use it without locks, and its log could be removed or overwritten.

A database counts as open from before SQLite opens its files until after SQLite has closed them, so
that a fork at any moment in between, by any thread, is noticed.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
from attrs import frozen

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.storage.forks import crossed_fork

FileIdentity = tuple[int, int]
"""The device of a file and its inode number."""


@frozen
class _OpenDatabase:
    """A file in `folder`; `file` is None while it does not exist."""

    folder: str
    file: FileIdentity | None


# No lock guards these: every change is a single operation on a dictionary, so that a fork never
# copies a half-made change.
_open: dict[int, _OpenDatabase] = {}
_connections: dict[int, weakref.ref[apsw.Connection]] = {}
_inherited_folders: set[str] = set()
_inherited_files: set[FileIdentity] = set()


def file_identity(path: str | os.PathLike[str]) -> FileIdentity | None:
    """Return the identity of the file at `path`, None if there is no file."""
    try:
        status = os.stat(path)  # noqa: PTH116 -- a third of the time of Path.stat, at every commit
    except OSError:
        return None
    return status.st_dev, status.st_ino


def check_not_inherited(path: Path) -> None:
    """Refuse the database at `path` if it was open when this process or an ancestor was forked.

    Raises:
        StorageUnavailable: the database was open.
    """
    if not _inherited_folders:
        return
    if _resolve_folder(path) in _inherited_folders or file_identity(path) in _inherited_files:
        raise StorageUnavailable(crossed_fork(f"the store {path}"))


@contextmanager
def track_database(path: Path) -> Iterator[None]:
    """Count the database at `path` as open for the length of a block.

    Raises:
        StorageUnavailable: this process inherited the open database from its parent.
    """
    check_not_inherited(path)
    token = object()
    _open[id(token)] = _OpenDatabase(_resolve_folder(path), file_identity(path))
    try:
        yield
    finally:
        del _open[id(token)]


class TrackedConnection(apsw.Connection):
    """A connection whose database counts as open for as long as the connection is."""

    def __init__(self, path: Path, *, flags: int, vfs: str | None, uri: str | None = None) -> None:
        """Open the database at `path`, with the address `uri` unless it is None.

        Raises:
            StorageUnavailable: this process inherited the open database from its parent.
        """
        check_not_inherited(path)
        key = id(self)
        folder = _resolve_folder(path)
        _open[key] = _OpenDatabase(folder, file_identity(path))
        _connections[key] = weakref.ref(self)
        self._untrack = weakref.finalize(self, _forget_database, key)
        self._untrack.atexit = False
        try:
            super().__init__(uri or str(path), flags=flags, vfs=vfs)
        except BaseException:
            self._untrack()
            raise
        _open[key] = _OpenDatabase(folder, file_identity(path))

    def close(self, force: bool = False) -> None:
        """Close the connection; closing twice does nothing."""
        super().close(force)
        self._untrack()


def _resolve_folder(path: Path) -> str:
    return os.path.realpath(path.parent)


def _forget_database(key: int) -> None:
    _connections.pop(key, None)
    _open.pop(key, None)


def _refuse_inherited() -> None:
    """In a forked child: refuse the databases of the parent, and never close its connections.

    Closing a connection in the middle of a transaction writes to the shared index of the log. A
    reference that is never released keeps the connection open even while the interpreter ends.
    """
    for database in list(_open.values()):
        _inherited_folders.add(database.folder)
        if database.file is not None:
            _inherited_files.add(database.file)
    for reference in list(_connections.values()):
        connection = reference()
        if connection is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
    _open.clear()
    _connections.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_refuse_inherited)
