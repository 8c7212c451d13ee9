"""Commits as transactions.

Each begins by writing the document that counts the changes. Of two that run at the same time one
meets a write conflict there and is tried again, so commits follow one another, and the numbers of
the feed become visible in their order.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import pymongo
from bson.binary import Binary
from pymongo import WriteConcern
from pymongo.client_session import ClientSession
from pymongo.errors import (
    ConnectionFailure,
    InvalidOperation,
    PyMongoError,
    ServerSelectionTimeoutError,
)
from pymongo.read_concern import ReadConcern

from infinite_memory.errors import Conflict
from infinite_memory.storage.mongodb.connection import Connection, is_unready, revived
from infinite_memory.storage.mongodb.patience import BRIEF_SECONDS, is_brief
from infinite_memory.storage.mongodb.schema import METADATA, STORE

__all__ = ["JOURNALED", "in_transaction"]

_log = logging.getLogger("infinite_memory.storage")

_Result = TypeVar("_Result")

JOURNALED = WriteConcern(w="majority", j=True)
"""What a commit waits for before it is acknowledged."""

# A server ends the transaction of a client that died after 60 s by default, and looks every 30.
_SECONDS = 100.0
# Where the user may look at the sessions, others end it once it was idle for so long.
_ABANDONED_SECONDS = 5.0
_LONGEST_PAUSE = 0.1
_ABORT_SECONDS = 2.0


def in_transaction(
    connection: Connection, work: Callable[[ClientSession], _Result], *, seconds: float = _SECONDS
) -> _Result:
    """Run `work` in a transaction until it is committed, again where others were quicker.

    It is tried for so many seconds: long enough for a replica set to elect another primary. `work`
    may be run several times and must leave no trace but in the session. Whatever it raises, but for
    what the driver calls transient, ends the transaction and is raised.
    """
    patience = _Patience(connection, BRIEF_SECONDS if is_brief() else seconds)
    look_at = time.monotonic() + _ABANDONED_SECONDS
    pause = 0.002
    with connection.client.start_session() as session:
        while True:
            try:
                return _once(connection, session, work, patience)
            except PyMongoError as error:
                if not _transient(connection, error, "TransientTransactionError"):
                    raise
                patience.go_on(error)
                revived(connection, error)
            if time.monotonic() > look_at:
                _end_abandoned(connection)
                look_at = time.monotonic() + _ABANDONED_SECONDS
            # At random, so that those who met do not meet again.
            time.sleep(random.uniform(0, pause))
            pause = min(2 * pause, _LONGEST_PAUSE)


class _Patience:
    """How long a commit is tried: less where there is no primary than where others are quicker."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._connection = connection
        self._lost: float | None = None

    def go_on(self, error: PyMongoError) -> None:
        """Return, or raise `error` where it has taken long enough."""
        now = time.monotonic()
        if not isinstance(error, ConnectionFailure):
            self._lost = None
        elif self._lost is None:
            self._lost = now
            if isinstance(error, ServerSelectionTimeoutError) and not self._connection.managed:
                # It was waited for already.
                self._lost -= self._connection.client.options.server_selection_timeout
        limit = self._connection.seconds_without_primary()
        if now > self._end or (self._lost is not None and now - self._lost >= limit):
            raise error


def _once(
    connection: Connection,
    session: ClientSession,
    work: Callable[[ClientSession], _Result],
    patience: _Patience,
) -> _Result:
    session.start_transaction(read_concern=ReadConcern("snapshot"), write_concern=JOURNALED)
    try:
        result = work(session)
    except Conflict:
        _abort(session)
        _catch_up(connection, session)
        raise
    except BaseException:
        _abort(session)
        raise
    _commit(connection, session, patience)
    return result


def _catch_up(connection: Connection, session: ClientSession) -> None:
    """Wait until everybody can read what a transaction has seen that was refused.

    It sees commits that most members do not have yet; whoever looks again would find nothing new.
    """
    with suppress(PyMongoError):
        connection.database.get_collection(METADATA).find_one({"_id": STORE}, session=session)


def _commit(connection: Connection, session: ClientSession, patience: _Patience) -> None:
    """Commit, and ask again as long as it is not known whether that took place."""
    while True:
        try:
            session.commit_transaction()
        except PyMongoError as error:
            if not _transient(connection, error, "UnknownTransactionCommitResult"):
                raise
            patience.go_on(error)
            revived(connection, error)
            time.sleep(0.05)
        else:
            return


def _transient(connection: Connection, error: PyMongoError, label: str) -> bool:
    if isinstance(error, InvalidOperation):
        # The client was closed, which the driver calls transient as well.
        return False
    return error.has_error_label(label) or is_unready(connection, error)


def _end_abandoned(connection: Connection) -> None:
    """End transactions of ours that nobody has gone on with for some seconds.

    One whose process is merely slow is tried again by that. Where the user may not look at the
    sessions, or they are another user's, the server ends them after a minute.
    """
    idle = {
        "type": "idleSession",
        "appName": connection.client.options.pool_options.appname,
        "transaction.timeInactiveMicros": {"$gt": int(_ABANDONED_SECONDS * 1_000_000)},
    }
    admin = connection.client.get_database("admin", read_concern=ReadConcern("local"))
    try:
        found = admin.aggregate(
            [{"$currentOp": {"idleSessions": True}}, {"$match": idle}, {"$project": {"lsid": 1}}]
        )
        ids = [{"id": Binary.from_uuid(each["lsid"]["id"])} for each in found]
        if ids:
            admin.command("killSessions", ids)
    except PyMongoError as error:
        _log.debug("abandoned transactions are left to the server: %s", error)


def _abort(session: ClientSession) -> None:
    try:
        selection = session.client.options.server_selection_timeout
        with pymongo.timeout(min(_ABORT_SECONDS, selection)):
            session.abort_transaction()
    except PyMongoError:
        # The server ends a transaction that nobody goes on with.
        return
