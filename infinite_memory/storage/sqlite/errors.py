"""Translates the errors of SQLite into the errors of this package, with a way out."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from infinite_memory.core.errors import StorageError, StorageUnavailable, StoreDamaged

_Result = TypeVar("_Result")

DAMAGE = (apsw.CorruptError, apsw.NotADBError)
"""The errors that SQLite raises for a damaged file."""

_UNAVAILABLE: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.ReadOnlyError, "it cannot be written: check the permissions of the file and its folder"),
    (apsw.PermissionsError, "access was denied: check the permissions of the file and its folder"),
    (apsw.CantOpenError, "it cannot be opened: check that it exists and may be read and written"),
    (apsw.BusyError, "other connections kept it busy for too long: look for a process that hangs"),
    (apsw.IOError, "the disk reported an error: check the disk before you go on"),
)


def look_twice(look: Callable[[], _Result]) -> _Result:
    """Return the result of `look`; if it sees damage, look again once.

    A person who is told of damage may replace the store by a backup, so a single look is never
    enough. Nobody may write to the files meanwhile, unless `look` has locks of SQLite.

    Raises:
        StoreDamaged, apsw.Error: the second look saw damage as well.
    """
    try:
        return look()
    except (StoreDamaged, *DAMAGE):
        return look()


def damaged_database(path: Path, problem: str) -> StoreDamaged:
    """Return the error for a damaged database at `path`; `problem` completes "PATH ..."."""
    return StoreDamaged(
        f"{path} {problem}. Nothing was changed. Keep a copy of the whole folder, then restore a "
        "backup"
    )


def misread_database(error: apsw.Error, path: Path) -> StorageUnavailable:
    """Return the error for a database at `path` that read as damaged, and then as sound."""
    return StorageUnavailable(
        f"{path} was read wrongly once ({error}) and is sound at a second look: try again, and "
        "check the disk and the memory of this machine if it happens again"
    )


_NO_ROOM = frozenset(
    {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
)  # Windows has no quota of this name


def is_full(error: apsw.Error, connection: apsw.Connection | None = None) -> bool:
    """Return whether the disk was full, or a quota or a limit on file sizes was reached.

    SQLite reports only a full disk as such; for a quota or a limit, `connection` has the `errno`.
    """
    if isinstance(error, apsw.FullError):
        return True
    return (
        isinstance(error, apsw.IOError)
        and connection is not None
        and connection.system_errno in _NO_ROOM
    )


def full_disk(error: apsw.Error, path: Path) -> StorageUnavailable:
    """Return the error for a write to the database at `path` that found no room."""
    return StorageUnavailable(
        f"{path}: the disk is full, or your quota on it is used up, and nothing was stored: free "
        f"some space and try again; what is stored can still be read and forgotten ({error})"
    )


def storage_error(error: apsw.Error, path: Path) -> StorageError:
    """Return the typed error for `error`, which SQLite raised about the database at `path`."""
    if isinstance(error, DAMAGE):
        return damaged_database(path, f"is damaged ({error})")
    if is_full(error):
        return full_disk(error, path)
    for kind, advice in _UNAVAILABLE:
        if isinstance(error, kind):
            return StorageUnavailable(f"{path}: {advice} ({error})")
    return StorageUnavailable(f"{path}: SQLite refused ({type(error).__name__}: {error})")
