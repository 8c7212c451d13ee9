"""Opens connections to the database, all under the same rules."""

from __future__ import annotations

import sys
from pathlib import Path

import apsw

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.storage.sqlite.files.open_files import TrackedConnection

BUSY_SECONDS = 30.0
"""How long a call waits for a lock before it gives up."""

RULES = {
    "trusted_schema": 0,
    "foreign_keys": 1,
    "cell_size_check": 1,
    "mmap_size": 0,
    "secure_delete": 1,
    "synchronous": 2,
    "wal_autocheckpoint": 0,
    "temp_store": 2,
    **({"fullfsync": 1, "checkpoint_fullfsync": 1} if sys.platform == "darwin" else {}),
}
"""The pragmas of every connection: durable, cautious with the file, and erased bytes overwritten.

`synchronous` 2 is FULL and `temp_store` 2 is MEMORY. Automatic checkpoints are off, since a
checkpoint needs the writers' lock.
"""

_FIXED_BRANCHES = {(3, 44): 6, (3, 50): 7, (3, 51): 3}


def check_library(version: str) -> None:
    """Refuse a SQLite that corrupts databases shared by processes.

    The defect, a race between a checkpoint and a writer that resets the log, is in 3.7.0 to 3.51.2.
    It was fixed in 3.51.3, 3.50.7 and 3.44.6.

    Raises:
        StorageUnavailable: `version` has the defect.
    """
    numbers = tuple(int(part) for part in version.split("."))
    branch, patch = numbers[:2], (*numbers, 0)[2]
    if branch > (3, 51) or patch >= _FIXED_BRANCHES.get((branch[0], branch[1]), sys.maxsize):
        return
    raise StorageUnavailable(
        f"SQLite {version}, which apsw includes, can corrupt a database that several processes "
        "share: install a newer one with `pip install --upgrade apsw`"
    )


def connect(path: Path, *, vfs: str | None, create: bool = False) -> apsw.Connection:
    """Open the database for reading and writing, under the rules that every connection keeps."""
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = TrackedConnection(path, flags=flags, vfs=vfs)
    # The last connection to close would write the log back without holding the writers' lock, and
    # remove it. SQLite finds the last connection by locks that other code in the process can drop.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
    # One by one: a script would stop at the first pragma that answers with a row.
    for name, value in RULES.items():
        connection.pragma(name, value)
    return connection


def connect_reading(path: Path, *, vfs: str | None) -> apsw.Connection:
    """Open the database with its log read-only, to inspect a suspect database."""
    connection = TrackedConnection(path, flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
    return connection


def connect_alone(path: Path, *, vfs: str | None) -> apsw.Connection:
    """Open the database with its log to inspect it, without adding or changing any file.

    An exclusive connection keeps the index of the log in its own memory. The first statement raises
    `apsw.BusyError` if a second connection has the database open.
    """
    connection = TrackedConnection(path, flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.set_busy_timeout(0)
    connection.pragma("trusted_schema", 0)
    connection.pragma("query_only", 1)
    connection.pragma("locking_mode", "exclusive")
    return connection


def connect_immutable(path: Path, *, vfs: str | None) -> apsw.Connection:
    """Open only the main file, without locks, log or any change, to inspect a suspect file."""
    return TrackedConnection(
        path,
        uri=f"{path.absolute().as_uri()}?immutable=1",
        flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
        vfs=vfs,
    )
