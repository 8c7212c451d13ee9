"""Memories as rows: a column for every field, and a checksum over all columns.

Texts are read as bytes, since a damaged row may not be valid UTF-8. All further columns are cast to
the type that they were written with, since a damaged row may hold a text in any column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from attrs import frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.codec import from_micros, to_micros
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType, MemoryField
from infinite_memory.core.values.memory import JsonValue, Memory
from infinite_memory.storage.integrity import seal, seal_fits

_KIND = b"memory"
_IN_TEXTS = {FieldType.TEXT, FieldType.CHOICE, FieldType.TEXTS, FieldType.OBJECT}
_TEXT_FIELDS = tuple(field for field in MEMORY_FIELDS if field.value_type in _IN_TEXTS)
_NUMBER_FIELDS = tuple(field for field in MEMORY_FIELDS if field.value_type not in _IN_TEXTS)
_BLOBS = (*(field.name for field in _TEXT_FIELDS), "embedded_by", "content_hash")
_NUMBERS = ("sequence", *(field.name for field in _NUMBER_FIELDS))
_EMBEDDED_BY = len(_TEXT_FIELDS)
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

SEQUENCE = len(_BLOBS)
"""The index of the number of the last change in a row of `SELECTED`."""

COLUMN_DEFINITIONS = ",\n    ".join(
    f'"{field.name}" {"TEXT" if field.value_type in _IN_TEXTS else "INTEGER"}'
    f"{'' if field.optional else ' NOT NULL'}"
    for field in MEMORY_FIELDS
)
"""The columns of the fields of a memory, as a table of SQLite declares them."""

_INSERTED = (*_COLUMNS, "entry")
INSERT = f"INSERT INTO memories ({', '.join(_INSERTED)}) VALUES ({', '.join('?' * len(_INSERTED))})"
"""Binds what `MemoryRow.bindings` returns, then the number of the entry that makes the row."""

UPDATE_MODELS = "UPDATE memories SET sequence = ?, embedded_by = ?, checksum = ? WHERE number = ?"
"""Binds what `with_models` returns, then the number of the row; it changes few indexes."""

_DECODER = json.JSONDecoder()
_dump_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


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
            fields = _encode_fields(memory)
            texts = (*fields[: len(_TEXT_FIELDS)], _join_models(models))
            blobs = tuple([None if text is None else text.encode() for text in texts])
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"memory {memory.id!r} cannot be stored: {error}") from error
        return cls(texts, (*blobs, content_hash), tuple(fields[len(_TEXT_FIELDS) :]))

    def bindings(self, sequence: int) -> tuple[Any, ...]:
        """Return the bindings of `INSERT` before the entry, for the change `sequence`."""
        numbers = (sequence, *self.numbers)
        return (*self.texts, self.blobs[-1], *numbers, seal(_KIND, numbers, self.blobs))

    def update(self, before: tuple[Any, ...], sequence: int) -> tuple[str, tuple[Any, ...]]:
        """Return the statement that makes of a sound row of `SELECTED` this row, and its bindings.

        The number of the row follows them. A column that is not set leaves its indexes alone.
        """
        bindings = self.bindings(sequence)
        cells = (*self.blobs, *bindings[len(self.blobs) :])
        changed = [place for place, cell in enumerate(cells) if cell != before[place]]
        names = ", ".join([f"{_COLUMNS[place]} = ?" for place in changed])
        return (
            f"UPDATE memories SET {names} WHERE number = ?",
            tuple([bindings[place] for place in changed]),
        )


def _join_models(models: Iterable[str]) -> str | None:
    return "\n".join(sorted(models)) or None


def models_of(row: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the models that have embedded the memory in a sound row of `SELECTED`, in order."""
    return () if row[_EMBEDDED_BY] is None else tuple(row[_EMBEDDED_BY].decode().split("\n"))


def with_models(
    row: tuple[Any, ...], models: Iterable[str], sequence: int
) -> tuple[int, str | None, bytes] | None:
    """Return the bindings of `UPDATE_MODELS` that make a row of `SELECTED` name `models`.

    None if the row is damaged.
    """
    blobs, numbers = row[: len(_BLOBS)], row[len(_BLOBS) : _CHECKSUM]
    if not seal_fits(_KIND, numbers, blobs, row[_CHECKSUM]):
        return None
    embedded_by = _join_models(models)
    encoded = None if embedded_by is None else embedded_by.encode()
    blobs = (*blobs[:_EMBEDDED_BY], encoded, *blobs[_EMBEDDED_BY + 1 :])
    numbers = (sequence, *numbers[1:])
    return sequence, embedded_by, seal(_KIND, numbers, blobs)


def _dump_list(values: tuple[str, ...]) -> str:
    return _dump_json(list(values)) if values else "[]"


def _dump_object(values: Mapping[str, JsonValue]) -> str:
    return _dump_json(dict(values)) if values else "{}"


def _load_list(blob: bytes) -> tuple[str, ...]:
    return () if blob == b"[]" else tuple(_DECODER.raw_decode(blob.decode())[0])


def _load_object(blob: bytes) -> dict[str, JsonValue]:
    loaded: dict[str, JsonValue] = {} if blob == b"{}" else _DECODER.raw_decode(blob.decode())[0]
    return loaded


_Convert = Callable[[Any], Any]
_CONVERSIONS: Mapping[FieldType, tuple[_Convert, _Convert]] = {
    FieldType.TEXT: (str, bytes.decode),
    FieldType.TEXTS: (_dump_list, _load_list),
    FieldType.OBJECT: (_dump_object, _load_object),
    FieldType.TIME: (to_micros, from_micros),
    FieldType.FLAG: (int, bool),
    FieldType.NUMBER: (int, int),
}


def _choose_conversions(field: MemoryField) -> tuple[_Convert, _Convert]:
    """Return the functions from the value of a field to the value of a column, and back."""
    if field.choices is None:
        return _CONVERSIONS[field.value_type]
    # Looked up, since `Enum.value` is ten times slower.
    values: dict[Any, str] = {member: member.value for member in field.choices}
    members = {value.encode(): member for member, value in values.items()}
    return values.__getitem__, members.__getitem__


_FIELDS = (*_TEXT_FIELDS, *_NUMBER_FIELDS)
_NAMES = tuple(field.name for field in _FIELDS)
_ENCODERS, _DECODERS = zip(*map(_choose_conversions, _FIELDS), strict=True)
_read_fields = attrgetter(*_NAMES)


def _encode_fields(memory: Memory) -> list[Any]:
    return [
        None if value is None else encode(value)
        for encode, value in zip(_ENCODERS, _read_fields(memory), strict=True)
    ]


def decode_memory(row: tuple[Any, ...]) -> Memory | None:
    """Return the memory in a row of `SELECTED`, or None if the row is damaged."""
    blobs, numbers = row[: len(_BLOBS)], row[len(_BLOBS) : _CHECKSUM]
    if not seal_fits(_KIND, numbers, blobs, row[_CHECKSUM]):
        return None
    cells = (*blobs[:_EMBEDDED_BY], *numbers[1:])
    values: list[Any] = [
        None if cell is None else decode(cell)
        for decode, cell in zip(_DECODERS, cells, strict=True)
    ]
    return Memory(**dict(zip(_NAMES, values, strict=True)))
