"""Reads records and their histories, and verifies their checksums."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.codec import from_json
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding, Record
from infinite_memory.storage.damage import DamageLog
from infinite_memory.storage.integrity import seal, seal_fits
from infinite_memory.storage.sqlite.readers import Snapshot
from infinite_memory.storage.sqlite.rows import SELECTED, SELECTED_COUNT, decode_memory, models_of
from infinite_memory.storage.sqlite.vectors import SELECTED_EMBEDDING, decode_embedding

_KIND = b"revision"
_NUMBER = SELECTED_COUNT
_MODEL = _NUMBER + 1
_JOINED = "LEFT JOIN embeddings e ON e.number = m.number"
_WANTED = "json_each(?) w CROSS JOIN memories m ON m.id = w.value"

SELECTED_REVISION = "CAST(revision AS INTEGER), CAST(body AS BLOB), CAST(checksum AS BLOB)"
"""The columns of `revisions` that `revision_fits` takes after the id."""


def select_records(
    snapshot: Snapshot,
    damage: DamageLog,
    condition: str = "",
    *bindings: int | str,
    models: Collection[str] | None = None,
    ids: Sequence[str] | None = None,
) -> Iterator[tuple[tuple[Any, ...], Record | None]]:
    """Yield the row and the record, with embeddings by `models`, of memories under `condition`.

    With `ids` these memories alone are read, in their order, by one statement: to begin one for
    each takes longer than to read a row. The record is None where the memory is damaged. A damaged
    embedding is noted and left out: it can be made again from the text.
    """
    number, source = ("m.number", "memories m") if ids is None else ("w.key", _WANTED)
    wanted = () if ids is None else (json.dumps(ids),)
    columns, tables = f"{SELECTED}, {number}, {SELECTED_EMBEDDING}", f"{source} {_JOINED}"
    if models is not None:
        tables += f" AND e.model IN ({', '.join('?' * len(models))})"
        if not models:
            # For `IN ()` SQLite would read the whole table of vectors, to find none.
            columns, tables = f"{SELECTED}, {number}", source
    rows = snapshot.rows(
        f"SELECT {columns} FROM {tables} {condition}", (*wanted, *(models or ()), *bindings)
    )
    for _, group in groupby(rows, key=itemgetter(_NUMBER)):
        memory_rows = list(group)
        yield memory_rows[0], _decode_record(memory_rows, damage, models)


def _decode_record(
    rows: Sequence[tuple[Any, ...]], damage: DamageLog, models: Collection[str] | None
) -> Record | None:
    """Return the record in the rows of a memory, which differ only in the embedding."""
    memory = decode_memory(rows[0][:_NUMBER])
    if memory is None:
        return None
    names = [name for name in models_of(rows[0]) if models is None or name in models]
    if not names:
        return Record(memory=memory)
    by_model = {row[_MODEL]: row[_MODEL:] for row in rows}
    embeddings: list[Embedding] = []
    for name in names:
        row = by_model.get(name.encode())
        embedding = None if row is None else decode_embedding(memory.id, memory.revision, row)
        if embedding is None:
            damage.skip_embedding(memory.id, name)
        else:
            embeddings.append(embedding)
    return Record(memory=memory, embeddings=tuple(embeddings))


def read_records(
    snapshot: Snapshot,
    ids: Collection[str],
    damage: DamageLog,
    models: Collection[str] | None = None,
) -> dict[str, Record]:
    """Return the records of `ids` with their embeddings by `models`, by all models if None.

    Raises:
        StoreDamaged: a record is damaged.
    """
    records, wanted = {}, list(ids)
    rows = select_records(snapshot, damage, models=models, ids=wanted) if wanted else ()
    for row, record in rows:
        memory_id = wanted[row[_NUMBER]]
        if record is None or record.memory.id != memory_id:
            raise damage.refuse_record(memory_id)
        records[memory_id] = record
    return records


def read_history(snapshot: Snapshot, memory_id: str, damage: DamageLog) -> list[Memory]:
    """Return every revision of a memory, the current revision last.

    Raises:
        StoreDamaged: a revision is damaged.
    """
    current = read_records(snapshot, [memory_id], damage, models=())
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
        f"revision {revision} in the history of memory {memory_id!r} is damaged, so "
        "the history is not returned; the memory itself still works. Restore it from a backup"
    )


def revision_fits(memory_id: bytes, revision: int, body: bytes, checksum: object) -> bool:
    """Return whether a row of `revisions` is undamaged."""
    return seal_fits(_KIND, (revision,), (memory_id, body), checksum)


def seal_revision(memory_id: str, revision: int, body: str) -> bytes:
    """Return the checksum of an earlier revision, whose JSON object is `body`."""
    return seal(_KIND, (revision,), (memory_id.encode(), body.encode()))
