"""Usage as rows beside the memories: a table of recalls, and a table of activations.

Every row has a checksum of its own, so that the rows of a memory are damaged one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from infinite_memory.core.values.codec import from_micros, to_micros
from infinite_memory.core.values.record import Usage
from infinite_memory.storage.damage import USAGE, DamageLog, name_of
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.sqlite.readers import Snapshot

if TYPE_CHECKING:
    import apsw


_RECALLED = b"usage"
_ACTIVATED = b"activation"
_FLOAT = struct.Struct("<d")
_RECALLS = "CAST(u.count AS INTEGER), CAST(u.last AS INTEGER), CAST(u.checksum AS BLOB)"
_ACTIVATIONS = (
    "CAST(a.activation AS REAL), CAST(a.activated_at AS INTEGER), CAST(a.checksum AS BLOB)"
)
_OF_MEMORY = (
    f"SELECT m.number, {_RECALLS}, {_ACTIVATIONS} FROM memories m "
    "LEFT JOIN usage u ON u.number = m.number LEFT JOIN activations a ON a.number = m.number "
    "WHERE m.id = ?"
)


def read_usage(snapshot: Snapshot, ids: Collection[str], damage: DamageLog) -> dict[str, Usage]:
    """Return how much the memories in `ids` were used, without damaged rows."""
    usage_by_id = {}
    for memory_id in ids:
        for _, *row in snapshot.rows(_OF_MEMORY, (memory_id,)):
            usage = _decode_usage(memory_id, row, damage)
            if not usage.is_empty:
                usage_by_id[memory_id] = usage
    return usage_by_id


def read_usage_changes(snapshot: Snapshot, after: int, *, limit: int) -> tuple[list[str], int]:
    """Return the ids whose usage changed since, and the cursor of the last of them or the end."""
    query = (
        "SELECT CAST(id AS BLOB), change FROM usage_changes "
        "WHERE change > ? ORDER BY change LIMIT ?"
    )
    rows = list(snapshot.rows(query, (after, limit)))
    # The sequence outlives a row that a later change of its id has replaced.
    end = "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'usage_changes'"
    return [name_of(blob) for blob, _ in rows], rows[-1][1] if rows else next(snapshot.rows(end))[0]


def count_usage(connection: apsw.Connection, used: Mapping[str, Usage], damage: DamageLog) -> None:
    """Add to the usage of the memories that exist, inside the transaction of the caller.

    Where a row of a memory is damaged, its numbers start again.
    """
    for memory_id, usage in used.items():
        rows: list[Any] = connection.execute(_OF_MEMORY, (memory_id,)).fetchall()
        for number, *row in rows:
            total = _decode_usage(memory_id, row, damage).plus(usage)
            _put_recalls(connection, number, memory_id, total)
            _put_activation(connection, number, memory_id, total)


def _put_recalls(connection: apsw.Connection, number: int, memory_id: str, total: Usage) -> None:
    if total.last is None:
        connection.execute("DELETE FROM usage WHERE number = ?", (number,))
        return
    numbers = (total.count, to_micros(total.last))
    connection.execute(
        "INSERT OR REPLACE INTO usage (number, count, last, checksum) VALUES (?, ?, ?, ?)",
        (number, *numbers, seal(_RECALLED, numbers, (memory_id.encode(),))),
    )


def _put_activation(connection: apsw.Connection, number: int, memory_id: str, total: Usage) -> None:
    if total.activated_at is None:
        connection.execute("DELETE FROM activations WHERE number = ?", (number,))
        return
    at = to_micros(total.activated_at)
    checksum = seal(_ACTIVATED, (at,), (memory_id.encode(), _FLOAT.pack(total.activation)))
    connection.execute(
        "INSERT OR REPLACE INTO activations (number, activation, activated_at, checksum) "
        "VALUES (?, ?, ?, ?)",
        (number, total.activation, at, checksum),
    )


def damaged_usage(snapshot: Snapshot) -> Iterator[str]:
    """Yield the ids of the memories with a damaged row; an id with two of them comes twice."""
    recalls = snapshot.rows(
        f"SELECT CAST(m.id AS BLOB), {_RECALLS} FROM usage u JOIN memories m ON m.number = u.number"
    )
    for blob, *row in recalls:
        if not _check_recalls(blob, *row):
            yield name_of(blob)
    activations = snapshot.rows(
        f"SELECT CAST(m.id AS BLOB), {_ACTIVATIONS} FROM activations a "
        "JOIN memories m ON m.number = a.number"
    )
    for blob, *row in activations:
        if not _check_activation(blob, *row):
            yield name_of(blob)


def _check_recalls(blob: bytes, count: Any, last: Any, checksum: Any) -> bool:
    return seal_fits(_RECALLED, (count, last), (blob,), checksum)


def _check_activation(blob: bytes, activation: Any, at: Any, checksum: Any) -> bool:
    if not isinstance(activation, float):
        return False
    return seal_fits(_ACTIVATED, (at,), (blob, _FLOAT.pack(activation)), checksum)


def _decode_usage(memory_id: str, row: list[Any], damage: DamageLog) -> Usage:
    recalls, activation = row[:3], row[3:]
    blob, usage = memory_id.encode(), Usage(count=0)
    if _check_recalls(blob, *recalls):
        usage = Usage(count=recalls[0], last=from_micros(recalls[1]))
    elif any(value is not None for value in recalls):
        damage.skip_record(USAGE + memory_id)
    if _check_activation(blob, *activation):
        at = from_micros(activation[1])
        usage = usage.plus(Usage(count=0, activation=activation[0], activated_at=at))
    elif any(value is not None for value in activation):
        damage.skip_record(USAGE + memory_id)
    return usage
