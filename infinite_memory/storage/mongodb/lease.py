"""The lease of the upkeep, in the store document, by the clock of the server.

Every commit writes the store document first. A lease that is taken while a commit is under way
therefore waits for it or makes it begin again, and then the commit finds the new number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from pymongo.collection import Collection, ReturnDocument
from pymongo.database import Database

from infinite_memory.storage.mongodb.schema import METADATA, STORE
from infinite_memory.storage.mongodb.transactions import JOURNALED

_Document: TypeAlias = dict[str, Any]

LEASE_SECONDS = 12
"""How long a lease lasts without a renewal; the holder renews it every few seconds."""

_LEASE = "lease"
_NOTES = "upkeep"
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_EXPIRES = {"$add": ["$$NOW", LEASE_SECONDS * 1000]}


class MongoLease:
    """A lease that lasts for some seconds after a renewal; see `Lease`."""

    def __init__(self, number: int, update: Callable[[int, Any], bool]) -> None:
        self.number = number
        self._update = update
        self._is_released = False

    def renew(self) -> bool:
        """Prolong the lease; return whether it is still that of this object."""
        return not self._is_released and self._update(self.number, _EXPIRES)

    def release(self) -> None:
        """Give the lease up; twice does nothing."""
        if not self._is_released:
            self._is_released = True
            self._update(self.number, _NEVER)


def _get_metadata(database: Database[_Document]) -> Collection[_Document]:
    return database.get_collection(METADATA, write_concern=JOURNALED)


def take_lease(database: Database[_Document], holder: str) -> int | None:
    """Return the number of the new lease, None if somebody holds it."""
    free = {"$lte": [{"$ifNull": [f"${_LEASE}.expires", _NEVER]}, "$$NOW"]}
    lease = {
        "number": {"$add": [{"$ifNull": [f"${_LEASE}.number", 0]}, 1]},
        "holder": {"$literal": holder},
        "expires": _EXPIRES,
    }
    found = _get_metadata(database).find_one_and_update(
        {"_id": STORE, "$expr": free},
        [{"$set": {_LEASE: lease}}],
        projection={_LEASE: 1},
        return_document=ReturnDocument.AFTER,
    )
    return None if found is None else int(found[_LEASE]["number"])


def set_expiry(database: Database[_Document], number: int, expires: Any) -> bool:
    """Set when the lease with this number ends; return whether it is the latest."""
    result = _get_metadata(database).update_one(
        {"_id": STORE, f"{_LEASE}.number": number}, [{"$set": {f"{_LEASE}.expires": expires}}]
    )
    return result.matched_count == 1


def find_holder(database: Database[_Document]) -> str | None:
    """Return who holds the lease, None if nobody does."""
    held = {"$gt": [{"$ifNull": [f"${_LEASE}.expires", _NEVER]}, "$$NOW"]}
    found = _get_metadata(database).find_one({"_id": STORE, "$expr": held}, {_LEASE: 1})
    return None if found is None else str(found[_LEASE].get("holder") or "another process")


def lease_number_in(store: Mapping[str, Any]) -> int:
    """Return the number of the latest lease in the store document, 0 without a lease."""
    number = (store.get(_LEASE) or {}).get("number", 0)
    return number if isinstance(number, int) else 0


def read_notes(database: Database[_Document]) -> dict[str, str]:
    """Return the notes of the jobs."""
    found = _get_metadata(database).find_one({"_id": _NOTES}) or {}
    # A list, since a name may hold a sign that is none of a field.
    pairs = found.get("notes")
    return {
        pair[0]: pair[1]
        for pair in (pairs if isinstance(pairs, list) else [])
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(t, str) for t in pair)
    }


def write_notes(database: Database[_Document], notes: Mapping[str, str]) -> None:
    """Add notes; if two processes write at the same moment, a note may be lost."""
    merged = {**read_notes(database), **notes}
    pairs = [[name, text] for name, text in merged.items() if text]
    _get_metadata(database).update_one({"_id": _NOTES}, {"$set": {"notes": pairs}}, upsert=True)
