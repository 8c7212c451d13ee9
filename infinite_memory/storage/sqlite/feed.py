"""The change feed: memories by their last change, and the ids of erased ones among them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from heapq import merge
from pathlib import Path

from infinite_memory.model.record import Change, Changes
from infinite_memory.storage.damage import DamageLog, name_of
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.sqlite.database import Snapshot
from infinite_memory.storage.sqlite.errors import DAMAGE
from infinite_memory.storage.sqlite.metadata import read_ledger
from infinite_memory.storage.sqlite.records import select_records
from infinite_memory.storage.sqlite.rows import SEQUENCE

__all__ = ["ERASED", "erased_fits", "read_changes", "read_pending", "seal_erased", "was_erased"]

_KIND = b"erased"
# To look at a row takes some microseconds; those far down a long list are looked at once they are
# asked for.
_LOOKED_AT = 64

_SETS_OF_MODELS = """
WITH RECURSIVE seen (models) AS (
    SELECT min(embedded_by) FROM memories
    UNION ALL
    SELECT (SELECT min(embedded_by) FROM memories WHERE embedded_by > seen.models)
    FROM seen WHERE seen.models IS NOT NULL
)
SELECT CAST(models AS BLOB) FROM seen WHERE models IS NOT NULL
"""
_WAITING = """
SELECT sequence, CAST(id AS BLOB), number FROM memories
WHERE embedded_by IS CAST(? AS TEXT) AND (status = 'forgotten') = 0 AND typeof(sequence) = 'integer'
ORDER BY sequence
"""

ERASED = "SELECT CAST(sequence AS INTEGER), CAST(id AS BLOB), CAST(checksum AS BLOB) FROM erased"
"""The query whose rows `erased_fits` takes."""


def read_changes(
    snapshot: Snapshot,
    after: int,
    *,
    limit: int,
    path: Path,
    damage: DamageLog,
    models: Collection[str] | None,
) -> Changes:
    """Return the latest state of at most `limit` memories changed since the cursor `after`.

    Sequence numbers are given under the writers' lock, so they become visible in their order.
    """
    position = read_ledger(snapshot.connection, path).sequence
    items: list[Change] = []
    cursor = after
    news = merge(
        _stored(snapshot, after, damage, models),
        _erased(snapshot, after, damage),
        key=lambda each: each[0],
    )
    for sequence, change in news:
        if len(items) == limit:
            return Changes(items=tuple(items), cursor=cursor)
        items.append(change)
        cursor = sequence
    return Changes(items=tuple(items), cursor=position)


def _stored(
    snapshot: Snapshot, after: int, damage: DamageLog, models: Collection[str] | None
) -> Iterator[tuple[int, Change]]:
    condition = "WHERE m.sequence > ? ORDER BY m.sequence"
    for row, record in select_records(snapshot, damage, condition, after, models=models):
        if record is None:
            damage.skip_record(name_of(row[0]))
        else:
            yield row[SEQUENCE], Change(id=record.memory.id, record=record)


def was_erased(snapshot: Snapshot, memory_id: str, damage: DamageLog) -> bool:
    """Tell whether a memory of that id was erased and none is there now."""
    return any(_notes(snapshot, "id = ?", memory_id, damage))


def _erased(snapshot: Snapshot, after: int, damage: DamageLog) -> Iterator[tuple[int, Change]]:
    return _notes(snapshot, "sequence > ? ORDER BY sequence", after, damage)


def _notes(
    snapshot: Snapshot, condition: str, value: int | str, damage: DamageLog
) -> Iterator[tuple[int, Change]]:
    rows = snapshot.rows(f"{ERASED} WHERE {condition}", (value,))
    for sequence, memory_id, checksum in rows:
        if erased_fits(sequence, memory_id, checksum):
            yield sequence, Change(id=memory_id.decode(), record=None)
        else:
            damage.skip_record(name_of(memory_id))


def seal_erased(memory_id: str, sequence: int) -> bytes:
    """Return the checksum of the line that an erased memory leaves."""
    return seal(_KIND, (sequence,), (memory_id.encode(),))


def erased_fits(sequence: int, memory_id: bytes, checksum: object) -> bool:
    """Tell whether the line that an erased memory left is as it was written."""
    return seal_fits(_KIND, (sequence,), (memory_id,), checksum)


def read_pending(snapshot: Snapshot, model: str, *, limit: int, damage: DamageLog) -> list[str]:
    """Return ids of memories that are not embedded by `model`, by their last change.

    Each set of models is a range of an index that is in order already, so nothing is sorted, and
    there are only as many as sets are in use. The first ones are looked at, so that a damaged one,
    which is noted, does not keep what waits from ever coming to an end.
    """
    sets = [names for (names,) in snapshot.rows(_SETS_OF_MODELS)]
    others = [None, *(names for names in sets if model.encode() not in names.split(b"\n"))]
    ranges = (snapshot.rows(_WAITING, (names,)) for names in others)
    waiting = merge(*ranges, key=lambda each: each[0])
    left_out = damage.records
    ids: list[str] = []
    looked_at = 0
    for _, blob, number in waiting:
        memory_id = name_of(blob)
        if memory_id in left_out:
            continue
        looked_at += 1
        if looked_at > _LOOKED_AT or _is_sound(snapshot, number, damage):
            ids.append(memory_id)
        else:
            damage.skip_record(memory_id)
        if len(ids) == limit:
            break
    return ids


def _is_sound(snapshot: Snapshot, number: int, damage: DamageLog) -> bool:
    """Tell whether the memory in that row is as it was written, as far as it can be read."""
    try:
        found = select_records(snapshot, damage, "WHERE m.number = ?", number, models=())
        return all(record is not None for _, record in found)
    except DAMAGE:
        return True  # a page is malformed: whoever reads the memory is told
