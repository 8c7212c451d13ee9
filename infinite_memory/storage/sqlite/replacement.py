"""A new content for a database, prepared in a folder beside it and copied into it at once.

SQLite copies the pages in one transaction of the database: every process sees the former content or
the new one, and a copy that is interrupted has changed nothing. To rename a file over the database
would damage it, since other processes have it open.
"""

from __future__ import annotations

import itertools
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path

import apsw
from attrs import evolve

from infinite_memory.core.errors import StorageError, StorageUnavailable
from infinite_memory.core.files.atomic import sync_folder, write_atomically
from infinite_memory.core.files.locks import FileLock
from infinite_memory.core.files.regular import read_regular
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.archive.copying import CopyMark
from infinite_memory.storage.preconditions import refuse_replacement
from infinite_memory.storage.sqlite.connection import BUSY_SECONDS, connect, connect_immutable
from infinite_memory.storage.sqlite.creation import create_beside
from infinite_memory.storage.sqlite.database import Database
from infinite_memory.storage.sqlite.errors import full_disk, is_full, storage_error
from infinite_memory.storage.sqlite.files.lock import WriterLock
from infinite_memory.storage.sqlite.files.paths import Places
from infinite_memory.storage.sqlite.metadata import Ledger, read_ledger, update_ledger

_logger = logging.getLogger("infinite_memory.storage")


class SqliteReplacement:
    """See `Replacement`."""

    def __init__(self, database: Database, storage: Storage, places: Places) -> None:
        """Prepare the content of `database` in `storage`, whose files are `places`."""
        self.storage = storage
        self._database = database
        self._places = places

    def swap(self, *, position: int, entries: int) -> None:
        """Put the content in place; see `Replacement.swap`."""
        _close_whole(self.storage, self._places)
        database = self._database
        # A commit checks that the files are in place and not suspect.
        database.transaction(
            lambda connection, token: _renew_token(connection, database.path, token)
        )
        with database.alone():
            try:
                _copy_pages(self._places.database, database.path, position, entries)
            except apsw.Error as error:
                raise storage_error(error, database.path) from error
        try:
            # The former content leaves the log and the file.
            database.scrub()
        except StorageError as error:
            # The new content is in place. The next commit or opening scrubs again.
            _logger.warning("%s: the log could not be emptied yet: %s", database.path, error)


@contextmanager
def prepare_beside(database: Database) -> Iterator[Places]:
    """Create an empty store that continues the feed of `database`; remove it at the end.

    Raises:
        StorageUnavailable: another process prepares a replacement, or the folder cannot be used.
    """
    with _hold_restore_lock(database.places) as beside:
        with database.read() as snapshot:
            ledger = read_ledger(snapshot.connection, database.path)
            page_bytes = snapshot.connection.pragma("page_size")
        begin = Ledger(identity=ledger.identity, sequence=ledger.sequence, token=os.urandom(16))
        create_beside(beside, begin, page_bytes)
        yield beside


@contextmanager
def _hold_restore_lock(places: Places) -> Iterator[Places]:
    """Give the place of a new content, which no other process uses; empty it before and after."""
    lock = FileLock(places.replacement_lock)
    if not lock.try_acquire():
        raise StorageUnavailable(
            f"another process restores {places.database} at the moment: wait until it has ended,"
            " then repeat this"
        )
    beside = Places(places.replacement)
    try:
        _remove_folder(beside.folder)
        yield beside
    finally:
        _remove_folder(beside.folder)
        lock.release()


class DamagedReplacement:
    """A new store in the place of a store that cannot be opened, whose files are kept."""

    def __init__(self, storage: Storage, places: Places) -> None:
        """Prepare the content in `storage`, for the store at `places`."""
        self.storage = storage
        self._places = places

    def swap_aside(self, now: datetime) -> Path:
        """Move the damaged files into a new folder, put the new store in place; return the folder.

        Processes that have the damaged store open notice that its files were moved, and write
        nothing more. The marker of the damaged store stays until the end: a kill in between leaves
        a damaged store, never an empty one, and the next restore finishes.

        Raises:
            StorageUnavailable: the files cannot be moved.
        """
        places = self._places
        beside = Places(places.replacement)
        _close_whole(self.storage, beside)
        try:
            with WriterLock(places.lock, timeout_seconds=BUSY_SECONDS).hold():
                aside = _create_aside(places.folder, now)
                if places.marker.exists():
                    shutil.copy(places.marker, aside)
                for path in _list_files(places):
                    if path.exists():
                        path.rename(aside / path.name)
                sync_folder(aside)
                beside.database.rename(places.database)
                sync_folder(places.folder)
                beside.marker.replace(places.marker)
                sync_folder(places.folder)
        except OSError as error:
            if type(error).__module__ != "builtins":
                raise
            raise StorageUnavailable(
                f"the damaged files in {places.folder} cannot be moved ({error.strerror}): check"
                " the permissions of the folder, then repeat this"
            ) from error
        return aside


def _create_aside(folder: Path, now: datetime) -> Path:
    for number in itertools.count(1):
        aside = folder / f"damaged-{now:%Y%m%dT%H%M%SZ}{'' if number == 1 else f'-{number}'}"
        with suppress(FileExistsError):
            aside.mkdir(mode=0o700)
            return aside
    raise AssertionError


def _list_files(places: Places) -> tuple[Path, ...]:
    """Return the files that belong to a database, in the order in which they are moved.

    The database goes before its log: without the log it might open, and lack what the log holds.
    """
    index = places.database.with_name("memory.db-shm")
    return (
        *(places.database, places.log, index, places.folder / "index"),
        *(places.copy_mark, places.scrub_due),
    )


@contextmanager
def prepare_in_place(
    places: Places, open_storage: Callable[[Path], Storage]
) -> Iterator[DamagedReplacement]:
    """Create a new store beside a store that cannot be opened; remove it at the end.

    Raises:
        StorageUnavailable: another process prepares a replacement, or the folder cannot be used.
    """
    with _hold_restore_lock(places) as beside, closing(open_storage(beside.folder)) as storage:
        yield DamagedReplacement(storage, places)


def _close_whole(storage: Storage, places: Places) -> None:
    """Close the new store, whose database then has everything that was written.

    Raises:
        StorageUnavailable: a part of it is still in the log, as on a full disk.
    """
    storage.close()
    if places.log.exists() and places.log.stat().st_size:
        raise StorageUnavailable(
            f"the new content in {places.folder} could not be completed, perhaps since the disk is"
            " full, and nothing was restored: free some space, then repeat this"
        )


def _renew_token(connection: apsw.Connection, path: Path, token: bytes) -> None:
    update_ledger(connection, evolve(read_ledger(connection, path), token=token))


def _copy_pages(beside: Path, path: Path, position: int, entries: int) -> None:
    """Copy every page of the database `beside` into the database at `path`.

    The caller holds the writers' lock.

    Raises:
        Conflict: the database was written since.
        StorageUnavailable: the disk is full.
    """
    with (
        closing(connect(path, vfs=None)) as target,
        closing(connect_immutable(beside, vfs=None)) as source,
    ):
        ledger = read_ledger(target, path)
        refuse_replacement(position, entries, ledger.sequence, ledger.end)
        try:
            with target.backup("main", source, "main") as copy:
                copy.step(-1)
        except apsw.Error as error:
            if is_full(error, target):
                raise full_disk(error, path) from error
            raise


def _remove_folder(folder: Path) -> None:
    """Remove a folder that a killed process may have left."""
    if folder.is_symlink():
        raise StorageUnavailable(f"{folder} is a link, and nothing was restored: remove it")
    shutil.rmtree(folder, ignore_errors=True)


def read_copy_mark(path: Path) -> CopyMark | None:
    """Return the mark in the file `path`, None if there is no readable mark."""
    try:
        return CopyMark.of(read_regular(path).decode())
    except (OSError, UnicodeDecodeError):
        return None


def write_copy_mark(path: Path, mark: CopyMark) -> None:
    """Write the mark of a copy, whole or not at all, durably.

    Raises:
        StorageUnavailable: the disk refuses the write.
    """
    try:
        write_atomically(path, f"{mark.to_text()}\n".encode("ascii"))
    except OSError as error:
        raise StorageUnavailable(
            f"{path} cannot be written: {error.strerror}: check the folder and the space on its "
            "disk, then run the copy again; it goes on"
        ) from error
