"""JSON Lines: one record a line, for memories with their history, scopes and links.

The first line has `"record": "export"`, the last `"record": "end"` with counts. Between them are
the records "scope", "memory" and "link"; `docs/reference/export-format.md` describes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.codec import iso, to_json
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.scope import Scope
from infinite_memory.features.archive.container.layout import RecordType
from infinite_memory.features.archive.exchange.opening import Value
from infinite_memory.features.archive.exchange.reading import (
    Options,
    format_version_error,
)
from infinite_memory.features.archive.exchange.records import (
    Item,
    LinkRecord,
    MemoryRecord,
    ScopeRecord,
)
from infinite_memory.features.archive.exchange.source import Source
from infinite_memory.features.archive.transfer.records import decode_record

FORMAT = "infinite-memory"
VERSION = 1
ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _write_line(record: str, fields: Mapping[str, Any]) -> bytes:
    return ENCODER.encode({"record": record, **fields}).encode() + b"\n"


def head_line(created_at: datetime, store: str) -> bytes:
    """Return the first line of an export of the store with that identity."""
    fields = {"format": FORMAT, "version": VERSION, "created_at": iso(created_at), "store": store}
    return _write_line("export", fields)


def scope_line(scope: Scope) -> bytes:
    """Return the line of a scope."""
    return _write_line("scope", scope.to_dict())


def memory_line(revisions: list[Memory]) -> bytes:
    """Return the line of a memory; its revisions are given oldest first."""
    *earlier, memory = revisions
    history = {"history": [to_json(revision) for revision in earlier]} if earlier else {}
    return _write_line("memory", {**to_json(memory), **history})


def link_line(link: Link) -> bytes:
    """Return the line of a link."""
    return _write_line("link", {**link.to_dict(), "weight": float(link.weight)})


def end_line(memories: int, links: int) -> bytes:
    """Return the last line, by which a file that was cut short is noticed."""
    return _write_line("end", {"memories": memories, "links": links})


def is_jsonl_export(value: Any) -> bool:
    """Return whether a value is what `head_line` writes, or a memory of such a file."""
    if not isinstance(value, dict):
        return False
    is_head = value.get("record") == "export" and value.get("format") == FORMAT
    return is_head or (value.get("record") == "memory" and {"id", "revision"} <= value.keys())


def read_jsonl(source: Source, files: Sequence[str], _options: Options) -> Iterator[Item]:
    """Yield the records of an export.

    Raises:
        InvalidInput: a newer version wrote it.
        OSError: a file cannot be read.
    """
    for file in files:
        yield from _read_file(source, file)


def _read_file(source: Source, file: str) -> Iterator[Item]:
    shown, has_head, memories = source.show(file), False, 0
    for found in source.values(file):
        if isinstance(found, ImportProblem):
            yield found
            continue
        try:
            if not isinstance(found.value, dict):
                raise ValueError(f"it is not a JSON object, but {found.value!r:.60}")
            fields = dict(found.value)
            kind = fields.pop("record", None)
            if kind == "export":
                has_head = True
                if fields.get("version") != VERSION:
                    raise format_version_error(fields.get("version"), VERSION)
            elif kind == "end":
                has_head = False
                yield from _check_end(fields, memories, found)
            else:
                memories += kind == "memory"
                yield _read_record(kind, fields, shown, found.where)
        except InvalidInput:
            raise
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            yield ImportProblem(file=shown, where=found.where, what=str(error))
    if has_head:
        yield ImportProblem(
            file=shown, where="", what="it lacks its last line, so it was cut short"
        )


def _check_end(fields: Mapping[str, Any], memories: int, found: Value) -> Iterator[ImportProblem]:
    if fields.get("memories") != memories:
        yield ImportProblem(
            file=found.file,
            where=found.where,
            what=f"the file holds {memories:,} memories, and its end says"
            f" {fields.get('memories')!r:.40}",
        )


def _read_record(kind: object, fields: dict[str, Any], file: str, where: str) -> Item:
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise ValueError(f"the record {kind!r:.60} is none of {', '.join(_READERS)}")
    return reader(fields, file, where)


def _read_memory(fields: dict[str, Any], file: str, where: str) -> MemoryRecord:
    history = fields.pop("history", [])
    if not isinstance(history, list):
        raise ValueError("history is no list")
    revisions = tuple([_decode_memory(revision) for revision in [*history, fields]])
    numbers = [memory.revision for memory in revisions]
    if len({memory.id for memory in revisions}) > 1 or sorted(set(numbers)) != numbers:
        raise ValueError("the history is not of this memory, or not in order")
    return MemoryRecord(file=file, where=where, revisions=revisions, has_history=True)


def _decode_memory(fields: object) -> Memory:
    if not isinstance(fields, dict):
        raise ValueError(f"a revision is {fields!r:.60}, and no object")
    text = fields.pop("text", None)
    if not isinstance(text, str):
        raise ValueError("the text is missing, or is no text")
    content = ENCODER.encode(fields).encode() + b"\n" + text.encode(errors="surrogatepass")
    memory = decode_record(RecordType.REVISION, content)
    assert isinstance(memory, Memory)
    return memory


def _read_scope(fields: dict[str, Any], file: str, where: str) -> ScopeRecord:
    scope = decode_record(RecordType.SCOPE, ENCODER.encode(fields).encode())
    assert isinstance(scope, Scope)
    return ScopeRecord(file=file, where=where, scope=scope)


def _read_link(fields: dict[str, Any], file: str, where: str) -> LinkRecord:
    link = decode_record(RecordType.LINK, ENCODER.encode(fields).encode())
    assert isinstance(link, Link)
    return LinkRecord(
        file=file,
        where=where,
        source=link.source,
        target=link.target,
        type=link.type,
        weight=link.weight,
        made_by=link.made_by,
        reason=link.reason,
        made_at=link.made_at,
    )


_READERS: Mapping[str, Callable[[dict[str, Any], str, str], Item]] = {
    "memory": _read_memory,
    "scope": _read_scope,
    "link": _read_link,
}
