"""Detects that files which SQLite has open were removed or replaced.

SQLite continues to use a file that was removed or replaced, and its writes to that file are lost.
This happens when a user removes the log, and when this process loses its locks: any code in the
process that opens and closes the database without SQLite, as a copy of the folder does, drops all
locks. The next program that closes the database then takes itself for its last user and removes the
log.

No connection of this package ever removes a log; see `connection`.
"""

from __future__ import annotations

from attrs import frozen

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.storage.sqlite.files.open_files import FileIdentity, file_identity
from infinite_memory.storage.sqlite.files.paths import Places

NOTHING_STORED = "nothing was stored by this call"
UNKNOWN_OUTCOME = (
    "whether this call has stored anything is not known, so look for the memory before you store it"
    " again"
)


@frozen(kw_only=True)
class LiveFiles:
    """The identities of a database, its log and the index of its log; None means no file."""

    database: FileIdentity | None
    log: FileIdentity | None
    index: FileIdentity | None

    def missing_from(self, later: LiveFiles) -> str | None:
        """Return the name of the first file that is missing or different in `later`."""
        if self.database != later.database:
            return "memory.db"
        if self.log != later.log:
            return "memory.db-wal"
        return "memory.db-shm" if self.index != later.index else None


def look_at_files(places: Places) -> LiveFiles:
    """Return the identities of the files that currently have the names of the store."""
    path = str(places.database)
    return LiveFiles(
        database=file_identity(path),
        log=file_identity(f"{path}-wal"),
        index=file_identity(f"{path}-shm"),
    )


def moved_files(places: Places, name: str, outcome: str) -> StorageUnavailable:
    """Return the error for a file `name` that was removed or replaced while SQLite had it open."""
    return StorageUnavailable(
        f"{places.folder / name} was removed or replaced while this process had it open: {outcome}."
        " Close this store and open it again. It happens when the files are removed, or copied or"
        " opened by other code inside a process that uses them: make copies with"
        " `infinite-memory copy`"
    )
