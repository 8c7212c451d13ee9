"""Memories of mem0: the JSON of `get_all` or of an export, or its file `history.db`.

The history has no scopes or metadata; the last text of every memory that was not deleted counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.archive.exchange.importers.json_items import ITEMS, items_of
from infinite_memory.features.archive.exchange.importers.sqlite_file import (
    is_sqlite,
    read_table,
    table_columns,
)
from infinite_memory.features.archive.exchange.reading import (
    Options,
    naming_of,
    read_time_text,
    text_of,
)
from infinite_memory.features.archive.exchange.records import DraftRecord, Item
from infinite_memory.features.archive.exchange.source import Source

_CLIENT = "mem0"
_NAMES = ("user_id", "agent_id", "app_id", "run_id", "actor_id", "role", "categories")
_HISTORY = {"memory_id", "old_memory", "new_memory", "event"}
_QUERY = (
    "select rowid as row, memory_id, new_memory, event, created_at, updated_at, is_deleted"
    " from history order by rowid"
)


def is_mem0(source: Source) -> bool:
    """Return whether a file holds `memory` texts with ids, or the history of mem0."""
    if source.is_folder or source.is_zip:
        return False
    head = source.head(source.files[0])
    if is_sqlite(head):
        return table_columns(source.path, "history") >= _HISTORY
    return head.lstrip()[:1] in (b"[", b"{") and b'"memory":' in head and b'"id":' in head


def read_mem0(source: Source, _options: Options) -> Iterator[Item]:
    """Yield the memories.

    Raises:
        InvalidInput: the file of the history cannot be read.
        OSError: the file cannot be read.
    """
    (file,) = source.files
    shown = source.show(file)
    head = source.head(file)
    if is_sqlite(head):
        yield from _read_history(source, shown)
        return
    is_list = head.lstrip().startswith(b"[")
    path = ITEMS if is_list else "results.item"
    index = 0
    with source.open(file) as stream:
        try:
            for index, value in enumerate(items_of(stream, path)):
                where = f"[{index}]" if is_list else f"results[{index}]"
                yield _read_item(value, shown, where)
        except ValueError as error:
            yield ImportProblem(file=shown, where=f"behind [{index}]", what=str(error))


def _read_item(value: object, file: str, where: str) -> Item:
    try:
        if not isinstance(value, dict):
            raise ValueError(f"a memory is {value!r:.60}, and no object")
        text, identity = text_of(value, "memory"), text_of(value, "id")
        if text is None or identity is None:
            raise ValueError("it lacks its id or its memory")
        metadata = value.get("metadata")
        context: dict[str, Any] = {"client": _CLIENT}
        context |= {name: value[name] for name in _NAMES if value.get(name) not in (None, "", [])}
        if isinstance(metadata, dict) and metadata:
            context["metadata"] = metadata
        return _make_record(identity, text, value, context, file, where)
    except (ValueError, InvalidInput) as error:
        return ImportProblem(file=file, where=where, what=str(error))


def _make_record(
    identity: str,
    text: str,
    times: Mapping[str, Any],
    context: Mapping[str, Any],
    file: str,
    where: str,
) -> DraftRecord:
    return DraftRecord(
        file=file,
        where=where,
        naming=naming_of(identity),
        draft=Draft(
            id=import_id([_CLIENT, identity]),
            text=text,
            kind=Kind.FACT,
            origin=Origin.IMPORT,
            happened_at=read_time_text(times.get("updated_at"), "UTC")
            or read_time_text(times.get("created_at"), "UTC"),
            context=context,
        ),
    )


def _read_history(source: Source, shown: str) -> Iterator[Item]:
    last: dict[str, dict[str, Any]] = {}
    for row in read_table(source.path, _QUERY):
        identity = row["memory_id"]
        if row["event"] == "DELETE" or row["is_deleted"]:
            last.pop(identity, None)
        elif row["new_memory"]:
            last[identity] = row
    for identity, row in last.items():
        where = f"history, row {row['row']}"
        try:
            text = text_of(row, "new_memory")
            if text is None or not isinstance(identity, str):
                raise ValueError("it lacks its memory_id or its text")
            yield _make_record(identity, text, row, {"client": _CLIENT}, shown, where)
        except ValueError as error:
            yield ImportProblem(file=shown, where=where, what=str(error))
