"""A database as it was at one moment: every read goes through the same snapshot session.

The server keeps the state of a moment for five minutes by default, see its parameter
`minSnapshotHistoryWindowInSeconds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import bson
from attrs import evolve
from pymongo.client_session import ClientSession
from pymongo.database import Database

from infinite_memory.storage.mongodb.connection import Connection

_READS = ("find", "find_one", "aggregate", "count_documents", "distinct")


class _PinnedCollection:
    """Has the methods of a collection that read, in the session."""

    def __init__(self, collection: Any, session: ClientSession) -> None:
        self._find = partial(collection.find, session=session)
        for name in _READS:
            setattr(self, name, partial(getattr(collection, name), session=session))

    def find_raw_batches(self, *, session: None) -> Iterator[bytes]:  # noqa: ARG002
        """Yield every document as bytes: the driver reads raw batches outside of the snapshot."""
        yield from map(bson.encode, self._find())


class _PinnedDatabase:
    """Stands in for a database of which only the state of one moment is read."""

    def __init__(self, database: Database[dict[str, Any]], session: ClientSession) -> None:
        self._database = database
        self._session = session
        self.name = database.name
        self.codec_options = database.codec_options

    def get_collection(self, name: str) -> _PinnedCollection:
        """Return a collection for reading."""
        return _PinnedCollection(self._database.get_collection(name), self._session)

    def command(self, name: str) -> dict[str, Any]:
        """Run a command about the present state, such as that of its size."""
        return self._database.command(name)


@contextmanager
def pin_connections(*connections: Connection) -> Iterator[list[Connection]]:
    """Give connections of one client for reading their databases as they are at the first read."""
    with connections[0].client.start_session(snapshot=True) as session:
        yield [
            evolve(
                connection,
                database=cast(
                    Database[dict[str, Any]], _PinnedDatabase(connection.database, session)
                ),
            )
            for connection in connections
        ]
