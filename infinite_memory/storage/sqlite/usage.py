"""Usage as rows beside the memories, every row with a checksum."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import apsw

from infinite_memory.model.codec import from_micros, to_micros
from infinite_memory.model.record import Usage
from infinite_memory.storage.damage import USAGE, DamageLog, name_of
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.sqlite.database import Snapshot

__all__ = ["count_usage", "damaged_usage", "read_usage"]

_KIND = b"usage"
_USED = "CAST(u.count AS INTEGER), CAST(u.last AS INTEGER), CAST(u.checksum AS BLOB)"
_OF_MEMORY = (
    f"SELECT m.number, {_USED} FROM memories m LEFT JOIN usage u ON u.number = m.number "
    "WHERE m.id = ?"
)


def read_usage(snapshot: Snapshot, ids: Collection[str], damage: DamageLog) -> dict[str, Usage]:
    """Return how often the memories in `ids` were used, without damaged rows."""
    usage_by_id = {}
    for memory_id in ids:
        for _, *row in snapshot.rows(_OF_MEMORY, (memory_id,)):
            usage = _decode(memory_id, row, damage)
            if usage is not None:
                usage_by_id[memory_id] = usage
    return usage_by_id


def count_usage(connection: apsw.Connection, used: Mapping[str, Usage], damage: DamageLog) -> None:
    """Add to the usage of the memories that exist, inside the transaction of the caller.

    Where the row of a memory is damaged, its count starts again.
    """
    for memory_id, usage in used.items():
        rows: list[Any] = connection.execute(_OF_MEMORY, (memory_id,)).fetchall()
        for number, *row in rows:
            known = _decode(memory_id, row, damage)
            total = usage if known is None else known.plus(usage)
            numbers = (total.count, to_micros(total.last))
            connection.execute(
                "INSERT OR REPLACE INTO usage (number, count, last, checksum) VALUES (?, ?, ?, ?)",
                (number, *numbers, seal(_KIND, numbers, (memory_id.encode(),))),
            )


def damaged_usage(snapshot: Snapshot) -> Iterator[str]:
    """Yield the ids of the memories whose usage is damaged."""
    rows = snapshot.rows(
        f"SELECT CAST(m.id AS BLOB), {_USED} FROM usage u JOIN memories m ON m.number = u.number"
    )
    for blob, count, last, checksum in rows:
        if not seal_fits(_KIND, (count, last), (blob,), checksum):
            yield name_of(blob)


def _decode(memory_id: str, row: list[Any], damage: DamageLog) -> Usage | None:
    count, last, checksum = row
    if count is None and last is None and checksum is None:
        return None
    if seal_fits(_KIND, (count, last), (memory_id.encode(),), checksum):
        return Usage(count=count, last=from_micros(last))
    damage.skip_record(USAGE + memory_id)
    return None
