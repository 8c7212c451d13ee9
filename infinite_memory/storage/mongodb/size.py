"""The size of a store: counts and bytes, computed by the server."""

from __future__ import annotations

from typing import Any

from infinite_memory.core.values.codec import from_micros
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.record import Size
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.schema import JOURNAL, LINKS, MEMORIES, REVISIONS

# A document that another program altered may lack a field, or hold another type in it.
_COUNTABLE: dict[str, Any] = {
    "$match": {
        "happened_at": {"$type": "long"},
        **{name: {"$type": "string"} for name in ("scope", "kind", "status")},
    }
}


def measure(connection: Connection) -> Size:
    """Count the records; see `Storage.measure`."""
    memories = connection.database.get_collection(MEMORIES)
    counts: dict[tuple[str, str, str], int] = {}
    embedded: dict[str, int] = {}
    bounds: list[int] = []
    groups: list[dict[str, Any]] = [
        {
            "$group": {
                "_id": {name: f"${name}" for name in ("scope", "kind", "status", "embedded_by")},
                "count": {"$sum": 1},
                "oldest": {"$min": "$happened_at"},
                "newest": {"$max": "$happened_at"},
            }
        }
    ]
    for group in memories.aggregate([_COUNTABLE, *groups], allowDiskUse=True):
        fields, count = group["_id"], int(group["count"])
        key = (fields["scope"], fields["kind"], fields["status"])
        counts[key] = counts.get(key, 0) + count
        bounds += [group["oldest"], group["newest"]]
        if fields["status"] != Status.FORGOTTEN:
            for model in filter(None, str(fields.get("embedded_by") or "").split("\n")):
                embedded[model] = embedded.get(model, 0) + count
    statistics = connection.database.command("dbStats")
    return Size(
        memories=counts,
        revisions=connection.database.get_collection(REVISIONS).count_documents({}),
        links=connection.database.get_collection(LINKS).count_documents({}),
        entries=connection.database.get_collection(JOURNAL).count_documents({}),
        embedded=embedded,
        size_bytes=int(statistics.get("storageSize", 0)) + int(statistics.get("indexSize", 0)),
        oldest=from_micros(min(bounds)) if bounds else None,
        newest=from_micros(max(bounds)) if bounds else None,
    )
