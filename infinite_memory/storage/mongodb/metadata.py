"""The store document: the last change, the end of the journal, the active model, the version."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from bson.int64 import Int64
from pymongo.client_session import ClientSession
from pymongo.database import Database

from infinite_memory.core.errors import SchemaTooNew, StorageUnavailable, StoreDamaged
from infinite_memory.core.values.entry import JournalEnd
from infinite_memory.storage.mongodb.schema import (
    METADATA,
    PARTITIONED_VERSION,
    PARTITIONS,
    SCHEMA_VERSION,
    STORE,
)

_Document = Mapping[str, Any]

SWAP = "swap"
"""The field that notes that the content is being replaced, see `views.replacement`."""


HELD = "held"
"""The field in which a commit of all partitions asks the commits of this one to wait."""


class SwapUnfinished(StorageUnavailable):
    """The content of the store is being replaced: finish that, then repeat the call."""


def take_turn(
    database: Database[dict[str, Any]], place: str, session: ClientSession
) -> dict[str, Any]:
    """Count a commit in the store document, and return it as it was, in the transaction.

    Done first, so that a parallel commit fails here with a write conflict. It ends the request of a
    commit of all partitions, which either takes its turn now or has died.

    Raises:
        SchemaTooNew: a newer version of this package has changed the store while it was open.
        StorageUnavailable: the document is gone.
        SwapUnfinished: the content of the store is being replaced.
    """
    found = database.get_collection(METADATA).find_one_and_update(
        {"_id": STORE}, {"$inc": {"turns": 1}, "$unset": {HELD: ""}}, session=session
    )
    if found is None:
        raise StorageUnavailable(f"{place} was dropped while it was open")
    refuse_newer(found, place)
    _refuse_swap(found, place)
    return found


def _refuse_swap(found: _Document, place: str) -> None:
    if SWAP in found:
        raise SwapUnfinished(f"{place} is being restored at the moment: try again in a moment")


def refuse_newer(found: _Document, place: str, known: int = SCHEMA_VERSION) -> None:
    """Raise `SchemaTooNew` if the schema of the store is newer than the schema `known`."""
    version = found.get("version")
    if PARTITIONS in found:
        known = max(known, PARTITIONED_VERSION)
    if isinstance(version, int) and version > known:
        raise SchemaTooNew(
            f"{place} was written by a newer version of Infinite Memory (its schema is "
            f"{version}, this version knows {known}): upgrade infinite-memory; "
            "nothing was changed"
        )


def sequence_in(found: _Document | None, place: str) -> int:
    """Return the number of the last change.

    Raises:
        StoreDamaged: the number is missing.
    """
    sequence = None if found is None else found.get("sequence")
    if not isinstance(sequence, int):
        raise StoreDamaged(
            f"{place} has lost the count of its changes, in the document {STORE!r} of "
            f"{METADATA!r}: restore it from a backup; nothing was changed"
        )
    return int(sequence)


def end_in(found: _Document | None, place: str) -> JournalEnd:
    """Return the number and the digest of the last entry.

    Raises:
        StoreDamaged: the number or the digest is missing.
    """
    end = None if found is None else found.get("journal")
    number = end.get("number") if isinstance(end, dict) else None
    digest = end.get("digest") if isinstance(end, dict) else None
    if not (isinstance(number, int) and isinstance(digest, bytes) and len(digest) == _DIGEST_BYTES):
        raise StoreDamaged(
            f"{place} has lost the end of its journal, in the document {STORE!r} of "
            f"{METADATA!r}: restore it from a backup; nothing was changed"
        )
    return JournalEnd(number=int(number), digest=digest)


_DIGEST_BYTES = len(JournalEnd().digest)


def encode_end(end: JournalEnd) -> dict[str, Any]:
    """Return the end of the journal as a subdocument; a later end compares as greater."""
    return {"number": Int64(end.number), "digest": end.digest}


def position(
    database: Database[dict[str, Any]], place: str, session: ClientSession | None = None
) -> int:
    """Return the number of the last change."""
    return sequence_in(_read_fields(database, ("sequence",), place, session), place)


def journal_end(database: Database[dict[str, Any]], place: str) -> JournalEnd:
    """Return the number and the digest of the last entry."""
    return end_in(_read_fields(database, ("journal",), place), place)


def read_ends(
    database: Database[dict[str, Any]], place: str, session: ClientSession | None = None
) -> tuple[int, JournalEnd]:
    """Return the number of the last change, and the end of the journal, as of one moment."""
    found = _read_fields(database, ("sequence", "journal"), place, session)
    return sequence_in(found, place), end_in(found, place)


def active_model(database: Database[dict[str, Any]], place: str) -> str | None:
    """Return the model that answers, None before a commit named one.

    Raises:
        StoreDamaged: it is not text.
    """
    model = (_read_fields(database, ("active_model",), place) or {}).get("active_model")
    if model is None or isinstance(model, str):
        return model
    raise StoreDamaged(
        f"{place} has lost the name of the model that answers, in the document {STORE!r} of "
        f"{METADATA!r}: restore it from a backup; nothing was changed"
    )


def _read_fields(
    database: Database[dict[str, Any]],
    names: Collection[str],
    place: str,
    session: ClientSession | None = None,
) -> dict[str, Any] | None:
    # A pinned database reads in a session of its own, which None would replace.
    within = {} if session is None else {"session": session}
    fields = dict.fromkeys((*names, SWAP), 1)
    found = database.get_collection(METADATA).find_one({"_id": STORE}, fields, **within)
    if found is not None:
        _refuse_swap(found, place)
    return found
