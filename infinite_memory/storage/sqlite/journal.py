"""The journal as rows: a chain of digests, and the list of entries of every memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infinite_memory.core.values.entry import Action, Entry, JournalEnd
from infinite_memory.storage.damage import name_of
from infinite_memory.storage.hash_chain import EntryDamaged, check_entry
from infinite_memory.storage.sqlite.metadata import read_ledger
from infinite_memory.storage.sqlite.readers import Snapshot

_LAST = 2**63 - 1
_COLUMNS = "CAST(j.body AS BLOB), CAST(j.digest AS BLOB), CAST(p.digest AS BLOB)"
_PREVIOUS = "LEFT JOIN journal p ON p.number = j.number - 1"
_ALL = (
    f"SELECT j.number, {_COLUMNS} FROM journal j {_PREVIOUS} "
    "WHERE j.number < ? ORDER BY j.number DESC LIMIT ?"
)
_OF_MEMORY = (
    f"SELECT n.number, {_COLUMNS} FROM journal_memories n "
    f"LEFT JOIN journal j ON j.number = n.number {_PREVIOUS} "
    "WHERE n.id = ?1 AND n.number < ?2 "
    f"UNION ALL SELECT m.entry, {_COLUMNS} FROM memories m "
    f"LEFT JOIN journal j ON j.number = m.entry {_PREVIOUS} "
    "WHERE m.id = ?1 AND m.entry < ?2 ORDER BY 1 DESC LIMIT ?3"
)
_IS_NAMED = (
    "SELECT 1 FROM journal_memories WHERE id = ?1 AND number = ?2 UNION ALL "
    "SELECT 1 FROM memories WHERE id = ?1 AND entry = ?2"
)
_NAMES = (
    "SELECT id, number FROM journal_memories UNION ALL "
    "SELECT id, CAST(entry AS INTEGER) FROM memories WHERE entry IS NOT NULL"
)


def read_journal(
    snapshot: Snapshot, path: Path, *, before: int | None, limit: int, memory_id: str | None
) -> list[Entry]:
    """Return at most `limit` entries, newest first; see `Storage.journal`.

    Raises:
        EntryDamaged: an entry is damaged.
    """
    end = read_ledger(snapshot.connection, path).end
    # Limited to numbers that SQLite can bind; no entry has a greater number.
    bound = _LAST if before is None else max(-_LAST, min(before, _LAST))
    if memory_id is None:
        rows = snapshot.rows(_ALL, (bound, limit))
        return [_decode_entry(str(path), row, end) for row in rows]
    rows = snapshot.rows(_OF_MEMORY, (memory_id, bound, limit))
    entries = [_decode_entry(str(path), row, end) for row in rows]
    for entry in entries:
        if all(step.id != memory_id for step in entry.action.memories):
            raise EntryDamaged(str(path), entry.number, f"does not name memory {memory_id!r}")
    return entries


def _decode_entry(place: str, row: tuple[Any, ...], end: JournalEnd) -> Entry:
    number, text, digest, previous = row
    if text is None or digest is None:
        raise EntryDamaged(place, number, "is missing")
    return check_entry(place, number, text, digest, previous, end)


def misnamed_entries(snapshot: Snapshot) -> Iterator[tuple[int, str]]:
    """Yield the number and id of entries whose derived list differs from the journal."""
    named = 0
    rows = snapshot.rows("SELECT number, CAST(body AS BLOB) FROM journal ORDER BY number")
    for number, body in rows:
        action = None if body is None else Action.of(name_of(body))
        for memory_id in sorted({step.id for step in action.memories}) if action else ():
            rows_of_name = snapshot.connection.execute(_IS_NAMED, (memory_id, number)).fetchall()
            named += len(rows_of_name)
            if len(rows_of_name) != 1:
                yield number, memory_id
    ((listed,),) = snapshot.rows(f"SELECT count(*) FROM ({_NAMES})")
    if listed != named:
        yield from _list_foreign_names(snapshot)


def _list_foreign_names(snapshot: Snapshot) -> Iterator[tuple[int, str]]:
    rows = snapshot.rows(
        f"SELECT n.number, CAST(n.id AS BLOB), CAST(j.body AS BLOB) FROM ({_NAMES}) n "
        "LEFT JOIN journal j ON j.number = n.number"
    )
    for number, blob, body in rows:
        action = None if body is None else Action.of(name_of(body))
        name = name_of(blob)
        if action is None or all(step.id != name for step in action.memories):
            yield number, name
