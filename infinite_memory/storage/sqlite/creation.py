"""Finds the database of a folder, or creates it; a suspect database is never changed.

A new database is built under a temporary name and renamed, so `memory.db` exists whole or not at
all, and the marker is written after it. Hence an empty, foreign or missing database beside a marker
is never a database under construction.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import apsw

from infinite_memory.core.errors import StorageUnavailable, StoreDamaged
from infinite_memory.core.files.atomic import sync_folder
from infinite_memory.storage.sqlite.connection import connect
from infinite_memory.storage.sqlite.errors import storage_error
from infinite_memory.storage.sqlite.files.filesystem import check_surroundings
from infinite_memory.storage.sqlite.files.marker import read_marker, write_marker
from infinite_memory.storage.sqlite.files.open_files import check_not_inherited
from infinite_memory.storage.sqlite.files.paths import Places
from infinite_memory.storage.sqlite.files.preflight import inspect_store, look_without_lock
from infinite_memory.storage.sqlite.metadata import Ledger, insert_ledger
from infinite_memory.storage.sqlite.schema import create_tables

PAGE_BYTES = 1024
"""The page size of a new database. A commit writes all of every page that it changes, about ten."""


def prepare_folder(places: Places, vfs: str | None) -> None:
    """Make or check the folder of a store, so that its lock can be taken.

    Raises:
        StoreDamaged, SchemaTooNew, SchemaTooOld, StorageUnavailable: as `ensure_store`.
    """
    check_not_inherited(places.database)
    with _raise_typed_errors(places):
        check_surroundings(places.folder)
        _make_folder(places.folder)
        # Even the lock must not be made in a suspect folder.
        look_without_lock(places, lambda: inspect_store(places, vfs))


def ensure_store(places: Places, vfs: str | None) -> str:
    """Check the store in the folder, or create it; return its identity.

    The caller holds the writers' lock.

    Raises:
        StoreDamaged: the files of the store are suspect; nothing was changed.
        SchemaTooNew: a newer version made the store; nothing was changed.
        SchemaTooOld: a development version before schema 1 made it; nothing was changed.
        StorageUnavailable: the folder cannot be used.
    """
    with _raise_typed_errors(places):
        identity = inspect_store(places, vfs)
        if identity is None:
            identity = _create_database(places, vfs)
        if read_marker(places.marker) is None:
            write_marker(places.marker, identity)
        return identity


def find_sound_store(places: Places, vfs: str | None) -> str | None:
    """Return the identity of a store that can be opened without the writers' lock.

    None means that the lock is needed to decide: there is no store or no marker, or the files
    looked damaged, possibly because a process was writing to them.
    """
    try:
        identity = inspect_store(places, vfs)
        return None if read_marker(places.marker) is None else identity
    except (apsw.Error, StoreDamaged):
        return None


@contextmanager
def _raise_typed_errors(places: Places) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise storage_error(error, places.database) from error
    except (StorageUnavailable, ValueError):
        raise
    except OSError as error:
        if type(error).__module__ != "builtins":
            raise
        raise StorageUnavailable(
            f"the folder {places.folder} cannot be used: {error.strerror}: "
            "choose another folder, or check its permissions and the space on its disk"
        ) from error


def _make_folder(folder: Path) -> None:
    """Make the folder for its owner alone, and make the names of all new folders durable."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in reversed(missing):
        with suppress(PermissionError):  # a folder may be searchable and yet not readable
            sync_folder(path.parent)


def create_beside(places: Places, ledger: Ledger, page_bytes: int) -> None:
    """Create a store with the identity and the position of another, in a folder of its own."""
    with _raise_typed_errors(places):
        _make_folder(places.folder)
        _create_database(places, None, ledger, page_bytes)
        write_marker(places.marker, ledger.identity)


def _create_database(
    places: Places, vfs: str | None, ledger: Ledger | None = None, page_bytes: int | None = None
) -> str:
    """Make the database under a temporary name, then rename it, so that nobody sees half of it."""
    # Beside a store that it may replace, it begins beyond every number of its feed of usage.
    begin = 0 if ledger is None else time.time_ns() // 1000
    if ledger is None:
        ledger = Ledger(identity=str(uuid4()), sequence=0, token=os.urandom(16))
    partial = places.database.with_name("memory.db.new")
    for suffix in ("", "-journal", "-wal", "-shm"):
        partial.with_name(partial.name + suffix).unlink(missing_ok=True)
    connection = connect(partial, vfs=vfs, create=True)
    try:
        partial.chmod(0o600)
        connection.pragma("page_size", PAGE_BYTES if page_bytes is None else page_bytes)
        connection.execute("BEGIN IMMEDIATE")
        create_tables(connection)
        insert_ledger(connection, ledger)
        connection.execute("INSERT INTO usage_changes VALUES (?, '')", (begin,))
        connection.execute("COMMIT")
        connection.pragma("journal_mode", "wal")
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        connection.close()
    partial.rename(places.database)
    sync_folder(places.folder)
    return ledger.identity
