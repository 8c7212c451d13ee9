"""The connection that writes: transactions whose outcome is known, and the log that they fill."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from infinite_memory.errors import StorageUnavailable
from infinite_memory.storage.sqlite.connection import BUSY_SECONDS
from infinite_memory.storage.sqlite.errors import is_full, storage_error
from infinite_memory.storage.sqlite.metadata import Ledger, read_ledger, update_ledger
from infinite_memory.storage.sqlite.readers import release

__all__ = ["Writer"]

_Result = TypeVar("_Result")


class Writer:
    """The writing connection of one open database. Used under the writers' lock."""

    def __init__(self, connection: apsw.Connection, path: Path, checkpoint_pages: int) -> None:
        """Write through `connection`; a checkpoint is due whenever the log has so many pages."""
        self.connection = connection
        self.is_closed = False
        self._path = path
        self._log_pages = 0
        self._checkpoint_pages = checkpoint_pages
        self._checkpoint_at = checkpoint_pages
        connection.set_wal_hook(self._count_log)

    @property
    def checkpoint_is_due(self) -> bool:
        """Whether the log has grown so large that it is to be copied into the database."""
        return self._log_pages >= self._checkpoint_at

    def hasten_checkpoint(self) -> None:
        """Let the next checkpoint be due now."""
        self._checkpoint_at = 0

    def run(self, work: Callable[[apsw.Connection, bytes], _Result]) -> _Result:
        """Run `work` in a transaction with a token that it writes, and commit it."""
        token = os.urandom(16)
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(self.connection, token)
        except BaseException:
            self.roll_back()
            raise
        self._commit(token)
        return result

    def _commit(self, token: bytes) -> None:
        try:
            self.connection.execute("COMMIT")
        except apsw.Error as error:
            if not self._is_durable(token, error):
                raise

    def _is_durable(self, token: bytes, cause: apsw.Error) -> bool:
        """Tell whether a commit that reported an error took place all the same.

        What it wrote may be in the log whole and yet not count; a crash at this moment would make
        it count. So another transaction is written over it, or behind it, to settle the question.
        """
        try:
            self.roll_back()
            ledger = self.write_token()
        except apsw.Error as error:
            self.roll_back()
            at_sync = getattr(cause, "extendedresult", 0) == apsw.SQLITE_IOERR_FSYNC
            if is_full(cause, self.connection) and not at_sync:
                return False  # what ended the log was never written whole
            raise StorageUnavailable(
                f"{storage_error(cause, self._path)}; most likely nothing was stored, but that "
                "could not be made certain: look for the memory before you store it again"
            ) from error
        return ledger.token == token

    def roll_back(self) -> None:
        """End a transaction that an error has left open."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def checkpoint(self) -> None:
        """Copy the log into the database, as far as its readers let it.

        Raises:
            apsw.Error: the disk did not; nothing is lost.
        """
        later = self._checkpoint_pages // 2
        self._checkpoint_at = self._log_pages + later
        pages, done = self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        # A reader holds the rest back: try again a little later, not at every commit.
        self._checkpoint_at = self._checkpoint_pages if done == pages else pages + later

    def truncate_log(self, wait_seconds: float) -> None:
        """Copy the log into the database and empty it; wait for its readers at most so long.

        Raises:
            apsw.BusyError: they hold it back; what they let has been copied.
        """
        self.roll_back()
        self.connection.set_busy_timeout(int(wait_seconds * 1000))
        try:
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            self.connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
        self._checkpoint_at = self._checkpoint_pages

    def scrub_log(self, wait_seconds: float) -> None:
        """Empty the log so that a cut of the power cannot bring it back.

        Emptying a log is not durable by itself; what is written to it next is synced, so that only
        this can come back.

        Raises:
            apsw.BusyError: readers hold it back.
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
        """Make a commit that changes nothing but the token; return the ledger before it."""
        self.connection.execute("BEGIN IMMEDIATE")
        ledger = read_ledger(self.connection, self._path)
        update_ledger(self.connection, ledger.touched(os.urandom(16)))
        self.connection.execute("COMMIT")
        return ledger

    def _count_log(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return int(apsw.SQLITE_OK)
