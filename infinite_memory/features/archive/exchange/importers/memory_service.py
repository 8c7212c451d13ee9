"""Memories of mcp-memory-service: its JSON export, or its database of the backend sqlite-vec."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.archive.exchange.importers.sqlite_file import (
    Row,
    read_table,
    table_columns,
)
from infinite_memory.features.archive.exchange.opening import Value
from infinite_memory.features.archive.exchange.reading import (
    Faults,
    Options,
    naming_of,
    read_seconds,
    text_of,
)
from infinite_memory.features.archive.exchange.records import DraftRecord, Item

_CLIENT = "mcp-memory-service"
MEMORIES = (
    "memories",
    frozenset({"content_hash", "content", "tags", "memory_type", "metadata", "created_at"}),
)
"""The table of the memories, and columns that it has."""
_KINDS = {str(kind): kind for kind in Kind}
_DEFAULT_STORE = "default"


def is_memory_service(value: Any) -> bool:
    """Return whether a value is a memory with the hash of its content."""
    return isinstance(value, dict) and {"content", "content_hash"} <= value.keys()


def read_memory_service(found: Value, _options: Options) -> Iterator[Item]:
    """Yield a memory.

    Raises:
        ValueError: it is none.
    """
    value = found.value
    if not isinstance(value, dict):
        raise ValueError(f"a memory is {value!r:.60}, and no object")
    text, digest = text_of(value, "content"), text_of(value, "content_hash")
    if text is None or digest is None:
        raise ValueError("it lacks its content or its content_hash")
    faults = Faults(found.file, found.where)
    kind = faults.try_read(text_of, value, "memory_type")
    yield DraftRecord(
        file=found.file,
        where=found.where,
        naming=naming_of(digest),
        draft=Draft(
            id=import_id([_CLIENT, digest]),
            text=text,
            kind=_KINDS.get(str(kind), Kind.NOTE),
            origin=Origin.IMPORT,
            tags=faults.try_read(_read_tags, value.get("tags")) or (),
            context=_make_context(value, kind, faults),
            happened_at=faults.try_read(read_seconds, value.get("created_at")),
        ),
    )
    yield from faults.problems


def list_memories(path: Path) -> Iterator[Row]:
    """Yield the memories of a database that were not deleted.

    Raises:
        InvalidInput: the database cannot be read.
    """
    columns = table_columns(path, "memories")
    live = " where deleted_at is null" if "deleted_at" in columns else ""
    store = "store" if "store" in columns else "'default' as store"
    query = (
        "select id, content_hash, content, tags, memory_type, metadata, created_at,"
        f" {store} from memories{live} order by id"
    )
    for row in read_table(path, query):
        yield f"memories, row {row['id']}", row


def _read_tags(tags: object) -> list[str]:
    """Return tags that are a list, or a text with commas as in the database."""
    listed = tags.split(",") if isinstance(tags, str) else tags or []
    if not isinstance(listed, list):
        raise ValueError(f"tags are {tags!r:.60}, and no list")
    return [tag for tag in (str(tag).strip() for tag in listed) if tag]


def _make_context(value: Mapping[str, Any], kind: str | None, faults: Faults) -> dict[str, Any]:
    context: dict[str, Any] = {"client": _CLIENT}
    if kind is not None and kind not in _KINDS:
        context["memory_type"] = kind
    store = value.get("store")
    if isinstance(store, str) and store not in ("", _DEFAULT_STORE):
        context["store"] = store
    metadata = value.get("metadata")
    if isinstance(metadata, str):  # as the database has it
        metadata = faults.try_read(json.loads, metadata or "{}")
    if isinstance(metadata, dict) and metadata:
        context["metadata"] = metadata
    return context
