"""The pool of reading connections, which give snapshots."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from infinite_memory.core.clock import current_deadline
from infinite_memory.storage.sqlite.connection import connect

_MOST_IDLE = 4

_logger = logging.getLogger("infinite_memory.storage")


class Snapshot:
    """The database as it was at the first read; closing the snapshot ends its cursors."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._cursors: list[apsw.Cursor] = []

    def rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Run a query and return its rows, which are read on demand."""
        cursor = self.connection.cursor()
        self._cursors.append(cursor)
        return cursor.execute(sql, bindings)

    def close(self) -> None:
        """End every query: an unfinished query would keep the connection at an old state."""
        for cursor in self._cursors:
            cursor.close(True)


class Readers:
    """The reading connections of an open database. Any thread may use them."""

    def __init__(self, path: Path, vfs: str | None) -> None:
        self._path = path
        self._vfs = vfs
        self._process = os.getpid()
        self._closed = False
        self._idle: list[apsw.Connection] = []
        self._borrowed: set[apsw.Connection] = set()

    @property
    def are_released(self) -> bool:
        """Whether the connections were closed, and no thread has a snapshot."""
        return self._closed and not self._borrowed

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Give a snapshot for the length of a block.

        Raises:
            OutOfTime: the time of the call is over, and it has changed nothing.
        """
        current_deadline().check()
        connection = self._borrow_reader()
        snapshot = Snapshot(connection)
        try:
            connection.execute("BEGIN")
            yield snapshot
        finally:
            if (
                self._process == os.getpid()
            ):  # else the parent owns the connection, and still uses it
                snapshot.close()
                self._give_back(connection)

    def close(self) -> None:
        """Close all idle connections; a borrowed connection is closed with its snapshot."""
        self._closed = True
        self.forget()

    def forget(self) -> None:
        """Close all idle connections, so that the next snapshot is read from the disk anew."""
        while self._idle:
            release(self._idle.pop(), self._path)

    def _borrow_reader(self) -> apsw.Connection:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = connect(self._path, vfs=self._vfs)
            connection.execute("PRAGMA query_only = ON")
        self._borrowed.add(connection)
        return connection

    def _give_back(self, connection: apsw.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if self._closed or len(self._idle) >= _MOST_IDLE:
            release(connection, self._path)
        else:
            self._idle.append(connection)
        self._borrowed.discard(connection)


def is_sound(path: Path, vfs: str | None) -> bool:
    """Check every page through a new connection, which keeps nothing of an earlier look.

    It takes about a second for each 100 MB.
    """
    try:
        with closing(connect(path, vfs=vfs)) as connection:
            return bool(connection.execute("PRAGMA integrity_check(1)").get == "ok")
    except apsw.Error:
        return False


def release(connection: apsw.Connection, path: Path) -> None:
    """Close a connection; log an error of the disk, since every commit is already durable."""
    try:
        connection.close()
    except apsw.Error as error:
        _logger.warning("%s: it was not closed cleanly: %s", path, error)
