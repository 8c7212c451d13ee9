"""Open the store at an address, in one database or in several; create it if there is none."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any
from uuid import uuid4

from attrs import evolve
from pymongo import WriteConcern
from pymongo.collection import Collection
from pymongo.errors import DuplicateKeyError, InvalidName

from infinite_memory.core.errors import ConfigurationError, StorageUnavailable
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.address import masked
from infinite_memory.core.values.entry import JournalEnd
from infinite_memory.storage.mongodb.brief_calls import close_client
from infinite_memory.storage.mongodb.connection import Connection, connect
from infinite_memory.storage.mongodb.creation import (
    create_collections,
    insert_store,
    read_identity,
    refuse_earlier,
    refuse_foreign,
    wait_for_store,
)
from infinite_memory.storage.mongodb.errors import translate_errors
from infinite_memory.storage.mongodb.partitions.order import Ends, Order
from infinite_memory.storage.mongodb.partitions.storage import PartitionedStorage
from infinite_memory.storage.mongodb.schema import (
    METADATA,
    ORDER,
    PARTITION,
    PARTITIONED_VERSION,
    PARTITIONS,
    STORE,
)
from infinite_memory.storage.mongodb.storage import MongoStorage
from infinite_memory.storage.mongodb.views.replacement import finish_swap

MOST_PARTITIONS = 128

_OPTION = re.compile(r"(?<=[?&])partitions=([^&]*)&?", re.I)

_Document = dict[str, Any]


def open_mongodb(address: str, **settings: Any) -> Storage:
    """Open the store at an address that begins with mongodb:// or mongodb+srv://.

    The option `partitions=N` of the address creates a store in N databases where there is none.
    `settings` of the driver override the options of the address.

    Collections and indexes are created at the first use.

    Raises:
        ConfigurationError: the address cannot be used, or asks for less than durable writes; the
            store has another number of partitions, or is a partition of another store.
        StorageUnavailable: the server cannot be reached, is too old, is a standalone server, or
            refuses the user; or a database holds something else.
        SchemaTooNew: a newer version of this package wrote it.
        SchemaTooOld: a development version before schema 1 wrote it.
        StoreDamaged: the store document, which counts the changes, cannot be read.
    """
    address, wanted = split_partitions(address)
    connection = connect(address, **settings)
    try:
        with translate_errors(connection.place):
            store = _find_store(connection)
            if store is None and wanted is not None:
                _create_partitions(connection, wanted)
                store = wait_for_store(_metadata(connection))
        return _open_found(connection, store, wanted)
    except BaseException:
        close_client(connection.client)
        raise


def open_existing_mongodb(address: str) -> Storage | None:
    """Open the store as `open_mongodb` does, or return None where there is none yet."""
    address, wanted = split_partitions(address)
    connection = connect(address)
    try:
        with translate_errors(connection.place):
            refuse_earlier(connection)
            store = _find_store(connection)
        if store is not None:
            return _open_found(connection, store, wanted)
    except BaseException:
        close_client(connection.client)
        raise
    close_client(connection.client)
    return None


def split_partitions(address: str) -> tuple[str, int | None]:
    """Return an address without its option `partitions`, and the number there, None without one.

    Raises:
        ConfigurationError: the option is not a whole number from 2 on.
    """
    found = _OPTION.findall(address)
    if not found:
        return address, None
    text = ",".join(found)
    number = int(text) if text.isdecimal() and len(text) < 5 else 0
    if not 2 <= number <= MOST_PARTITIONS:
        raise ConfigurationError(
            f"the store {masked(address)} cannot have partitions={text!r:.20}: give a whole number "
            f"from 2 to {MOST_PARTITIONS}, or leave it out for a store in one database"
        )
    return _OPTION.sub("", address).rstrip("?&"), number


def _find_store(connection: Connection) -> _Document | None:
    return _metadata(connection).find_one({"_id": STORE})


def _open_found(connection: Connection, store: _Document | None, wanted: int | None) -> Storage:
    place = connection.place
    count = (store or {}).get(PARTITIONS)
    if wanted is not None and count != wanted:
        has = "is in one database" if count is None else f"has {count} partitions"
        raise ConfigurationError(
            f"the store {place} {has}, not partitions={wanted}: leave this option out, or copy the "
            "store to an address with it and the name of a new database; nothing was changed"
        )
    if count is None or store is None:
        return MongoStorage(connection)
    if store.get(PARTITION) != 0:
        raise ConfigurationError(
            f"the store {place} is a part of another store: name in the address the database "
            "without the ending -p and its number; nothing was changed"
        )
    identity = read_identity(store, place)
    connections = list_partitions(connection, count)
    with translate_errors(place):
        for number, each in enumerate(connections):
            _refuse_other(each, _find_store(each) or {}, identity, number)
            finish_swap(each)
    return PartitionedStorage(connections, identity)


def _refuse_other(connection: Connection, store: _Document, identity: str, number: int) -> None:
    """Refuse a database that is not the partition `number` of the store `identity`."""
    if (store.get("identity"), store.get(PARTITION)) != (identity, number):
        raise StorageUnavailable(
            f"{connection.place} does not hold partition {number} of this store: put all databases "
            "back to one moment, or name another database in the address; nothing was changed"
        )


def list_partitions(connection: Connection, count: int) -> list[Connection]:
    """Return the connections to the partitions of the store whose first one is `connection`.

    Raises:
        ConfigurationError: the server takes no name of that length for a database.
    """
    found = [connection]
    first = connection.database
    try:
        for number in range(1, count):
            database = connection.client.get_database(
                f"{first.name}-p{number}",
                write_concern=first.write_concern,
                read_concern=first.read_concern,
            )
            place = f"{connection.place} (in the database {database.name})"
            found.append(evolve(connection, database=database, place=place))
    except InvalidName as error:
        raise ConfigurationError(f"the store {connection.place} cannot be used: {error}") from error
    return found


def _create_partitions(connection: Connection, count: int) -> None:
    """Create a store in `count` databases; any number of processes may do so at the same time."""
    connections = list_partitions(connection, count)
    refuse_earlier(connection)
    if _find_order(connection) is None:
        for each in connections:
            if _find_store(each) is not None and _find_order(connection) is None:
                raise StorageUnavailable(
                    f"{each.place} holds another store: name another database in the address; "
                    "nothing was changed"
                )
            refuse_foreign(each)
    identity = _insert_order(connection, count)
    # The first one comes last: until it has a store, another process repeats the creation.
    for number, each in reversed(list(enumerate(connections))):
        create_collections(each.database, partition=number)
        fields = {"version": PARTITIONED_VERSION, PARTITIONS: count, PARTITION: number}
        insert_store(each.database, identity=identity, sequence=0, **fields)
        if number:
            _refuse_other(each, wait_for_store(_metadata(each)) or {}, identity, number)


def _insert_order(connection: Connection, count: int) -> str:
    """Insert the order of a new store, and return the identity of the one that is there."""
    nothing = Order(changes=0, journal=JournalEnd(), ends=(Ends(0, 0),) * count)
    durable = WriteConcern(w="majority", j=True)
    metadata = connection.database.get_collection(METADATA, write_concern=durable)
    with suppress(DuplicateKeyError):
        identity = str(uuid4())
        metadata.insert_one({"_id": ORDER, "identity": identity, **nothing.to_document()})
    found = _find_order(connection)
    begun = len(Order.of(found, connection.place).ends)
    if begun != count:
        raise StorageUnavailable(
            f"{connection.place} was begun with partitions={begun}, not {count}: give that number, "
            "or name another database in the address; nothing was changed"
        )
    return str((found or {}).get("identity"))


def _find_order(connection: Connection) -> _Document | None:
    return _metadata(connection).find_one({"_id": ORDER})


def _metadata(connection: Connection) -> Collection[_Document]:
    return connection.database.get_collection(METADATA)
