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
    Detach,
    Embedding,
    Erase,
    EraseScope,
    Put,
    PutScope,
    Write,
)
from infinite_memory.model.scope import fold_name
from infinite_memory.storage.sqlite.damage import DamageLog
from infinite_memory.storage.sqlite.feed import seal_erased
from infinite_memory.storage.sqlite.records import seal_revision
from infinite_memory.storage.sqlite.rows import (
    INSERT,
    SELECTED,
    UPDATE,
    UPDATE_MODELS,
    MemoryRow,
    decode_memory,
    models_of,
    with_models,
)
from infinite_memory.storage.sqlite.scopes import erase_scope, put_scope
from infinite_memory.storage.sqlite.vectors import INSERT_EMBEDDING, encode_embedding

__all__ = ["Writing", "encode_rows"]


def encode_rows(writes: Sequence[Write]) -> list[MemoryRow | None]:
    """Return the row of every `Put` among `writes`, made before any lock is held.

    Raises:
        InvalidInput: a memory holds what cannot be stored.
    """
    return [
        MemoryRow.encode(write.memory, [embedding.model for embedding in write.embeddings])
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
        elif isinstance(write, Detach):
            self._detach(write)
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
            self._archive(number, memory.id)
            self._connection.execute("DELETE FROM memory_tags WHERE number = ?", (number,))
            self._connection.execute("DELETE FROM vectors WHERE number = ?", (number,))
            self._connection.execute(UPDATE, (*bindings, number))
        self._index_tags(memory, number)
        for embedding in write.embeddings:
            self._embed(memory.id, memory.revision, number, embedding)

    def _attach(self, write: Attach) -> None:
        number, revision = self._current(write.id)
        if number is None or revision != write.revision:
            return
        row = self._row(number)
        self._name_models(write.id, number, row, {*models_of(row), write.embedding.model})
        self._embed(write.id, revision, number, write.embedding)

    def _detach(self, write: Detach) -> None:
        number, _ = self._current(write.id)
        if number is None:
            return
        row = self._row(number)
        models = set(models_of(row))
        if models <= {write.keep}:
            return
        self._name_models(write.id, number, row, models & {write.keep})
        self._connection.execute(
            "DELETE FROM vectors WHERE number = ? AND model <> ?", (number, write.keep)
        )

    def _name_models(
        self, memory_id: str, number: int, row: tuple[Any, ...], models: set[str]
    ) -> None:
        bindings = with_models(row, models, self._next())
        if bindings is None:
            raise self._damage.refuse_record(memory_id)
        self._connection.execute(UPDATE_MODELS, (*bindings, number))

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

    def _row(self, number: int) -> tuple[Any, ...]:
        rows: list[Any] = self._connection.execute(
            f"SELECT {SELECTED} FROM memories m WHERE m.number = ?", (number,)
        ).fetchall()
        found: tuple[Any, ...] = rows[0]
        return found

    def _archive(self, number: int, memory_id: str) -> None:
        memory = decode_memory(self._row(number))
        if memory is None:
            raise self._damage.refuse_record(memory_id)
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

    def _embed(self, memory_id: str, revision: int, number: int, embedding: Embedding) -> None:
        bindings = encode_embedding(memory_id, revision, embedding)
        self._connection.execute(INSERT_EMBEDDING, (number, *bindings))

    def _next(self) -> int:
        self.sequence += 1
        return self.sequence
