"""Records and their histories, read and verified."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.codec import from_json
from infinite_memory.model.memory import Memory
from infinite_memory.model.record import Record
from infinite_memory.storage.sqlite.damage import DamageLog
from infinite_memory.storage.sqlite.database import Snapshot
from infinite_memory.storage.sqlite.rows import SELECTED, decode_memory
from infinite_memory.storage.sqlite.seal import seal, seal_fits
from infinite_memory.storage.sqlite.vectors import SELECTED_EMBEDDING, decode_embedding

__all__ = [
    "RECORDS",
    "SELECTED_REVISION",
    "decode_record",
    "read_history",
    "read_records",
    "revision_fits",
    "seal_revision",
]

_KIND = b"revision"
_MEMORY_WIDTH = 23
_EMBEDDED_BY = 14

RECORDS = (
    f"SELECT {SELECTED}, {SELECTED_EMBEDDING} "
    "FROM memories m LEFT JOIN embeddings e ON e.number = m.number"
)
"""The query whose rows `decode_record` takes."""

SELECTED_REVISION = "CAST(revision AS INTEGER), CAST(body AS BLOB), CAST(checksum AS BLOB)"
"""What `revision_fits` takes after the id, of the table of revisions."""


def decode_record(row: tuple[Any, ...], damage: DamageLog) -> Record | None:
    """Return the record in a row of `RECORDS`, or None if its memory is not as it was written.

    A damaged embedding is noted and left out: it can be made anew from the text.
    """
    memory = decode_memory(row[:_MEMORY_WIDTH])
    if memory is None:
        return None
    embedded_by = row[_EMBEDDED_BY]
    if embedded_by is None:
        return Record(memory=memory)
    embedding = decode_embedding(memory.id, memory.revision, embedded_by, row[_MEMORY_WIDTH:])
    if embedding is None:
        damage.skip_embedding(memory.id)
    return Record(memory=memory, embedding=embedding)


def read_records(snapshot: Snapshot, ids: Collection[str], damage: DamageLog) -> dict[str, Record]:
    """Return the records with these ids.

    Raises:
        StoreDamaged: one of them is not as it was written.
    """
    found = {}
    for memory_id in ids:
        for row in snapshot.rows(f"{RECORDS} WHERE m.id = ?", (memory_id,)):
            record = decode_record(row, damage)
            if record is None or record.memory.id != memory_id:
                raise damage.refuse_record(memory_id)
            found[memory_id] = record
    return found


def read_history(snapshot: Snapshot, memory_id: str, damage: DamageLog) -> list[Memory]:
    """Return every revision of a memory, the current one last.

    Raises:
        StoreDamaged: one of them is not as it was written.
    """
    current = read_records(snapshot, [memory_id], damage)
    if not current:
        return []
    earlier = snapshot.rows(
        f"SELECT {SELECTED_REVISION} FROM revisions WHERE id = ? ORDER BY revision",
        (memory_id,),
    )
    return [*(_decode_revision(memory_id, row) for row in earlier), current[memory_id].memory]


def _decode_revision(memory_id: str, row: tuple[Any, ...]) -> Memory:
    revision, body, checksum = row
    if revision_fits(memory_id.encode(), revision, body, checksum):
        return from_json(json.loads(body.decode()))
    raise StoreDamaged(
        f"revision {revision} in the history of memory {memory_id!r} is not as it was written, so "
        "the history is not returned; the memory itself still works. Restore it from a backup"
    )


def revision_fits(memory_id: bytes, revision: int, body: bytes, checksum: object) -> bool:
    """Tell whether a row of `revisions` is as it was written."""
    return seal_fits(_KIND, (revision,), (memory_id, body), checksum)


def seal_revision(memory_id: str, revision: int, body: str) -> bytes:
    """Return the checksum of an earlier revision, whose JSON object is `body`."""
    return seal(_KIND, (revision,), (memory_id.encode(), body.encode()))
