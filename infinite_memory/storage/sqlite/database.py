"""The connections to one database: a writer under the lock, and readers of snapshots."""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw

from infinite_memory.errors import StorageUnavailable, StoreClosed
from infinite_memory.storage.sqlite.connections import BUSY_SECONDS, check_library, connect
from infinite_memory.storage.sqlite.creation import Places, ensure_store
from infinite_memory.storage.sqlite.faults import (
    DAMAGE,
    damaged_database,
    full_disk,
    is_full,
    storage_error,
)
from infinite_memory.storage.sqlite.ledger import (
    Ledger,
    read_identity,
    read_ledger,
    update_ledger,
)
from infinite_memory.storage.sqlite.lock import WriterLock
from infinite_memory.storage.sqlite.migrations import check_version, migrate
from infinite_memory.storage.sqlite.reserve import OPENING_BYTES, RESERVE_BYTES, Reserve
from infinite_memory.storage.sqlite.suspicion import Suspicion

__all__ = ["Database", "Snapshot"]

_Result = TypeVar("_Result")

_CHECKPOINT_BYTES = 4 << 20
_IDLE_READERS = 4

_logger = logging.getLogger("infinite_memory.storage")
_open_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_inherited: list[Database] = []


class Snapshot:
    """The database as it was when the first row was read; every cursor ends with it."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._cursors: list[apsw.Cursor] = []

    def rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query and return its rows, which are read as they are asked for."""
        cursor = self.connection.cursor()
        self._cursors.append(cursor)
        return cursor.execute(sql, bindings)

    def close(self) -> None:
        """End every query: an unfinished one would hold the connection in the past."""
        for cursor in self._cursors:
            cursor.close(True)


class Database:
    """One open database. Any thread may use it; a forked child may not."""

    def __init__(
        self, folder: Path, *, vfs: str | None, checkpoint_pages: int | None = None
    ) -> None:
        check_library(apsw.sqlite_lib_version())
        self.places = Places(folder.absolute())
        self.path = self.places.database
        self._vfs = vfs
        self._lock = WriterLock(self.places.lock, timeout_seconds=BUSY_SECONDS)
        self.identity = ensure_store(self.places, self._lock, vfs)
        self._process = os.getpid()
        self._closed = False
        self._suspicion = Suspicion(self.path, self.identity)
        self._log_pages = 0
        self._idle: list[apsw.Connection] = []
        self._reserve = Reserve(self.places.reserve)
        with self._lock.held():
            try:
                self._writer = self._open_first()
                if checkpoint_pages is None:
                    checkpoint_pages = _CHECKPOINT_BYTES // self._page_bytes
                self._checkpoint_pages = checkpoint_pages
                self._checkpoint_at = self._checkpoint_pages
                self._bring_forward()
            except apsw.Error as error:  # not remembered: whoever opens it next looks again
                raise storage_error(error, self.path) from error
            if self._suspicion.found is None:
                self._reserve.fill()
        _open_databases.add(self)

    def _open_first(self) -> apsw.Connection:
        """Open the writer; on a full disk with a part of the reserve, which it needs to start."""
        try:
            return self._open_writer()
        except (apsw.FullError, apsw.IOError):
            if not self._reserve.give(OPENING_BYTES):
                raise
            return self._open_writer()

    def _open_writer(self) -> apsw.Connection:
        connection = connect(self.path, vfs=self._vfs)
        try:
            connection.pragma("journal_mode", "wal")
            check_version(connection.pragma("user_version"), self.path)
            identity = read_identity(connection, self.path)
            if identity != self.identity:
                raise damaged_database(self.path, f"is the store {identity}, not {self.identity}")
            self._page_bytes: int = connection.pragma("page_size")
        except BaseException:
            connection.close()
            raise
        connection.set_wal_hook(self._count_log)
        return connection

    def _bring_forward(self) -> None:
        """Migrate an older store, without the reserve, which is too small to be of use."""
        if self._suspicion.found is not None:
            return
        try:
            migrated = migrate(self._writer, self.path)
        except BaseException:
            self._writer.close()
            raise
        if migrated:
            self._checkpoint_at = 0
            self._checkpoint_if_due()

    def _count_log(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return int(apsw.SQLITE_OK)

    @contextmanager
    def read(self) -> Iterator[Snapshot]:
        """Give a snapshot for the length of a block.

        Raises:
            StoreClosed: the store was closed, or opened before a fork.
            StorageUnavailable: it cannot be read.
            StoreDamaged: SQLite found the file damaged; from then on no handle of this process
                writes to it.
        """
        self._check_open()
        with self._faults():
            connection = self._borrow()
            snapshot = Snapshot(connection)
            try:
                connection.execute("BEGIN")
                yield snapshot
            finally:
                snapshot.close()
                self._give_back(connection)

    def transaction(
        self,
        work: Callable[[apsw.Connection, bytes], _Result],
        *,
        forgetting: Callable[[], bool] = lambda: False,
    ) -> _Result:
        """Run `work` in one durable transaction, or leave everything as it was.

        `work` writes the token that it is given into the ledger, by which the outcome is looked
        up if the commit itself reports an error. On a full disk it is run again with the reserve
        given back, if it is `forgetting`, which is only asked then.

        Raises:
            StoreClosed, StorageUnavailable, StoreDamaged: as for `read`.
        """
        self._check_open()
        with self._lock.held(), self._faults():
            self._check_open()
            self._suspicion.check()
            try:
                result = self._run(work)
            except apsw.Error as error:
                if not is_full(error, self._writer):
                    raise
                if not (forgetting() and self._reserve.give(RESERVE_BYTES)):
                    raise full_disk(error, self.path) from error
                result = self._run(work)
                self._checkpoint_at = 0
            self._checkpoint_if_due()
            return result

    def _run(self, work: Callable[[apsw.Connection, bytes], _Result]) -> _Result:
        token = os.urandom(16)
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            result = work(self._writer, token)
        except BaseException:
            self._roll_back()
            raise
        self._commit(token)
        return result

    def _commit(self, token: bytes) -> None:
        try:
            self._writer.execute("COMMIT")
        except apsw.Error as error:
            if not self._is_durable(token, error):
                raise

    def _is_durable(self, token: bytes, cause: apsw.Error) -> bool:
        """Tell whether a commit that reported an error took place all the same.

        What it wrote may be in the log whole and yet not count; a crash at this moment would make
        it count. So another transaction is written over it, or behind it, to settle the question.
        """
        try:
            self._roll_back()
            ledger = self._write_token()
        except apsw.Error as error:
            self._roll_back()
            at_sync = getattr(cause, "extendedresult", 0) == apsw.SQLITE_IOERR_FSYNC
            if is_full(cause, self._writer) and not at_sync:
                return False  # what ended the log was never written whole
            raise StorageUnavailable(
                f"{storage_error(cause, self.path)}; most likely nothing was stored, but that "
                "could not be made certain: look for the memory before you store it again"
            ) from error
        return ledger.token == token

    def _roll_back(self) -> None:
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def _checkpoint_if_due(self) -> None:
        """Copy the log into the database once it has grown; if that fails, nothing is lost."""
        if self._log_pages < self._checkpoint_at:
            return
        try:
            pages, done = self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error as error:
            self._remember(error)
            _logger.warning("%s: the log could not be copied yet: %s", self.path, error)
            pages, done = self._log_pages, 0
        else:
            self._reserve.fill()
        # A reader holds the rest back: try again a little later, not at every commit.
        later = pages + self._checkpoint_pages // 2
        self._checkpoint_at = self._checkpoint_pages if done == pages else later

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep every other process from writing meanwhile, to the files beside the database too."""
        self._check_open()
        with self._lock.held():
            yield

    def scrub(self) -> None:
        """Empty the log into the database, so that no byte of what was erased stays in a file.

        Emptying a log is not durable by itself, and a cut of the power would bring it back; what
        is written to it next is synced, so that only this can come back.
        """
        self._check_open()
        with self._lock.held(), self._faults():
            self._check_open()
            self._suspicion.check()
            try:
                self._empty_log()
            except apsw.Error as error:
                if not (is_full(error, self._writer) and self._reserve.give(RESERVE_BYTES)):
                    raise
                self._empty_log()
            self._checkpoint_at = self._checkpoint_pages
            self._reserve.fill()

    def _empty_log(self) -> None:
        self._roll_back()
        self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._write_token()
        self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _write_token(self) -> Ledger:
        """Make a commit that changes nothing but the token; return the ledger before it."""
        self._writer.execute("BEGIN IMMEDIATE")
        ledger = read_ledger(self._writer, self.path)
        update_ledger(self._writer, ledger.touched(os.urandom(16)))
        self._writer.execute("COMMIT")
        return ledger

    def size_bytes(self) -> int:
        """Return the size of the database and its log."""
        log = self.places.log
        return self.path.stat().st_size + (log.stat().st_size if log.exists() else 0)

    def close(self) -> None:
        """Close every connection; the last one of all processes leaves no log behind."""
        if self._process != os.getpid():
            return
        with self._lock.held():
            if self._closed:
                return
            self._closed = True
            while self._idle:
                self._release(self._idle.pop())
            if self._suspicion.found is None:
                self._writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
                self._checkpoint_at = 0
                self._checkpoint_if_due()
            self._release(self._writer)

    def _release(self, connection: apsw.Connection) -> None:
        """Close a connection; what is committed is durable, whatever the disk says by then."""
        try:
            connection.close()
        except apsw.Error as error:
            _logger.warning("%s: it was not closed cleanly: %s", self.path, error)

    def _check_open(self) -> None:
        if self._process != os.getpid():
            raise StoreClosed(
                f"the store {self.path} was opened before this process was forked, and a database "
                "must not be used across a fork: open it again in this process"
            )
        if self._closed:
            raise StoreClosed(f"the store {self.path} was closed: open it again")

    def _borrow(self) -> apsw.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = connect(self.path, vfs=self._vfs)
            connection.execute("PRAGMA query_only = ON")
            return connection

    def _give_back(self, connection: apsw.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if self._closed or len(self._idle) >= _IDLE_READERS:
            self._release(connection)
        else:
            self._idle.append(connection)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            self._remember(error)
            raise storage_error(error, self.path) from error
        except UnicodeDecodeError as error:
            # Columns are read as the types they were written with; this is for what is not ours.
            raise damaged_database(self.path, f"holds what is no text ({error})") from error

    def suspect(self, found: str) -> None:
        """Write nothing from now on, since the file was `found` damaged."""
        self._suspicion.note(damaged_database(self.path, f"is damaged ({found})"))

    def _remember(self, error: apsw.Error) -> None:
        if isinstance(error, DAMAGE):
            self.suspect(str(error))


def _keep_inherited() -> None:
    """Keep a forked child from ever closing what it inherited, which would touch the files."""
    _inherited.extend(_open_databases)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_inherited)
