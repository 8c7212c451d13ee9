"""Stores of version 1, without journal, links and usage, brought to version 2."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

from pymongo import WriteConcern
from pymongo.client_session import ClientSession
from pymongo.database import Database
from pymongo.errors import OperationFailure

from infinite_memory.errors import StorageUnavailable
from infinite_memory.model.commit import Commit
from infinite_memory.model.entry import Action, JournalEnd, Operation
from infinite_memory.storage.mongodb.commit import Committer
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.creation import create_collections
from infinite_memory.storage.mongodb.metadata import encode_end, end_in, store_document
from infinite_memory.storage.mongodb.schema import (
    JOURNAL,
    LINKS,
    MEMORIES,
    METADATA,
    SCHEMA_VERSION,
    STORE,
    USAGE,
)

__all__ = ["bring_up_to_date"]

_UNAUTHORIZED = 13

_log = logging.getLogger("infinite_memory.storage")


def bring_up_to_date(connection: Connection, committer: Committer) -> None:
    """Bring a store of version 1 to this one; any number of processes may do so at once.

    From the rule for `metadata` on, processes of version 1 that still run can read, and are refused
    when they write. What one of them has left in the middle of a commit is finished first. Who may
    only read goes on with the store as it is.

    Raises:
        StorageUnavailable: the database holds other collections of these names.
    """
    if not _is_old(connection):
        return
    try:
        _refuse_foreign(connection)
        create_collections(connection.database)
        _let_old_commits_end(connection.database)
        committer.carry_out(
            lambda session: committer.plan(_first_entry(connection, session), session)
        )
        _raise_version(connection.database)
    except OperationFailure as error:
        if error.code != _UNAUTHORIZED:
            raise
        _log.warning("%s stays as an earlier version wrote it: %s", connection.place, error)


def _is_old(connection: Connection) -> bool:
    found = connection.database.get_collection(METADATA).find_one({"_id": STORE}, {"version": 1})
    return found is not None and found.get("version") == 1


def _refuse_foreign(connection: Connection) -> None:
    """Refuse where the new collections hold what is not of another process that does this."""
    for name, ours in ((JOURNAL, [1]), (LINKS, []), (USAGE, [])):
        collection = connection.database.get_collection(name)
        foreign = collection.find_one({"_id": {"$nin": ours}}, {"_id": 1}) is not None
        if foreign and _is_old(connection):
            raise StorageUnavailable(
                f"{connection.place} has a collection {name!r} that is not of Infinite Memory, "
                "which needs that name from this version on: rename it; nothing was changed"
            )


def _first_entry(connection: Connection, session: ClientSession | None) -> Commit:
    """Return the entry with which the journal of a store begins that holds memories already."""
    store = store_document(connection.database, connection.place, session)
    if end_in(store, connection.place) != JournalEnd():
        return Commit()
    count = connection.database.get_collection(MEMORIES).count_documents({}, session=session)
    if not count:
        return Commit()
    reason = f"the store held {count:,} memories before it had a journal"
    action = Action(at=datetime.now(UTC), operation=Operation.BEGIN, reason=reason)
    return Commit(entry=action)


def _let_old_commits_end(database: Database[dict[str, Any]]) -> None:
    """Remove what the rule forbids: who is in the middle of a commit ends it, and begins none."""
    metadata = database.get_collection(METADATA)
    metadata.update_one({"_id": STORE}, {"$unset": {"commits": 1}})


def _raise_version(database: Database[dict[str, Any]]) -> None:
    metadata = database.get_collection(METADATA, write_concern=WriteConcern(w="majority", j=True))
    end = {"$ifNull": ["$journal", {"$literal": encode_end(JournalEnd())}]}
    metadata.update_one(
        {"_id": STORE, "version": 1}, [{"$set": {"version": SCHEMA_VERSION, "journal": end}}]
    )
