"""A memory as text fields, for the formats that hold the current state alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

from infinite_memory.core.values.codec import iso, to_json
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Memory, Origin
from infinite_memory.features.archive.container.layout import RecordType
from infinite_memory.features.archive.exchange.formats.jsonl import ENCODER
from infinite_memory.features.archive.exchange.reading import Faults, read_time_text
from infinite_memory.features.archive.exchange.records import DraftRecord, MemoryRecord
from infinite_memory.features.archive.transfer.records import decode_record

_ALWAYS = {"id", "kind", "happened_at", "stored_at", "revision"}
_OF_THE_STORE = {"status", "stored_at", "revision"}
_TIMES = tuple(field.name for field in MEMORY_FIELDS if field.value_type is FieldType.TIME)
_DEFAULTS = {field.name: field.default for field in MEMORY_FIELDS}


def filled_fields(memory: Memory) -> dict[str, Any]:
    """Return the fields of a memory as JSON values, without its text and without empty fields."""
    values = to_json(memory)
    return {
        name: value
        for name, value in values.items()
        if name != "text"
        and (name in _ALWAYS or getattr(memory, name) not in (_DEFAULTS[name], (), {}, None))
    }


def read_fields(
    values: Mapping[str, Any],
    text: str,
    *,
    file: str,
    where: str,
    zone: str | None,
    counts: Counter[str],
    faults: Faults | None = None,
) -> MemoryRecord | DraftRecord:
    """Return the memory that `filled_fields` wrote, or a new memory if a person wrote the fields.

    A new memory has no id, or no revision; its id then comes from its content, so that it is the
    same in every reading. `counts` counts the equal ones, each of which is a memory. A name that is
    no field is kept in the context. With `faults`, a time that cannot be read is one of them.

    Raises:
        ValueError: a field cannot be read.
    """
    known = {name: value for name, value in values.items() if value not in (None, "", [])}
    unknown = {name: known.pop(name) for name in known.keys() - _DEFAULTS.keys()}
    if "id" in known and "revision" in known:
        return MemoryRecord(file=file, where=where, revisions=(_decode_memory(known, text),))
    kept = {name: value for name, value in known.items() if name not in _OF_THE_STORE}
    if unknown:
        given = kept.get("context")
        kept["context"] = {**unknown, **(given if isinstance(given, Mapping) else {})}
    for name in _TIMES:
        if name in kept:
            read = partial(read_time_text, kept.pop(name), zone)
            kept[name] = read() if faults is None else faults.try_read(read)
    named = [text, *(str(kept.get(name)) for name in ("scope", "speaker", "happened_at"))]
    first = import_id(["fields", *named])
    counts[first] += 1
    repeated = [] if counts[first] == 1 else [counts[first]]
    kept.setdefault("id", import_id(["fields", *named, *repeated]))
    kept.setdefault("origin", Origin.IMPORT)
    return DraftRecord(file=file, where=where, draft=Draft(text=text, **kept))


def _decode_memory(values: Mapping[str, Any], text: str) -> Memory:
    fields = {
        field.name: values.get(field.name, _make_json_default(field.name))
        for field in MEMORY_FIELDS
        if field.name != "text" and (field.name in values or field.name in _DEFAULTS)
    }
    for name in _TIMES:
        if isinstance(fields.get(name), str):
            fields[name] = iso(read_time_text(fields[name], "UTC"))
    content = ENCODER.encode(fields).encode() + b"\n" + text.encode(errors="surrogatepass")
    memory = decode_record(RecordType.REVISION, content)
    assert isinstance(memory, Memory)
    return memory


def _make_json_default(name: str) -> Any:
    default = _DEFAULTS[name]
    return list(default) if isinstance(default, tuple) else default
