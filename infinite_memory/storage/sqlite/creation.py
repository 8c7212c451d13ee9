"""Which database a folder holds, and how a new one is made: a suspect one is never touched.

A new database is built under another name and renamed, so `memory.db` is there whole or not at
all, and the marker is written after it. Hence a database that is empty, foreign or missing beside
its marker is never one that is being made.
"""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

import apsw
from attrs import frozen

from infinite_memory.errors import StorageUnavailable
from infinite_memory.storage.sqlite.connections import connect, connect_immutable
from infinite_memory.storage.sqlite.faults import DAMAGE, damaged_database, storage_error
from infinite_memory.storage.sqlite.ledger import Ledger, insert_ledger
from infinite_memory.storage.sqlite.lock import WriterLock
from infinite_memory.storage.sqlite.marker import read_marker, sync_folder, write_marker
from infinite_memory.storage.sqlite.migrations import check_version
from infinite_memory.storage.sqlite.schema import APPLICATION_ID, create_tables

__all__ = ["Places", "ensure_store"]


@frozen
class Places:
    """The files of the store in `folder`."""

    folder: Path

    @property
    def database(self) -> Path:
        """The database itself."""
        return self.folder / "memory.db"

    @property
    def log(self) -> Path:
        """The write-ahead log, which SQLite names."""
        return self.folder / "memory.db-wal"

    @property
    def marker(self) -> Path:
        """The file that says that a store exists here."""
        return self.folder / "memory.db.marker"

    @property
    def lock(self) -> Path:
        """The file that writers lock."""
        return self.folder / "store.lock"


def ensure_store(places: Places, lock: WriterLock, vfs: str | None) -> str:
    """Check the store in the folder, or make one where there is none; return its identity.

    Raises:
        StoreDamaged: what is there is suspect; nothing was changed.
        SchemaTooNew: a newer version made it; nothing was changed.
        StorageUnavailable: the folder cannot be used.
    """
    try:
        places.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not places.lock.exists():
            _inspect(places, vfs)  # before even the lock file is made in a suspect folder
        with lock.held():
            identity = _inspect(places, vfs)
            if identity is None:
                identity = _create(places, vfs)
            if read_marker(places.marker) is None:
                write_marker(places.marker, identity)
            return identity
    except apsw.Error as error:
        raise storage_error(error, places.database) from error
    except (StorageUnavailable, ValueError):
        raise
    except OSError as error:
        if type(error).__module__ != "builtins":
            raise
        raise StorageUnavailable(
            f"the folder {places.folder} cannot be used: {error.strerror}: "
            "choose another, or check its permissions and the space on its disk"
        ) from error


def _inspect(places: Places, vfs: str | None) -> str | None:
    """Return the identity of the store that is there, None where there is nothing at all."""
    marked = read_marker(places.marker)
    size = _size(places.database)
    log_size = _size(places.log)
    if size is None:
        if marked is None and not log_size:
            return None
        left = places.log if log_size else places.marker
        raise damaged_database(places.database, f"is missing, while {left.name} is still there")
    if size == 0:
        raise damaged_database(places.database, "is empty, which no store ever is")
    try:
        identity = _identify(places.database, vfs)
    except DAMAGE as error:
        if log_size and isinstance(error, apsw.CorruptError) and marked is not None:
            return marked  # a checkpoint was cut short: the log has the pages that are missing
        raise damaged_database(places.database, f"is no sound database ({error})") from error
    if marked is not None and marked != identity:
        raise damaged_database(
            places.database,
            f"is the store {identity}, while {places.marker.name} speaks of {marked}",
        )
    return identity


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None


def _identify(path: Path, vfs: str | None) -> str:
    """Return the identity in the main file of a database of ours, without changing anything."""
    connection = connect_immutable(path, vfs=vfs)
    try:
        application = connection.pragma("application_id")
        if application != APPLICATION_ID:
            raise damaged_database(path, "was made by another program")
        check_version(connection.pragma("user_version"), path)
        identity = connection.execute("SELECT CAST(identity AS BLOB) FROM store").get
    finally:
        connection.close()
    if not isinstance(identity, bytes):
        raise damaged_database(path, "does not say which store it is")
    return identity.decode("ascii", errors="replace")


def _create(places: Places, vfs: str | None) -> str:
    """Make the database under another name, then give it its own; nobody else sees half of it."""
    partial = places.database.with_name("memory.db.new")
    for suffix in ("", "-journal", "-wal", "-shm"):
        partial.with_name(partial.name + suffix).unlink(missing_ok=True)
    identity = str(uuid4())
    connection = connect(partial, vfs=vfs, create=True)
    try:
        partial.chmod(0o600)
        connection.execute("BEGIN IMMEDIATE")
        create_tables(connection)
        insert_ledger(connection, Ledger(identity=identity, sequence=0, token=os.urandom(16)))
        connection.execute("COMMIT")
        connection.pragma("journal_mode", "wal")
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        connection.close()
    partial.rename(places.database)
    sync_folder(places.folder)
    return identity
