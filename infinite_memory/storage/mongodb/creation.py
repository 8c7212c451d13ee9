"""The first use of a database: collections, indexes, the default scope, what counts the changes."""

from __future__ import annotations

import logging
import time
from typing import Any
from uuid import uuid4

from pymongo import WriteConcern
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import CollectionInvalid, DuplicateKeyError, OperationFailure

from infinite_memory.errors import StorageUnavailable, StoreDamaged
from infinite_memory.model.entry import JournalEnd
from infinite_memory.model.memory import GLOBAL
from infinite_memory.model.scope import Scope
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.documents import encode_scope
from infinite_memory.storage.mongodb.errors import translated
from infinite_memory.storage.mongodb.metadata import encode_end, refuse_newer
from infinite_memory.storage.mongodb.schema import (
    COLLECTIONS,
    INDEXES,
    METADATA,
    METADATA_RULE,
    SCHEMA_VERSION,
    SCOPES,
    STORE,
)

__all__ = ["create_collections", "ensure_store", "has_store"]

_log = logging.getLogger("infinite_memory.storage")

_EXISTS = 48
_UNAUTHORIZED = 13
_LOOKS = 100


def ensure_store(connection: Connection) -> str:
    """Create a store where there is none and return its identity; it may be of an older version.

    Any number of processes may do this at the same time.

    Raises:
        SchemaTooNew: a newer version of this package wrote it.
        StorageUnavailable: the database holds something else.
        StoreDamaged: the document that counts its changes is gone or cannot be read.
    """
    metadata = connection.database.get_collection(METADATA)
    found = metadata.find_one({"_id": STORE})
    if found is None:
        _refuse_foreign(connection)
        _create(connection.database)
        found = _created(metadata)
    return _identity(found, connection.place)


def has_store(connection: Connection) -> bool:
    """Tell whether there is a store, without creating one.

    Raises:
        StorageUnavailable: the server does not say.
    """
    with translated(connection.place):
        return connection.database.get_collection(METADATA).find_one({"_id": STORE}) is not None


def _created(metadata: Collection[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the document of the store, for which a majority may have to be waited for.

    Of several processes that create a store, one inserts it and the others meet it.
    """
    for _ in range(_LOOKS):
        found = metadata.find_one({"_id": STORE})
        if found is not None:
            return found
        time.sleep(0.05)
    return None


def _create(database: Database[dict[str, Any]]) -> None:
    create_collections(database)
    # The document that makes this a store comes last: before it, others create it all again.
    _insert(database, SCOPES, encode_scope(Scope(name=GLOBAL)))
    store = {
        "_id": STORE,
        "identity": str(uuid4()),
        "version": SCHEMA_VERSION,
        "sequence": 0,
        "journal": encode_end(JournalEnd()),
    }
    _insert(database, METADATA, store)


def create_collections(database: Database[dict[str, Any]]) -> None:
    """Create the collections and indexes that are missing, and the rule for `metadata`."""
    for name in COLLECTIONS:
        rule: dict[str, Any] = {"validator": METADATA_RULE} if name == METADATA else {}
        try:
            database.create_collection(name, check_exists=False, **rule)
            continue
        except CollectionInvalid:
            pass
        except OperationFailure as error:
            if error.code != _EXISTS:
                raise
        if rule:
            _rule(database)
    for name, indexes in INDEXES.items():
        database.get_collection(name).create_indexes(indexes)


def _rule(database: Database[dict[str, Any]]) -> None:
    """Give the rule to a collection that is there; with the role readWrite alone that is refused.

    Then a process of an earlier version that still runs goes on writing.
    """
    try:
        database.command("collMod", METADATA, validator=METADATA_RULE)
    except OperationFailure as error:
        if error.code != _UNAUTHORIZED:
            raise
        _log.warning("processes of an earlier version are not kept from writing: %s", error)


def _insert(database: Database[dict[str, Any]], name: str, document: dict[str, Any]) -> None:
    collection = database.get_collection(name, write_concern=WriteConcern(w="majority", j=True))
    try:
        collection.insert_one(document)
    except DuplicateKeyError:
        return


def _refuse_foreign(connection: Connection) -> None:
    """Refuse a database whose collections hold what no store counts: not ours, or cut off."""
    first = {SCOPES: [GLOBAL], METADATA: [STORE]}
    for name in COLLECTIONS:
        others = {"_id": {"$nin": first.get(name, [])}}
        if connection.database.get_collection(name).find_one(others, {"_id": 1}) is not None:
            raise StorageUnavailable(
                f"{connection.place} has a collection {name!r} that is not of Infinite Memory, or "
                f"has lost its document {STORE!r} in {METADATA!r}: name another database in the "
                "address, or restore that document; nothing was changed"
            )


def _identity(found: dict[str, Any] | None, place: str) -> str:
    if found is not None:
        refuse_newer(found, place)
    known = found is not None and found.get("version") in range(1, SCHEMA_VERSION + 1)
    if not known or found is None or not isinstance(found.get("identity"), str):
        raise StoreDamaged(
            f"{place} has no readable document {STORE!r} in {METADATA!r}: restore it from a backup"
        )
    return str(found["identity"])
