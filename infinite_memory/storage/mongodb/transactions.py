"""Commits as transactions.

Every transaction first adds one to `turns` in the store document. If two run in parallel,
the later transaction fails there with a write conflict and is retried. Commits are thus serialized,
and the numbers of the feed become visible in order.
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

from infinite_memory.core.errors import Conflict
from infinite_memory.storage.mongodb.brief_calls import BRIEF_SECONDS, is_brief
from infinite_memory.storage.mongodb.connection import Connection, is_unready, revive_server
from infinite_memory.storage.mongodb.schema import METADATA, STORE

_log = logging.getLogger("infinite_memory.storage")

_Result = TypeVar("_Result")

JOURNALED = WriteConcern(w="majority", j=True)
"""The write concern that a commit waits for before it is acknowledged."""

# By default a server ends the transaction of a dead client after 60 s, checked every 30 s.
_SECONDS = 100.0
# If the user may list sessions, this package ends a transaction that was idle for so long.
_ABANDONED_SECONDS = 5.0
_LONGEST_PAUSE = 0.1
_ABORT_SECONDS = 2.0


def in_transaction(
    connection: Connection, work: Callable[[ClientSession], _Result], *, seconds: float = _SECONDS
) -> _Result:
    """Run `work` in a transaction, retrying after write conflicts, until it is committed.

    Retries go on for `seconds`: long enough for a replica set to elect another primary. `work` may
    run several times and must write only through the session. An exception of `work` ends the
    transaction and is raised, unless the driver labels it as transient.
    """
    limit = _RetryLimit(connection, BRIEF_SECONDS if is_brief() else seconds)
    check_at = time.monotonic() + _ABANDONED_SECONDS
    pause = 0.002
    with connection.client.start_session() as session:
        while True:
            try:
                return _run_once(connection, session, work, limit)
            except PyMongoError as error:
                if not _is_transient(connection, error, "TransientTransactionError"):
                    raise
                limit.check_time_left(error)
                revive_server(connection, error)
            if time.monotonic() > check_at:
                end_abandoned(connection)
                check_at = time.monotonic() + _ABANDONED_SECONDS
            # A random pause, so that the same commits do not conflict once more.
            time.sleep(random.uniform(0, pause))
            pause = min(2 * pause, _LONGEST_PAUSE)


class _RetryLimit:
    """Limits the retries of a commit: shorter without a primary than after write conflicts."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._connection = connection
        self._lost: float | None = None

    def check_time_left(self, error: PyMongoError) -> None:
        """Return if there is time for a retry, and raise `error` otherwise."""
        now = time.monotonic()
        if not isinstance(error, ConnectionFailure):
            self._lost = None
        elif self._lost is None:
            self._lost = now
            if isinstance(error, ServerSelectionTimeoutError) and not self._connection.managed:
                # The driver has already waited for a primary.
                self._lost -= self._connection.client.options.server_selection_timeout
        limit = self._connection.seconds_without_primary()
        if now > self._end or (self._lost is not None and now - self._lost >= limit):
            raise error


def _run_once(
    connection: Connection,
    session: ClientSession,
    work: Callable[[ClientSession], _Result],
    limit: _RetryLimit,
) -> _Result:
    session.start_transaction(read_concern=ReadConcern("snapshot"), write_concern=JOURNALED)
    try:
        result = work(session)
    except Conflict:
        _abort_session(session)
        _catch_up(connection, session)
        raise
    except BaseException:
        _abort_session(session)
        raise
    _commit_session(connection, session, limit)
    return result


def _catch_up(connection: Connection, session: ClientSession) -> None:
    """Wait until a majority has the commits that a refused transaction has seen.

    The transaction may see commits that most members do not have yet, so that a caller who reads
    the store after the refusal would not find the conflicting change.
    """
    with suppress(PyMongoError):
        connection.database.get_collection(METADATA).find_one({"_id": STORE}, session=session)


def _commit_session(connection: Connection, session: ClientSession, limit: _RetryLimit) -> None:
    """Commit, and retry while the result of the commit is unknown."""
    while True:
        try:
            session.commit_transaction()
        except PyMongoError as error:
            if not _is_transient(connection, error, "UnknownTransactionCommitResult"):
                raise
            limit.check_time_left(error)
            revive_server(connection, error)
            time.sleep(0.05)
        else:
            return


def _is_transient(connection: Connection, error: PyMongoError, label: str) -> bool:
    if isinstance(error, InvalidOperation):
        # The client was closed; the driver labels this error as transient, too.
        return False
    return error.has_error_label(label) or is_unready(connection, error)


def end_abandoned(connection: Connection) -> None:
    """End transactions of this package that were idle for some seconds.

    A process that is merely slow retries its transaction. If the user may not list sessions, or the
    sessions belong to another user, the server ends the transactions after a minute.
    """
    idle = {
        "type": "idleSession",
        "appName": connection.client.options.pool_options.appname,
        "transaction.timeInactiveMicros": {"$gt": int(_ABANDONED_SECONDS * 1_000_000)},
    }
    admin = connection.client.get_database("admin", read_concern=ReadConcern("local"))
    try:
        sessions = admin.aggregate(
            [{"$currentOp": {"idleSessions": True}}, {"$match": idle}, {"$project": {"lsid": 1}}]
        )
        ids = [{"id": Binary.from_uuid(session["lsid"]["id"])} for session in sessions]
        if ids:
            admin.command("killSessions", ids)
    except PyMongoError as error:
        _log.debug("abandoned transactions could not be ended; the server will end them: %s", error)


def _abort_session(session: ClientSession) -> None:
    try:
        selection = session.client.options.server_selection_timeout
        with pymongo.timeout(min(_ABORT_SECONDS, selection)):
            session.abort_transaction()
    except PyMongoError:
        # The server ends an abandoned transaction by itself.
        return
