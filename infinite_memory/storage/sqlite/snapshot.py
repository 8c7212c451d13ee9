"""A storage that shows a database as it was at one moment, in one read transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from infinite_memory.storage.sqlite.database import Database
from infinite_memory.storage.sqlite.metadata import read_ledger
from infinite_memory.storage.sqlite.readers import Snapshot


class _PinnedDatabase:
    """Stands in for a `Database` whose every read happens in the same read transaction.

    While it is there, the log of the database cannot be emptied, and grows with every commit.
    """

    def __init__(self, database: Database, snapshot: Snapshot) -> None:
        self.path = database.path
        self.places = database.places
        self.identity = database.identity
        self._snapshot = snapshot

    @contextmanager
    def read(self) -> Iterator[Snapshot]:
        """Give a snapshot on the same transaction; its cursors end with the block."""
        snapshot = Snapshot(self._snapshot.connection)
        try:
            yield snapshot
        finally:
            snapshot.close()

    def close(self) -> None:
        """Do nothing: the transaction ends with the context of `pin_database`."""


@contextmanager
def pin_database(database: Database) -> Iterator[Database]:
    """Give a database for reading only, as it is at this moment."""
    with database.read() as snapshot:
        # A read transaction begins with its first read.
        read_ledger(snapshot.connection, database.path)
        yield cast(Database, _PinnedDatabase(database, snapshot))
