"""The change feed: memories and the ids of erased memories, by their last change."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from heapq import merge
from operator import itemgetter
from pathlib import Path

from infinite_memory.core.values.record import Change, Changes
from infinite_memory.storage.damage import DamageLog, name_of
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.sqlite.errors import DAMAGE
from infinite_memory.storage.sqlite.metadata import read_ledger
from infinite_memory.storage.sqlite.readers import Snapshot
from infinite_memory.storage.sqlite.records import select_records
from infinite_memory.storage.sqlite.rows import SEQUENCE

_KIND = b"erased"
# A check of a row takes some microseconds, so `read_pending` checks only the first rows of a list.
# Later rows are checked by a later call, once they are among the first.
_MOST_CHECKED = 64

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

_HELD = "SELECT ifnull(sum(count), 0) FROM tallies WHERE scope = ?"
# The plus keeps SQLite from the other index, and the list of numbers from sorting the vectors.
_IN = (
    "WHERE m.number IN (SELECT number FROM memories WHERE {} ORDER BY sequence LIMIT ?)"
    " ORDER BY m.sequence"
)
_NEWEST_IN = _IN.format("+scope = ? AND sequence > ?")
_ALL_IN = _IN.format("scope = ? AND +sequence > ?")

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
        _read_stored(snapshot, after, damage, models),
        _read_erased(snapshot, after, damage),
        key=itemgetter(0),
    )
    for sequence, change in news:
        if len(items) == limit:
            return Changes(items=tuple(items), cursor=cursor)
        items.append(change)
        cursor = sequence
    return Changes(items=tuple(items), cursor=position)


def read_changes_in(
    snapshot: Snapshot,
    scope: str,
    after: int,
    *,
    limit: int,
    path: Path,
    damage: DamageLog,
    models: Collection[str] | None,
) -> tuple[Changes, int]:
    """Return what `SupportsScopeFeed.changes_in` does, by the index that reads fewer rows.

    The index of the feed reads all that changed since, that of the scopes all of this scope.
    """
    position = read_ledger(snapshot.connection, path).sequence
    held: int = next(snapshot.rows(_HELD, (scope,)))[0]
    chosen = _NEWEST_IN if position - after <= held else _ALL_IN
    items, cursor, seen = list[Change](), after, 0
    rows = select_records(snapshot, damage, chosen, scope, after, limit, models=models)
    for row, record in rows:
        seen += 1
        if record is None:
            damage.skip_record(name_of(row[0]))
        else:
            items.append(Change(id=record.memory.id, record=record))
            cursor = row[SEQUENCE]
    return Changes(items=tuple(items), cursor=cursor if seen == limit else position), held


def _read_stored(
    snapshot: Snapshot, after: int, damage: DamageLog, models: Collection[str] | None
) -> Iterator[tuple[int, Change]]:
    condition = "WHERE m.sequence > ? ORDER BY m.sequence"
    for row, record in select_records(snapshot, damage, condition, after, models=models):
        if record is None:
            damage.skip_record(name_of(row[0]))
        else:
            yield row[SEQUENCE], Change(id=record.memory.id, record=record)


def find_erased(snapshot: Snapshot, ids: Collection[str], damage: DamageLog) -> frozenset[str]:
    """Return which of the memories were erased, so that no memory has their ids now."""
    condition = "id IN (SELECT value FROM json_each(?))"
    return frozenset(
        change.id for _, change in _read_notes(snapshot, condition, json.dumps(list(ids)), damage)
    )


def _read_erased(snapshot: Snapshot, after: int, damage: DamageLog) -> Iterator[tuple[int, Change]]:
    return _read_notes(snapshot, "sequence > ? ORDER BY sequence", after, damage)


def _read_notes(
    snapshot: Snapshot, condition: str, value: int | str, damage: DamageLog
) -> Iterator[tuple[int, Change]]:
    rows = snapshot.rows(f"{ERASED} WHERE {condition}", (value,))
    for sequence, memory_id, checksum in rows:
        if erased_fits(sequence, memory_id, checksum):
            yield sequence, Change(id=memory_id.decode(), record=None)
        else:
            damage.skip_record(name_of(memory_id))


def seal_erased(memory_id: str, sequence: int) -> bytes:
    """Return the checksum of the row that notes an erased memory."""
    return seal(_KIND, (sequence,), (memory_id.encode(),))


def erased_fits(sequence: int, memory_id: bytes, checksum: object) -> bool:
    """Return whether the row that records an erased memory is undamaged."""
    return seal_fits(_KIND, (sequence,), (memory_id,), checksum)


def read_pending(snapshot: Snapshot, model: str, *, limit: int, damage: DamageLog) -> list[str]:
    """Return ids of memories that are not embedded by `model`, by their last change.

    A set of models is a range of an index in the right order, so that merging the few ranges needs
    no sort. The first rows are checked: a damaged memory, which is noted and left out, would
    otherwise stay pending for ever.
    """
    sets = [names for (names,) in snapshot.rows(_SETS_OF_MODELS)]
    unembedded = [None, *(names for names in sets if model.encode() not in names.split(b"\n"))]
    ranges = (snapshot.rows(_WAITING, (names,)) for names in unembedded)
    waiting = merge(*ranges, key=itemgetter(0))
    damaged = damage.records
    ids: list[str] = []
    checked = 0
    for _, blob, number in waiting:
        memory_id = name_of(blob)
        if memory_id in damaged:
            continue
        checked += 1
        if checked > _MOST_CHECKED or _is_sound(snapshot, number, damage):
            ids.append(memory_id)
        else:
            damage.skip_record(memory_id)
        if len(ids) == limit:
            break
    return ids


def _is_sound(snapshot: Snapshot, number: int, damage: DamageLog) -> bool:
    """Return whether the memory in a row is undamaged, True if SQLite cannot read it."""
    try:
        rows = select_records(snapshot, damage, "WHERE m.number = ?", number, models=())
        return all(record is not None for _, record in rows)
    except DAMAGE:
        return True  # a page is malformed: reading the memory raises the error
