"""Whether the files that SQLite has open are still those of their names.

SQLite goes on with a file that was removed or replaced, and whatever it writes there is lost. That
happens when somebody removes the log, and when the locks of this process are lost: any code in it
that opens and closes the database past SQLite, as a copy of the folder does, drops them all, and
the next program that closes the database takes itself for its last user and removes the log.

No connection of this package ever removes a log; see `connections`.
"""

from __future__ import annotations

from attrs import frozen

from infinite_memory.errors import StorageUnavailable
from infinite_memory.storage.sqlite.files.open_files import FileIdentity, file_identity
from infinite_memory.storage.sqlite.files.paths import Places

__all__ = ["NOTHING_STORED", "UNKNOWN_OUTCOME", "LiveFiles", "look_at_files", "moved_files"]

NOTHING_STORED = "nothing was stored by this call"
UNKNOWN_OUTCOME = (
    "whether this call has stored anything is not known, so look for the memory before you store it"
    " again"
)


@frozen(kw_only=True)
class LiveFiles:
    """Which files a database, its log and the index of its log are; None stands for no file."""

    database: FileIdentity | None
    log: FileIdentity | None
    index: FileIdentity | None

    def missing_from(self, later: LiveFiles) -> str | None:
        """Return the name of the first file that is another one, or none, in `later`."""
        if self.database != later.database:
            return "memory.db"
        if self.log != later.log:
            return "memory.db-wal"
        return "memory.db-shm" if self.index != later.index else None


def look_at_files(places: Places) -> LiveFiles:
    """Return which files have the names of the store now."""
    path = str(places.database)
    return LiveFiles(
        database=file_identity(path),
        log=file_identity(f"{path}-wal"),
        index=file_identity(f"{path}-shm"),
    )


def moved_files(places: Places, name: str, outcome: str) -> StorageUnavailable:
    """Return the error that says that the file `name` was removed or replaced under SQLite."""
    return StorageUnavailable(
        f"{places.folder / name} was removed or replaced while this process had it open: {outcome}."
        " Close this store and open it again. It happens when the files are removed, or copied or"
        " opened by other code inside a process that uses them: make copies with"
        " `infinite-memory copy`"
    )
