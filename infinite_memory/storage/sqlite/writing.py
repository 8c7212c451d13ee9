"""`Storage.commit` inside its transaction: each kind of write, and its number in the feed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from infinite_memory.model.codec import to_json, to_micros
from infinite_memory.model.memory import Memory
from infinite_memory.model.record import (
    Attach,
    Embedding,
    Erase,
    EraseScope,
    Put,
    PutScope,
    Record,
    Write,
)
from infinite_memory.model.scope import fold_name
from infinite_memory.storage.sqlite.damage import DamageLog
from infinite_memory.storage.sqlite.feed import seal_erased
from infinite_memory.storage.sqlite.records import RECORDS, decode_record, seal_revision
from infinite_memory.storage.sqlite.rows import INSERT, UPDATE, MemoryRow
from infinite_memory.storage.sqlite.scopes import erase_scope, put_scope
from infinite_memory.storage.sqlite.vectors import INSERT_EMBEDDING, encode_embedding

__all__ = ["Writing", "encode_rows"]


def encode_rows(writes: Sequence[Write]) -> list[MemoryRow | None]:
    """Return the row of every `Put` among `writes`, made before any lock is held.

    Raises:
        InvalidInput: a memory holds what cannot be stored.
    """
    return [
        MemoryRow.encode(write.memory, None if write.embedding is None else write.embedding.model)
        if isinstance(write, Put)
        else None
        for write in writes
    ]


class Writing:
    """Carries out writes in one transaction; `sequence` is the number of the last change."""

    def __init__(self, connection: apsw.Connection, sequence: int, damage: DamageLog) -> None:
        self._connection = connection
        self._damage = damage
        self.sequence = sequence
        self._found: dict[str, tuple[int | None, int]] = {}

    def revision(self, memory_id: str) -> int:
        """Return the current revision of a memory, 0 if there is none of that id."""
        found = self._found[memory_id] = self._current(memory_id)
        return found[1]

    def holds(self, scope: str) -> bool:
        """Tell whether a memory is in the scope of that name."""
        rows = self._connection.execute("SELECT 1 FROM memories WHERE scope = ? LIMIT 1", (scope,))
        return rows.fetchone() is not None

    def apply(self, write: Write, row: MemoryRow | None) -> None:
        """Carry out `write`; `row` is what `encode_rows` made of it.

        Raises:
            StoreDamaged: it would put a damaged memory into the history, or give it an embedding.
        """
        if isinstance(write, Put) and row is not None:
            self._put(write, row)
        elif isinstance(write, Attach):
            self._attach(write)
        elif isinstance(write, Erase):
            self._erase(write.id)
        elif isinstance(write, PutScope):
            put_scope(self._connection, write.scope)
        elif isinstance(write, EraseScope):
            erase_scope(self._connection, write.name)

    def _put(self, write: Put, row: MemoryRow) -> None:
        memory = write.memory
        found = self._found.pop(memory.id, None)
        number, _ = self._current(memory.id) if found is None else found
        bindings = row.bindings(self._next())
        if number is None:
            self._connection.execute("DELETE FROM erased WHERE id = ?", (memory.id,))
            self._connection.execute(INSERT, bindings)
            number = self._connection.last_insert_rowid()
        else:
            self._archive(self._record(number, memory.id).memory)
            self._connection.execute("DELETE FROM memory_tags WHERE number = ?", (number,))
            self._connection.execute("DELETE FROM embeddings WHERE number = ?", (number,))
            self._connection.execute(UPDATE, (*bindings, number))
        self._index_tags(memory, number)
        if write.embedding is not None:
            self._embed(memory, number, write.embedding)

    def _attach(self, write: Attach) -> None:
        number, revision = self._current(write.id)
        if number is None or revision != write.revision:
            return
        memory = self._record(number, write.id).memory
        row = MemoryRow.encode(memory, write.embedding.model)
        self._connection.execute(UPDATE, (*row.bindings(self._next()), number))
        self._embed(memory, number, write.embedding)

    def _erase(self, memory_id: str) -> None:
        self._found.pop(memory_id, None)
        number, _ = self._current(memory_id)
        if number is None:
            return
        sequence = self._next()
        self._connection.execute("DELETE FROM memories WHERE number = ?", (number,))
        self._connection.execute("DELETE FROM revisions WHERE id = ?", (memory_id,))
        self._connection.execute(
            "INSERT INTO erased (sequence, id, checksum) VALUES (?, ?, ?)",
            (sequence, memory_id, seal_erased(memory_id, sequence)),
        )

    def _current(self, memory_id: str) -> tuple[int | None, int]:
        """Return the number of the row of a memory and its revision; None and 0 without one."""
        rows: list[Any] = self._connection.execute(
            "SELECT number, CAST(revision AS INTEGER) FROM memories WHERE id = ?", (memory_id,)
        ).fetchall()
        return rows[0] if rows else (None, 0)

    def _record(self, number: int, memory_id: str) -> Record:
        rows = self._connection.execute(f"{RECORDS} WHERE m.number = ?", (number,)).fetchall()
        record = decode_record(rows[0], self._damage)
        if record is None:
            raise self._damage.refuse_record(memory_id)
        return record

    def _archive(self, memory: Memory) -> None:
        body = json.dumps(to_json(memory), ensure_ascii=False, separators=(",", ":"))
        self._connection.execute(
            "INSERT INTO revisions (id, revision, body, checksum) VALUES (?, ?, ?, ?)",
            (memory.id, memory.revision, body, seal_revision(memory.id, memory.revision, body)),
        )

    def _index_tags(self, memory: Memory, number: int) -> None:
        if memory.tags:
            happened_at = to_micros(memory.happened_at)
            self._connection.executemany(
                "INSERT INTO memory_tags (folded, happened_at, id, number) VALUES (?, ?, ?, ?)",
                [
                    (folded, happened_at, memory.id, number)
                    for folded in {fold_name(tag) for tag in memory.tags}
                ],
            )

    def _embed(self, memory: Memory, number: int, embedding: Embedding) -> None:
        bindings = encode_embedding(memory.id, memory.revision, embedding)
        self._connection.execute(INSERT_EMBEDDING, (number, *bindings))

    def _next(self) -> int:
        self.sequence += 1
        return self.sequence
