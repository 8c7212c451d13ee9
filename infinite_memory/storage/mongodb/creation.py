"""The first use of a database: collections, indexes, the default scope, the store document."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

from pymongo import WriteConcern
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import CollectionInvalid, DuplicateKeyError, OperationFailure

from infinite_memory.core.errors import StorageUnavailable, StoreDamaged
from infinite_memory.core.values.entry import JournalEnd
from infinite_memory.core.values.memory import GLOBAL
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.documents import encode_scope
from infinite_memory.storage.mongodb.errors import translate_errors
from infinite_memory.storage.mongodb.metadata import encode_end, refuse_newer
from infinite_memory.storage.mongodb.schema import (
    COLLECTIONS,
    EARLIER_STORE,
    INDEXES,
    METADATA,
    ORDER,
    ORDER_COLLECTIONS,
    PARTITION_COLLECTIONS,
    PARTITIONED_VERSION,
    PARTITIONS,
    SCHEMA_VERSION,
    SCOPES,
    STORE,
)
from infinite_memory.storage.obsolete_store import obsolete_store_error

_EXISTS = 48
_MOST_READS = 100


def ensure_store(connection: Connection) -> str:
    """Create a store where there is none and return its identity; its schema may be older.

    Any number of processes may do this at the same time.

    Raises:
        SchemaTooNew: a newer version of this package wrote it.
        SchemaTooOld: a development version before schema 1 wrote it.
        StorageUnavailable: the database holds documents of another program.
        StoreDamaged: the store document, which counts the changes, is missing or cannot be read.
    """
    metadata = connection.database.get_collection(METADATA)
    store = metadata.find_one({"_id": STORE})
    if store is None:
        refuse_earlier(connection)
        refuse_foreign(connection)
        _create_store(connection.database)
        store = wait_for_store(metadata)
    if store is not None and PARTITIONS in store:
        raise StorageUnavailable(
            f"{connection.place} was created in partitions at this moment: open it again"
        )
    return read_identity(store, connection.place)


def has_store(connection: Connection) -> bool:
    """Return whether there is a store, without creating one.

    Raises:
        SchemaTooOld: a development version before schema 1 wrote it.
        StorageUnavailable: the server does not answer.
    """
    with translate_errors(connection.place):
        refuse_earlier(connection)
        return connection.database.get_collection(METADATA).find_one({"_id": STORE}) is not None


def wait_for_store(metadata: Collection[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the document of the store, which a majority of the members may not have yet.

    Of several processes that create a store, one process inserts the document.
    """
    for _ in range(_MOST_READS):
        store = metadata.find_one({"_id": STORE})
        if store is not None:
            return store
        time.sleep(0.05)
    return None


def _create_store(database: Database[dict[str, Any]]) -> None:
    create_collections(database)
    insert_store(database, identity=str(uuid4()), sequence=0)


def insert_store(
    database: Database[dict[str, Any]], *, identity: str, sequence: int, **fields: Any
) -> None:
    """Insert the documents of an empty store whose last change has the number `sequence`.

    `fields` are further fields of the store document, or replace the usual ones.
    """
    # The store document comes last: until it exists, another process repeats the creation.
    _insert_document(database, SCOPES, encode_scope(Scope(name=GLOBAL)))
    store = {
        "_id": STORE,
        "identity": identity,
        "version": SCHEMA_VERSION,
        "sequence": sequence,
        "journal": encode_end(JournalEnd()),
        **fields,
    }
    _insert_document(database, METADATA, store)


def create_collections(database: Database[dict[str, Any]], *, partition: int | None = None) -> None:
    """Create the collections and indexes that are missing, those of a `partition` if it is one."""
    further = () if partition is None else PARTITION_COLLECTIONS
    names = (*COLLECTIONS, *further, *(ORDER_COLLECTIONS if partition == 0 else ()))
    for name in names:
        try:
            database.create_collection(name, check_exists=False)
        except CollectionInvalid:
            pass
        except OperationFailure as error:
            if error.code != _EXISTS:
                raise
    for name in names:
        if name in INDEXES:
            database.get_collection(name).create_indexes(INDEXES[name])


def _insert_document(
    database: Database[dict[str, Any]], name: str, document: dict[str, Any]
) -> None:
    collection = database.get_collection(name, write_concern=WriteConcern(w="majority", j=True))
    try:
        collection.insert_one(document)
    except DuplicateKeyError:
        return


def refuse_earlier(connection: Connection) -> None:
    """Refuse the store of a development version before schema 1.

    Raises:
        SchemaTooOld: the database holds such a store.
    """
    metadata = connection.database.get_collection(METADATA)
    where = {"_id": EARLIER_STORE, "identity": {"$exists": True}}
    if metadata.find_one(where, {"_id": 1}) is None:
        return
    if connection.managed:
        option, move_away = "--store mongodb+managed://", "move its home folder away"
        discard = "remove its home folder"
    else:
        option, move_away = f"--store {connection.place}", "name another database in the address"
        discard = f"drop the database {connection.database.name!r}"
    raise obsolete_store_error(
        connection.place, option=option, move_away=move_away, discard=discard
    )


def refuse_foreign(connection: Connection) -> None:
    """Refuse a database with documents of another program, or of a store that lost its document."""
    initial_ids = {SCOPES: [GLOBAL], METADATA: [STORE, ORDER]}
    for name in COLLECTIONS:
        foreign = {"_id": {"$nin": initial_ids.get(name, [])}}
        if connection.database.get_collection(name).find_one(foreign, {"_id": 1}) is not None:
            raise StorageUnavailable(
                f"{connection.place} has a collection {name!r} of another program, or has lost the "
                f"document {STORE!r} of {METADATA!r}: name another database in the address, or "
                "restore this document; nothing was changed"
            )


def read_identity(store: dict[str, Any] | None, place: str) -> str:
    """Return the identity in a store document.

    Raises:
        SchemaTooNew: a newer version of this package wrote the store.
        StoreDamaged: the document is missing or cannot be read.
    """
    if store is not None:
        refuse_newer(store, place)
    known = {*range(1, SCHEMA_VERSION + 1), PARTITIONED_VERSION}
    is_known = store is not None and store.get("version") in known
    if not is_known or store is None or not isinstance(store.get("identity"), str):
        raise StoreDamaged(
            f"{place} has no readable document {STORE!r} in {METADATA!r}: restore it from a backup"
        )
    return str(store["identity"])
