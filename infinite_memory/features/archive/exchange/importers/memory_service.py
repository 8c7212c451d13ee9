"""Memories of mcp-memory-service: its JSON export, or its database of the backend sqlite-vec."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from infinite_memory.core.values.draft import Draft
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.archive.exchange.importers.json_items import items_of
from infinite_memory.features.archive.exchange.importers.sqlite_file import (
    is_sqlite,
    read_table,
    table_columns,
)
from infinite_memory.features.archive.exchange.reading import (
    Options,
    naming_of,
    read_seconds,
    text_of,
)
from infinite_memory.features.archive.exchange.records import DraftRecord, Item
from infinite_memory.features.archive.exchange.source import Source

_CLIENT = "mcp-memory-service"
_COLUMNS = {"content_hash", "content", "tags", "memory_type", "metadata", "created_at"}
_KINDS = {str(kind): kind for kind in Kind}
_DEFAULT_STORE = "default"


def is_memory_service(source: Source) -> bool:
    """Return whether a file is an export, or a database, of the service."""
    if source.is_folder or source.is_zip:
        return False
    head = source.head(source.files[0])
    if is_sqlite(head):
        return table_columns(source.path, "memories") >= _COLUMNS
    return b'"export_metadata"' in head and b'"memories"' in head


def read_memory_service(source: Source, _options: Options) -> Iterator[Item]:
    """Yield the memories that were not deleted.

    Raises:
        InvalidInput: the database cannot be read.
        OSError: the file cannot be read.
    """
    (file,) = source.files
    shown = source.show(file)
    if is_sqlite(source.head(file)):
        yield from _read_database(source, shown)
        return
    index = 0
    with source.open(file) as stream:
        try:
            for index, value in enumerate(items_of(stream, "memories.item")):
                yield _read_item(value, shown, f"memories[{index}]")
        except ValueError as error:
            yield ImportProblem(file=shown, where=f"behind memories[{index}]", what=str(error))


def _read_database(source: Source, shown: str) -> Iterator[Item]:
    columns = table_columns(source.path, "memories")
    live = " where deleted_at is null" if "deleted_at" in columns else ""
    store = "store" if "store" in columns else "'default' as store"
    query = (
        "select id, content_hash, content, tags, memory_type, metadata, created_at,"
        f" {store} from memories{live} order by id"
    )
    for row in read_table(source.path, query):
        where = f"memories, row {row['id']}"
        try:
            tags = [tag.strip() for tag in (row["tags"] or "").split(",")]
            metadata = json.loads(row["metadata"] or "{}")
        except (ValueError, AttributeError, RecursionError) as error:
            yield ImportProblem(file=shown, where=where, what=f"tags or metadata: {error}")
            continue
        yield _read_item(
            {**row, "tags": [tag for tag in tags if tag], "metadata": metadata}, shown, where
        )


def _read_item(value: object, file: str, where: str) -> Item:
    try:
        if not isinstance(value, dict):
            raise ValueError(f"a memory is {value!r:.60}, and no object")
        text, digest = text_of(value, "content"), text_of(value, "content_hash")
        if text is None or digest is None:
            raise ValueError("it lacks its content or its content_hash")
        tags = value.get("tags") or []
        if not isinstance(tags, list):
            raise ValueError(f"tags are {tags!r:.60}, and no list")
        kind = text_of(value, "memory_type")
        return DraftRecord(
            file=file,
            where=where,
            naming=naming_of(digest),
            draft=Draft(
                id=import_id([_CLIENT, digest]),
                text=text,
                kind=_KINDS.get(str(kind), Kind.NOTE),
                origin=Origin.IMPORT,
                tags=tags,
                context=_make_context(value, kind),
                happened_at=read_seconds(value.get("created_at")),
            ),
        )
    except ValueError as error:
        return ImportProblem(file=file, where=where, what=str(error))


def _make_context(value: Mapping[str, Any], kind: str | None) -> dict[str, Any]:
    context: dict[str, Any] = {"client": _CLIENT}
    if kind is not None and kind not in _KINDS:
        context["memory_type"] = kind
    store = value.get("store")
    if isinstance(store, str) and store not in ("", _DEFAULT_STORE):
        context["store"] = store
    metadata = value.get("metadata")
    if isinstance(metadata, dict) and metadata:
        context["metadata"] = metadata
    return context
