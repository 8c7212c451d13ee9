"""Usage, a document with a checksum per memory that was used.

A transaction adds the counts, as in a commit. The counts are therefore exact, have a checksum, and
are erased with their memory.

A document has the fields `last`, and `activation` with `activated_at`, only where they are set.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from bson.int64 import Int64
from pymongo.database import Database

from infinite_memory.core.values.codec import from_micros, to_micros
from infinite_memory.core.values.record import Usage
from infinite_memory.storage.damage import USAGE as USAGE_PREFIX
from infinite_memory.storage.damage import DamageLog
from infinite_memory.storage.mongodb.document_writes import DocumentWrites
from infinite_memory.storage.mongodb.documents import Document, fits, sealed
from infinite_memory.storage.mongodb.schema import USAGE

_KIND = b"usage"
_IDS_AT_ONCE = 1000


def usage_of(
    database: Database[dict[str, Any]], ids: Collection[str], damage: DamageLog
) -> dict[str, Usage]:
    """Return how often the memories with these ids were used; see `Storage.usage`."""
    wanted = list(dict.fromkeys(ids))
    counts: dict[str, Usage] = {}
    for start in range(0, len(wanted), _IDS_AT_ONCE):
        batch = wanted[start : start + _IDS_AT_ONCE]
        for document in database.get_collection(USAGE).find({"_id": {"$in": batch}}):
            usage = _decode_usage(document)
            if usage is None:
                damage.skip_record(USAGE_PREFIX + document["_id"])
            else:
                counts[document["_id"]] = usage
    return {memory_id: counts[memory_id] for memory_id in wanted if memory_id in counts}


def add_usage(used: Mapping[str, Usage], known: Mapping[str, Document]) -> DocumentWrites:
    """Return the writes that add `used` to the `known` documents; damaged counts restart."""
    writes = DocumentWrites()
    for memory_id, usage in used.items():
        before = _decode_usage(known[memory_id]) if memory_id in known else None
        after = usage if before is None else before.plus(usage)
        writes.put(USAGE, _encode_usage(memory_id, after))
    return writes


def _encode_usage(memory_id: str, usage: Usage) -> Document:
    document: Document = {"_id": memory_id, "count": Int64(usage.count)}
    if usage.last is not None:
        document["last"] = Int64(to_micros(usage.last))
    if usage.activated_at is not None:
        document["activation"] = usage.activation
        document["activated_at"] = Int64(to_micros(usage.activated_at))
    return sealed(_KIND, f"the usage of memory {memory_id!r}", document)


def _decode_usage(document: Document) -> Usage | None:
    if not fits(_KIND, document):
        return None
    return Usage(
        count=document["count"],
        last=_read_moment(document, "last"),
        activation=document.get("activation", 0.0),
        activated_at=_read_moment(document, "activated_at"),
    )


def _read_moment(document: Document, name: str) -> datetime | None:
    return from_micros(document[name]) if name in document else None
