"""Memories as rows: a column for every field, and a checksum over all columns.

Texts are read as bytes, since a damaged row may not be valid UTF-8. All further columns are cast to
the type that they were written with, since a damaged row may hold a text in any column.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from attrs import frozen

from infinite_memory.errors import InvalidInput
from infinite_memory.model.codec import from_micros, to_micros
from infinite_memory.model.memory import JsonValue, Kind, Memory, Origin, Status
from infinite_memory.storage.integrity import seal, seal_fits

__all__ = [
    "INSERT",
    "SELECTED",
    "SELECTED_COUNT",
    "SEQUENCE",
    "UPDATE",
    "UPDATE_MODELS",
    "MemoryRow",
    "decode_memory",
    "models_of",
    "with_models",
]

_KIND = b"memory"
_TEXTS = (
    "id",
    "kind",
    "status",
    "scope",
    "title",
    "text",
    "tags",
    "context",
    "conversation_id",
    "speaker",
    "origin",
    "key",
    "sources",
    "attachments",
    "embedded_by",
)
_NUMBERS = (
    "revision",
    "sequence",
    "happened_at",
    "stored_at",
    "valid_from",
    "valid_to",
    "important",
)
_BLOBS = (*_TEXTS, "content_hash")
_EMBEDDED_BY = _TEXTS.index("embedded_by")
_CHECKSUM = len(_BLOBS) + len(_NUMBERS)
_COLUMNS = [f'"{name}"' for name in (*_BLOBS, *_NUMBERS, "checksum")]

SELECTED = ", ".join(
    [f'CAST(m."{name}" AS BLOB)' for name in _BLOBS]
    + [f'CAST(m."{name}" AS INTEGER)' for name in _NUMBERS]
    + ["CAST(m.checksum AS BLOB)"]
)
"""The columns that `decode_memory` takes, of a table of memories with the alias m."""

SELECTED_COUNT = _CHECKSUM + 1
"""The number of columns in `SELECTED`."""

SEQUENCE = len(_BLOBS) + _NUMBERS.index("sequence")
"""The index of the number of the last change in a row of `SELECTED`."""

_INSERTED = (*_COLUMNS, "entry")
INSERT = f"INSERT INTO memories ({', '.join(_INSERTED)}) VALUES ({', '.join('?' * len(_INSERTED))})"
"""Binds what `MemoryRow.bindings` returns, then the number of the entry that makes the row."""

UPDATE = f"UPDATE memories SET {', '.join(f'{name} = ?' for name in _COLUMNS)} WHERE number = ?"

UPDATE_MODELS = "UPDATE memories SET sequence = ?, embedded_by = ?, checksum = ? WHERE number = ?"
"""Binds what `with_models` returns, then the number of the row; it changes few indexes."""

# Looked up, since `Enum.value` is ten times slower.
_VALUES: dict[str, str] = {member: member.value for e in (Kind, Status, Origin) for member in e}
_DECODER = json.JSONDecoder()
_KINDS = {kind.value.encode(): kind for kind in Kind}
_STATUSES = {status.value.encode(): status for status in Status}
_ORIGINS = {origin.value.encode(): origin for origin in Origin}


@frozen
class MemoryRow:
    """A memory as column values, without the sequence number, which the transaction assigns."""

    texts: tuple[str | None, ...]
    blobs: tuple[bytes | None, ...]
    numbers: tuple[int | None, ...]

    @classmethod
    def encode(cls, memory: Memory, content_hash: bytes, models: Iterable[str] = ()) -> MemoryRow:
        """Return the row of `memory`, which `models` have embedded.

        Raises:
            InvalidInput: a field holds a value that no database can keep, such as a lone surrogate.
        """
        try:
            texts = _encode_texts(memory, _join_models(models))
            blobs = tuple([None if text is None else text.encode() for text in texts])
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"memory {memory.id!r} cannot be stored: {error}") from error
        return cls(texts, (*blobs, content_hash), _encode_numbers(memory))

    def bindings(self, sequence: int) -> tuple[Any, ...]:
        """Return the bindings of `UPDATE` before the row number, for the change `sequence`."""
        numbers = (self.numbers[0], sequence, *self.numbers[1:])
        return (*self.texts, self.blobs[-1], *numbers, seal(_KIND, numbers, self.blobs))


def _join_models(models: Iterable[str]) -> str | None:
    return "\n".join(sorted(models)) or None


def models_of(row: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the models that have embedded the memory in a sound row of `SELECTED`, in order."""
    return () if row[_EMBEDDED_BY] is None else tuple(row[_EMBEDDED_BY].decode().split("\n"))


def with_models(
    row: tuple[Any, ...], models: Iterable[str], sequence: int
) -> tuple[int, str | None, bytes] | None:
    """Return the bindings of `UPDATE_MODELS` that make a row of `SELECTED` name `models`.

    None if the row is not as it was written.
    """
    blobs, numbers = row[: len(_BLOBS)], row[len(_BLOBS) : _CHECKSUM]
    if not seal_fits(_KIND, numbers, blobs, row[_CHECKSUM]):
        return None
    embedded_by = _join_models(models)
    encoded = None if embedded_by is None else embedded_by.encode()
    blobs = (*blobs[:_EMBEDDED_BY], encoded, *blobs[_EMBEDDED_BY + 1 :])
    numbers = (numbers[0], sequence, *numbers[2:])
    return sequence, embedded_by, seal(_KIND, numbers, blobs)


def _encode_texts(memory: Memory, embedded_by: str | None) -> tuple[str | None, ...]:
    return (
        memory.id,
        _VALUES[memory.kind],
        _VALUES[memory.status],
        memory.scope,
        memory.title,
        memory.text,
        _dump_list(memory.tags),
        _dump(dict(memory.context)) if memory.context else "{}",
        memory.conversation_id,
        memory.speaker,
        _VALUES[memory.origin],
        memory.key,
        _dump_list(memory.sources),
        _dump_list(memory.attachments),
        embedded_by,
    )


def _dump_list(values: tuple[str, ...]) -> str:
    return _dump(list(values)) if values else "[]"


def _dump(value: list[str] | dict[str, JsonValue]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _encode_numbers(memory: Memory) -> tuple[int | None, ...]:
    return (
        memory.revision,
        to_micros(memory.happened_at),
        to_micros(memory.stored_at),
        None if memory.valid_from is None else to_micros(memory.valid_from),
        None if memory.valid_to is None else to_micros(memory.valid_to),
        int(memory.important),
    )


def decode_memory(row: tuple[Any, ...]) -> Memory | None:
    """Return the memory in a row of `SELECTED`, or None if the row is not as it was written."""
    blobs, numbers = row[: len(_BLOBS)], row[len(_BLOBS) : _CHECKSUM]
    if not seal_fits(_KIND, numbers, blobs, row[_CHECKSUM]):
        return None
    title, conversation_id, speaker, key = blobs[4], blobs[8], blobs[9], blobs[11]
    valid_from, valid_to = numbers[4], numbers[5]
    return Memory(
        id=blobs[0].decode(),
        text=blobs[5].decode(),
        kind=_KINDS[blobs[1]],
        title=None if title is None else title.decode(),
        scope=blobs[3].decode(),
        tags=_load_list(blobs[6]),
        context={} if blobs[7] == b"{}" else _DECODER.raw_decode(blobs[7].decode())[0],
        conversation_id=None if conversation_id is None else conversation_id.decode(),
        speaker=None if speaker is None else speaker.decode(),
        origin=_ORIGINS[blobs[10]],
        happened_at=from_micros(numbers[2]),
        stored_at=from_micros(numbers[3]),
        valid_from=None if valid_from is None else from_micros(valid_from),
        valid_to=None if valid_to is None else from_micros(valid_to),
        key=None if key is None else key.decode(),
        status=_STATUSES[blobs[2]],
        important=bool(numbers[6]),
        sources=_load_list(blobs[12]),
        attachments=_load_list(blobs[13]),
        revision=numbers[0],
    )


def _load_list(blob: bytes) -> tuple[str, ...]:
    return () if blob == b"[]" else tuple(_DECODER.raw_decode(blob.decode())[0])
