"""Memories of mem0: the JSON of `get_all` or of an export, or its file `history.db`.

The history has no scopes or metadata; the last text of every memory that was not deleted counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.archive.exchange.importers.sqlite_file import Row, read_table
from infinite_memory.features.archive.exchange.opening import Value
from infinite_memory.features.archive.exchange.reading import (
    Faults,
    Options,
    naming_of,
    read_time_text,
    text_of,
)
from infinite_memory.features.archive.exchange.records import DraftRecord, Item

_CLIENT = "mem0"
_NAMES = ("user_id", "agent_id", "app_id", "run_id", "actor_id", "role", "categories")
_TEXTS = ("memory", "data")
HISTORY = ("history", frozenset({"memory_id", "old_memory", "new_memory", "event"}))
"""The table of the history, and columns that it has."""
_QUERY = (
    "select rowid as row, memory_id, new_memory, event, created_at, updated_at, is_deleted"
    " from history order by rowid"
)


def is_mem0(value: Any) -> bool:
    """Return whether a value is a `memory` with an id."""
    return isinstance(value, dict) and "id" in value and isinstance(value.get("memory"), str)


def read_mem0(found: Value, _options: Options) -> Iterator[Item]:
    """Yield a memory, or a relation of two things.

    Raises:
        ValueError: it is neither.
    """
    value = found.value
    if not isinstance(value, dict):
        raise ValueError(f"a memory is {value!r:.60}, and no object")
    faults = Faults(found.file, found.where)
    text = next(filter(None, (faults.try_read(text_of, value, name) for name in _TEXTS)), None)
    ends = [text_of(value, name) for name in ("source", "relationship", "target")]
    identity = value.get("id")
    if text is None and all(ends):
        text, identity = (
            " ".join(str(end).replace("_", " ") for end in ends),
            "/".join(map(str, ends)),
        )
    if text is None or identity in (None, ""):
        raise ValueError("it lacks its id or its memory")
    metadata = value.get("metadata")
    context: dict[str, Any] = {"client": _CLIENT}
    context |= {name: value[name] for name in _NAMES if value.get(name) not in (None, "", [])}
    if isinstance(metadata, dict) and metadata:
        context["metadata"] = metadata
    times = (
        faults.try_read(read_time_text, value.get(name), "UTC")
        for name in ("updated_at", "created_at")
    )
    yield DraftRecord(
        file=found.file,
        where=found.where,
        naming=naming_of(str(identity)),
        draft=Draft(
            id=import_id([_CLIENT, identity]),
            text=text,
            kind=Kind.FACT,
            origin=Origin.IMPORT,
            happened_at=next(filter(None, times), None),
            context=context,
        ),
    )
    yield from faults.problems


def list_history(path: Path) -> Iterator[Row]:
    """Yield the last state of each memory of a history that was not deleted.

    Raises:
        InvalidInput: the file cannot be read.
    """
    last: dict[str, dict[str, Any]] = {}
    for row in read_table(path, _QUERY):
        identity = row["memory_id"]
        if row["event"] == "DELETE" or row["is_deleted"]:
            last.pop(identity, None)
        elif row["new_memory"]:
            last[identity] = row
    for identity, row in last.items():
        fields = {**row, "id": identity, "memory": row["new_memory"]}
        yield f"history, row {row['row']}", fields
