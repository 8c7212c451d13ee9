"""Steps that bring the collections of an older schema forward, one version at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pymongo.client_session import ClientSession
from pymongo.collection import Collection
from pymongo.database import Database

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.creation import create_collections
from infinite_memory.storage.mongodb.metadata import refuse_newer
from infinite_memory.storage.mongodb.schema import METADATA, SCHEMA_VERSION, STORE
from infinite_memory.storage.mongodb.transactions import in_transaction

Step = Callable[[Database[dict[str, Any]], ClientSession], None]
"""Converts the documents of a version to the next version, in the transaction of a session."""


def _add_access_keys(database: Database[dict[str, Any]], session: ClientSession) -> None:
    """Convert nothing: the collection of access keys is new, and `migrate` has created it."""


def _add_activations(database: Database[dict[str, Any]], session: ClientSession) -> None:
    """Convert nothing: an older program is refused, since it would drop the new fields of usage."""


STEPS: dict[int, Step] = {1: _add_access_keys, 2: _add_activations}
"""The migration step of every older version."""


def migrate(
    connection: Connection, *, steps: Mapping[int, Step] = STEPS, target: int = SCHEMA_VERSION
) -> bool:
    """Bring the collections to the schema `target`; return whether a step ran.

    A step and its new version number are one transaction, so the step runs exactly once even if
    several processes open the store at the same time. A process of the older version that still
    runs is refused at its next commit.

    Raises:
        SchemaTooNew: the store has a newer schema.
        StoreDamaged: the store has a version number that no version of this package wrote.
    """
    metadata = connection.database.get_collection(METADATA)
    if _read_version(metadata, connection.place, target) == target:
        return False

    def run_step(session: ClientSession) -> bool:
        version = _read_version(metadata, connection.place, target, session)
        if version == target:
            return False
        if version not in steps:
            raise StoreDamaged(
                f"{connection.place} has schema {version}, which no version of this package wrote, "
                f"in the document {STORE!r} of {METADATA!r}: restore it from a backup; "
                "nothing was changed"
            )
        # Written first, so that a parallel migration fails with a write conflict.
        metadata.update_one({"_id": STORE}, {"$set": {"version": version + 1}}, session=session)
        steps[version](connection.database, session)
        return True

    # Before the transactions, since a transaction cannot create an index on existing documents.
    create_collections(connection.database)
    while in_transaction(connection, run_step):
        pass
    return True


def _read_version(
    metadata: Collection[dict[str, Any]],
    place: str,
    target: int,
    session: ClientSession | None = None,
) -> int:
    store = metadata.find_one({"_id": STORE}, {"version": 1}, session=session) or {}
    refuse_newer(store, place, target)
    return int(store.get("version", 0))
