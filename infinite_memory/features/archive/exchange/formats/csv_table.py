"""CSV: a table of the current state of memories, for spreadsheets.

A cell that a spreadsheet would take for a formula begins with an apostrophe, which the reader
removes again. Lists and contexts are JSON.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType
from infinite_memory.core.values.memory import Memory
from infinite_memory.features.archive.exchange.formats.fields import filled_fields, read_fields
from infinite_memory.features.archive.exchange.formats.jsonl import ENCODER
from infinite_memory.features.archive.exchange.reading import Faults, Options
from infinite_memory.features.archive.exchange.records import Item
from infinite_memory.features.archive.exchange.source import Source

_FIRST = ("id", "happened_at", "scope", "kind", "speaker", "title", "text", "tags")
_COLUMNS = (*_FIRST, *(field.name for field in MEMORY_FIELDS if field.name not in _FIRST))
_TYPES = {field.name: field.value_type for field in MEMORY_FIELDS}
_JSON = {FieldType.TEXTS, FieldType.OBJECT, FieldType.FLAG, FieldType.NUMBER}
# What other programs call a field, the likeliest first.
_MEANT = {
    "text": ("content", "highlight", "note", "memory", "body"),
    "happened_at": ("date", "created_at", "highlighted_at", "created", "timestamp"),
    "title": ("name",),
    "tags": ("labels", "categories"),
}
_DELIMITERS = (",", ";", "\t")
# What spreadsheets take for the beginning of a formula, and the apostrophe that guards it.
_GUARDED = ("=", "+", "-", "@", "\t", "\r", "\n", "'")


def _write_row(cells: list[str]) -> bytes:
    output = io.StringIO(newline="")
    csv.writer(output, lineterminator="\r\n").writerow(cells)
    return output.getvalue().encode()


def header_row() -> bytes:
    """Return the first row, behind a byte order mark, without which Excel reads no UTF-8."""
    return b"\xef\xbb\xbf" + _write_row(list(_COLUMNS))


def memory_row(memory: Memory) -> bytes:
    """Return the row of a memory."""
    fields = {**filled_fields(memory), "text": memory.text, "scope": memory.scope}
    return _write_row([_write_cell(fields.get(name)) for name in _COLUMNS])


def _write_cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else ENCODER.encode(value)
    return f"'{text}" if text.startswith(_GUARDED) else text


def is_table(source: Source, file: str) -> bool:
    """Return whether a file is a table with a column for the text of a memory."""
    head = source.head(file).decode(errors="replace")
    try:
        header = next(csv.reader(io.StringIO(head), delimiter=_find_delimiter(head)), [])
    except csv.Error:
        return False
    names = _name_columns(header)
    return "text" in names and len(names) > 1 and not set(names).isdisjoint({*_COLUMNS} - {"text"})


def _name_columns(header: list[str]) -> list[str]:
    """Return the names of the fields that columns hold; other columns keep their own names.

    Several columns may hold a text, such as a highlight and a note on it.
    """
    names = [name.strip() for name in header]
    lower = ["_".join(name.lower().split()) for name in names]
    for meant, others in _MEANT.items():
        found = [other for other in (meant, *others) if other in lower]
        for other in found[:1] if meant != "text" or meant in found else found:
            names[lower.index(other)] = meant
    return names


def _find_delimiter(head: str) -> str:
    """Return what stands between the cells of a table: spreadsheets write it as a country does."""
    first = head.split("\n", 1)[0]
    return max(_DELIMITERS, key=first.count)


def read_tables(source: Source, files: Sequence[str], options: Options) -> Iterator[Item]:
    """Yield the memories of tables; columns that a person added are kept in the context.

    Raises:
        OSError: a file cannot be read.
    """
    for file in files:
        yield from _read_table(source, file, options)


def _read_table(source: Source, file: str, options: Options) -> Iterator[Item]:
    shown, counts = source.show(file), Counter[str]()
    csv.field_size_limit(options.max_line_bytes)
    delimiter = _find_delimiter(source.head(file).decode(errors="replace"))
    with source.open(file) as stream:
        lines = io.TextIOWrapper(stream, "utf-8", errors="replace", newline="")
        rows = csv.reader(lines, strict=True, delimiter=delimiter)
        try:
            header = _name_columns(next(rows, []))
            while True:
                line = rows.line_num + 1
                cells = next(rows, None)
                if cells is None:
                    return
                if cells:
                    faults = Faults(shown, f"line {line}")
                    yield from _read_row(header, cells, faults, options.zone, counts)
                    yield from faults.problems
        except csv.Error as error:
            what = f"it is no table from here on: {error}"
            yield ImportProblem(file=shown, where=f"line {rows.line_num}", what=what)


def _read_row(
    header: list[str],
    cells: list[str],
    faults: Faults,
    zone: str | None,
    counts: Counter[str],
) -> Iterator[Item]:
    try:
        if len(cells) > len(header):
            raise ValueError(f"the row has {len(cells)} cells, and the header {len(header)}")
        read = [
            (name, faults.try_read(_read_cell, name, cell))
            for name, cell in zip(header, cells, strict=False)
            if cell
        ]
        values = {name: value for name, value in read if value is not None and name != "text"}
        text = "\n\n".join(value for name, value in read if name == "text" and value)
        yield read_fields(
            values,
            text,
            file=faults.file,
            where=faults.where,
            zone=zone,
            counts=counts,
            faults=faults,
        )
    except (ValueError, TypeError, KeyError) as error:
        faults.add(str(error))


def _read_cell(name: str, cell: str) -> Any:
    text = cell[1:] if cell.startswith("'") and cell[1:].startswith(_GUARDED) else cell
    if _TYPES.get(name) not in _JSON:
        return text
    try:
        return json.loads(text.lower() if _TYPES[name] is FieldType.FLAG else text)
    except (ValueError, RecursionError):
        if _TYPES[name] is FieldType.TEXTS:
            return [part.strip() for part in text.split(",")]  # as a person writes them
        raise ValueError(f"{name} is {text!r:.60}, which is not JSON") from None
