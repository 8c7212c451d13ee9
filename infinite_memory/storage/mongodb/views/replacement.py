"""A new content for a database, prepared in collections of other names, which are then renamed.

The store document notes the swap before the first collection is renamed. From then on every process
that meets the note renames what is left, so that an interrupted swap is always finished, and no
commit comes in between.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

import pymongo
from attrs import evolve
from pymongo.client_session import ClientSession
from pymongo.collection import Collection
from pymongo.database import Database
from pymongo.errors import OperationFailure, PyMongoError

from infinite_memory.core.errors import Conflict
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.entry import JournalEnd
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.creation import create_collections, insert_store
from infinite_memory.storage.mongodb.errors import translate_errors
from infinite_memory.storage.mongodb.metadata import (
    SWAP,
    encode_end,
    end_in,
    sequence_in,
    take_turn,
)
from infinite_memory.storage.mongodb.schema import (
    COLLECTIONS,
    METADATA,
    ORDER,
    ORDER_COLLECTIONS,
    PARTITION_COLLECTIONS,
    RESTORING,
    STORE,
)
from infinite_memory.storage.mongodb.transactions import end_abandoned, in_transaction
from infinite_memory.storage.preconditions import refuse_replacement

_NAMESPACE_NOT_FOUND = 26
_ALL_COLLECTIONS = (*COLLECTIONS, *PARTITION_COLLECTIONS, *ORDER_COLLECTIONS)
_PREFIXED = "^restoring_[0-9a-f]{8}_"
# A server ends the transaction of a dead client after 60 s; this package does so after 5 s, if the
# user may.
_ALONE_SECONDS = 100.0
_WAIT_SECONDS = 3.0


class _RenamedDatabase:
    """Stands in for a database whose collections have a prefix in their names."""

    def __init__(self, database: Database[dict[str, Any]], prefix: str) -> None:
        self._database = database
        self._prefix = prefix
        self.name = database.name
        self.client = database.client
        self.codec_options = database.codec_options

    def get_collection(self, name: str, **options: Any) -> Any:
        """Return the collection with the prefix."""
        return self._database.get_collection(self._prefix + name, **options)

    def create_collection(self, name: str, **options: Any) -> Any:
        """Create the collection with the prefix."""
        return self._database.create_collection(self._prefix + name, **options)

    def command(self, name: str) -> dict[str, Any]:
        """Run a command on the whole database."""
        return self._database.command(name)


class MongoReplacement:
    """See `Replacement`."""

    def __init__(
        self, connection: Connection, storage: Storage, prefix: str, sequence: int
    ) -> None:
        """Prepare the content of the database in `storage`, in the collections of `prefix`.

        `sequence` is the number of the last change of the database.
        """
        self.storage = storage
        self.sequence = sequence
        self._connection = connection
        self._prefix = prefix

    @property
    def staged_metadata(self) -> Collection[dict[str, Any]]:
        """The collection with the store document of the new content."""
        return self._connection.database.get_collection(self._prefix + METADATA)

    def swap(self, *, position: int, entries: int) -> None:
        """Put the content in place; see `Replacement.swap`."""
        connection = self._connection

        def note_swap(session: ClientSession) -> None:
            present, end = self.take_turn(note, session)
            refuse_replacement(position, entries, present, end)

        with translate_errors(connection.place):
            note = self.make_note()
            in_transaction(connection, note_swap)
            finish_swap(connection)

    def make_note(self) -> dict[str, Any]:
        """Return what the store document notes of the swap."""
        place = self._connection.place
        staged = self.staged_metadata.find_one({"_id": STORE})
        if staged is None:
            raise _make_overtaken_error(place)
        return {
            "prefix": self._prefix,
            "sequence": sequence_in(staged, place),
            "journal": encode_end(end_in(staged, place)),
            "active_model": staged.get("active_model"),
        }

    def take_turn(self, note: dict[str, Any], session: ClientSession) -> tuple[int, JournalEnd]:
        """Note the swap in a transaction; return where the feed and the journal end."""
        database, place = self._connection.database, self._connection.place
        metadata = database.get_collection(METADATA)
        store = take_turn(database, place, session)
        claim = metadata.find_one({"_id": RESTORING}, session=session)
        if claim is None or claim.get("prefix") != note["prefix"]:
            raise _make_overtaken_error(place)
        metadata.update_one({"_id": STORE}, {"$set": {SWAP: note}}, session=session)
        return sequence_in(store, place), end_in(store, place)


def _make_overtaken_error(place: str) -> Conflict:
    return Conflict(
        f"another process began to restore {place} meanwhile, and this restore has changed nothing:"
        " wait until the other has ended, then repeat this"
    )


def finish_swap(connection: Connection) -> None:
    """Rename the collections of a swap that was noted; any number of processes may do so."""
    database = connection.database
    metadata = database.get_collection(METADATA)
    store = metadata.find_one({"_id": STORE}) or {}
    note = store.get(SWAP)
    if not isinstance(note, dict):
        return
    prefix = str(note["prefix"])
    for name in _ALL_COLLECTIONS:
        if name != METADATA:
            _run_alone(connection, partial(_rename_collection, database, prefix + name, name))
    after = {"sequence": note["sequence"], "journal": note["journal"]}
    change: dict[str, Any] = {"$set": after, "$unset": {SWAP: ""}}
    if note["active_model"] is None:
        change["$unset"]["active_model"] = ""
    else:
        after["active_model"] = note["active_model"]

    def end_swap(session: ClientSession) -> None:
        # Once: a slow process must not undo what others have stored since.
        where = {"_id": STORE, f"{SWAP}.prefix": prefix}
        is_last = metadata.update_one(where, change, session=session).matched_count
        if is_last and ORDER in note:
            metadata.update_one({"_id": ORDER}, {"$set": note[ORDER]}, session=session)

    in_transaction(connection, end_swap)
    _discard_collections(connection, prefix)


def _rename_collection(database: Database[dict[str, Any]], former: str, name: str) -> None:
    try:
        database.get_collection(former).rename(name, dropTarget=True)
    except OperationFailure as error:
        # Another process has renamed it.
        if error.code != _NAMESPACE_NOT_FOUND:
            raise


def _discard_all(connection: Connection) -> None:
    """Remove the collections of every prefix, which killed processes have left."""
    names = connection.database.list_collection_names(filter={"name": {"$regex": _PREFIXED}})
    for name in names:
        _run_alone(connection, partial(connection.database.drop_collection, name))


def _run_alone(connection: Connection, work: Callable[[], object]) -> None:
    """Run `work` on a collection that no transaction may use meanwhile.

    The server lets it wait for transactions, also for one of a process that was killed.
    """
    deadline = time.monotonic() + _ALONE_SECONDS
    while True:
        try:
            with pymongo.timeout(_WAIT_SECONDS):
                work()
        except PyMongoError as error:
            if not error.timeout or time.monotonic() > deadline:
                raise
            end_abandoned(connection)
        else:
            return


@contextmanager
def prepare_beside(
    connection: Connection,
    identity: str,
    open_storage: Callable[[Connection], Storage],
    *,
    partition: int | None = None,
) -> Iterator[MongoReplacement]:
    """Create an empty store that continues the feed of the database; remove it at the end.

    What a killed process has left is removed first. If two processes restore at the same time, the
    later one goes on.
    """
    database = connection.database
    metadata = database.get_collection(METADATA)
    prefix = f"restoring_{secrets.token_hex(4)}_"

    def claim(session: ClientSession) -> None:
        # A swap that is noted meanwhile still needs its collections.
        take_turn(database, connection.place, session)
        mark = {"_id": RESTORING, "prefix": prefix}
        metadata.replace_one({"_id": RESTORING}, mark, upsert=True, session=session)

    with translate_errors(connection.place):
        in_transaction(connection, claim)
        _discard_all(connection)
        store = metadata.find_one({"_id": STORE})
        renamed = cast(Database[dict[str, Any]], _RenamedDatabase(database, prefix))
        create_collections(renamed, partition=partition)
        sequence = sequence_in(store, connection.place)
        insert_store(renamed, identity=identity, sequence=sequence)
    try:
        storage = open_storage(evolve(connection, database=renamed))
        yield MongoReplacement(connection, storage, prefix, sequence)
    finally:
        # An unfinished swap still needs the collections; whoever meets it removes them.
        with suppress(PyMongoError):
            if not in_transaction(connection, partial(_is_noted, metadata, prefix)):
                _discard_collections(connection, prefix)


def _is_noted(metadata: Collection[dict[str, Any]], prefix: str, session: ClientSession) -> bool:
    """Return whether a swap is noted; as a turn, it waits for a note that is under way."""
    turn = {"$inc": {"turns": 1}}
    store = metadata.find_one_and_update({"_id": STORE}, turn, session=session) or {}
    return bool((store.get(SWAP) or {}).get("prefix") == prefix)


def _discard_collections(connection: Connection, prefix: str) -> None:
    """Remove the collections of a prefix, and the claim of it."""
    database = connection.database
    for name in _ALL_COLLECTIONS:
        _run_alone(connection, partial(database.drop_collection, prefix + name))
    database.get_collection(METADATA).delete_one({"_id": RESTORING, "prefix": prefix})
