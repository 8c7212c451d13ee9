"""The writing connection: transactions with a certain outcome, and checkpoints of their log."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw
from attrs import evolve

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.storage.sqlite.connection import BUSY_SECONDS, connect
from infinite_memory.storage.sqlite.errors import damaged_database, is_full, storage_error
from infinite_memory.storage.sqlite.files.live_files import (
    NOTHING_STORED,
    LiveFiles,
    look_at_files,
    moved_files,
)
from infinite_memory.storage.sqlite.files.paths import Places
from infinite_memory.storage.sqlite.metadata import (
    Ledger,
    read_identity,
    read_ledger,
    update_ledger,
)
from infinite_memory.storage.sqlite.migrations import check_version
from infinite_memory.storage.sqlite.readers import release

_Result = TypeVar("_Result")


def open_writer(
    places: Places, identity: str, *, vfs: str | None
) -> tuple[apsw.Connection, LiveFiles]:
    """Open the store `identity` for writing; return the connection, and the files that it uses.

    Raises:
        StoreDamaged: the database is a different store, or has lost its identity.
        SchemaTooNew: a newer version made the store.
        StorageUnavailable: the files were removed or replaced meanwhile.
        apsw.Error: SQLite refuses the database.
    """
    path = places.database
    before = look_at_files(places)
    connection = connect(path, vfs=vfs)
    try:
        connection.pragma("journal_mode", "wal")
        check_version(connection.pragma("user_version"), path)
        found = read_identity(connection, path)
        if found != identity:
            raise damaged_database(path, f"is the store {found}, not {identity}")
        # By now SQLite has opened its files, and has made the missing ones.
        files = look_at_files(places)
        if before.database != files.database or before.log not in (None, files.log):
            raise moved_files(places, path.name, NOTHING_STORED)
    except BaseException:
        connection.close()
        raise
    return connection, files


class Writer:
    """The writing connection of an open database. Used under the writers' lock."""

    def __init__(self, connection: apsw.Connection, path: Path, checkpoint_pages: int) -> None:
        """Write through `connection`; a checkpoint is due at `checkpoint_pages` of log."""
        self.connection = connection
        self.is_closed = False
        self._path = path
        self._log_pages = 0
        self._checkpoint_pages = checkpoint_pages
        self._checkpoint_at = checkpoint_pages
        connection.set_wal_hook(self._count_log)

    @property
    def checkpoint_is_due(self) -> bool:
        """Whether the log is large enough to be copied into the database."""
        return self._log_pages >= self._checkpoint_at

    def hasten_checkpoint(self) -> None:
        """Make the next checkpoint due now."""
        self._checkpoint_at = 0

    def run(self, work: Callable[[apsw.Connection, bytes], _Result]) -> _Result:
        """Run `work` in a transaction, with a token that it must write, and commit it."""
        token = os.urandom(16)
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(self.connection, token)
        except BaseException:
            self.roll_back()
            raise
        self._commit_transaction(token)
        return result

    def _commit_transaction(self, token: bytes) -> None:
        try:
            self.connection.execute("COMMIT")
        except apsw.Error as error:
            if not self._is_durable(token, error):
                raise

    def _is_durable(self, token: bytes, cause: apsw.Error) -> bool:
        """Return whether a commit that reported an error took place anyway.

        The log may hold all of the commit although SQLite does not count it, and a crash now would
        make it count. So a second transaction overwrites the commit in the log, or follows it.
        """
        try:
            self.roll_back()
            ledger = self.write_token()
        except apsw.Error as error:
            self.roll_back()
            at_sync = getattr(cause, "extendedresult", 0) == apsw.SQLITE_IOERR_FSYNC
            if is_full(cause, self.connection) and not at_sync:
                return False  # the end of the log was never written completely
            raise StorageUnavailable(
                f"{storage_error(cause, self._path)}; most likely nothing was stored, but this "
                "could not be confirmed: look for the memory before you store it again"
            ) from error
        return ledger.token == token

    def roll_back(self) -> None:
        """End a transaction that an error has left open."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def checkpoint(self) -> None:
        """Copy the log into the database, as far as its readers allow.

        Raises:
            apsw.Error: the disk reported an error; nothing is lost.
        """
        later = self._checkpoint_pages // 2
        self._checkpoint_at = self._log_pages + later
        pages, done = self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        # A reader prevents a complete copy: try again a little later, not at every commit.
        self._checkpoint_at = self._checkpoint_pages if done == pages else pages + later

    def truncate_log(self, wait_seconds: float) -> None:
        """Copy the log into the database and empty it; wait at most `wait_seconds` for readers.

        Raises:
            apsw.BusyError: readers prevent it; the pages that they allow were copied.
        """
        self.roll_back()
        self.connection.set_busy_timeout(int(wait_seconds * 1000))
        try:
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            self.connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
        self._checkpoint_at = self._checkpoint_pages

    def scrub_log(self, wait_seconds: float) -> None:
        """Empty the log so that a power cut cannot bring its content back.

        Emptying a log is not durable by itself. The next write to the log is synced, so that only
        that write can come back.

        Raises:
            apsw.BusyError: readers prevent it.
        """
        self.truncate_log(wait_seconds)
        self.write_token()
        self.truncate_log(wait_seconds)

    def close(self) -> None:
        """Close the connection, which neither copies nor removes the log."""
        if not self.is_closed:
            self.is_closed = True
            release(self.connection, self._path)

    def write_token(self) -> Ledger:
        """Make a commit that only changes the token; return the ledger before it."""
        self.connection.execute("BEGIN IMMEDIATE")
        ledger = read_ledger(self.connection, self._path)
        update_ledger(self.connection, evolve(ledger, token=os.urandom(16)))
        self.connection.execute("COMMIT")
        return ledger

    def _count_log(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return int(apsw.SQLITE_OK)
