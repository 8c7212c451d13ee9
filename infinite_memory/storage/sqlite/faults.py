"""SQLite's errors as the errors of this package, with what a person can do."""

from __future__ import annotations

from pathlib import Path

import apsw

from infinite_memory.errors import StorageError, StorageUnavailable, StoreDamaged

__all__ = ["DAMAGE", "damaged_database", "storage_error"]

DAMAGE = (apsw.CorruptError, apsw.NotADBError)
"""What SQLite raises when a file is not as it was written."""

_UNAVAILABLE: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, "the disk is full: free some space and try again"),
    (apsw.ReadOnlyError, "it cannot be written: check the permissions of the file and its folder"),
    (apsw.PermissionsError, "access was denied: check the permissions of the file and its folder"),
    (apsw.CantOpenError, "it cannot be opened: check that it exists and may be read and written"),
    (apsw.BusyError, "others kept it busy for too long: look for a process that hangs"),
    (apsw.IOError, "the disk reported an error: check the disk before you go on"),
)


def damaged_database(path: Path, found: str) -> StoreDamaged:
    """Return the error that says what was `found` instead of a sound database at `path`."""
    return StoreDamaged(
        f"{path} {found}. Nothing was changed. Keep a copy of the whole folder, then restore a "
        "backup into a folder that is empty"
    )


def storage_error(error: apsw.Error, path: Path) -> StorageError:
    """Return the typed error for what SQLite raised about the database at `path`."""
    if isinstance(error, DAMAGE):
        return damaged_database(path, f"is damaged ({error})")
    for kind, advice in _UNAVAILABLE:
        if isinstance(error, kind):
            return StorageUnavailable(f"{path}: {advice} ({error})")
    return StorageUnavailable(f"{path}: SQLite refused ({type(error).__name__}: {error})")
