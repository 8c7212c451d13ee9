"""The formats that can be imported, in the order in which a source is compared with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from attrs import frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.messages import suggest_name
from infinite_memory.features.archive.container.files import read_outline
from infinite_memory.features.archive.exchange.formats.csv_table import is_table, read_tables
from infinite_memory.features.archive.exchange.formats.fields import read_fields
from infinite_memory.features.archive.exchange.formats.jsonl import is_jsonl_export, read_jsonl
from infinite_memory.features.archive.exchange.formats.markdown import (
    is_markdown_export,
    read_markdown,
)
from infinite_memory.features.archive.exchange.importers.chatgpt import is_chatgpt, read_chatgpt
from infinite_memory.features.archive.exchange.importers.chats import is_chat, read_chat
from infinite_memory.features.archive.exchange.importers.claude_ai import is_claude, read_claude
from infinite_memory.features.archive.exchange.importers.documents import (
    is_document,
    read_documents,
)
from infinite_memory.features.archive.exchange.importers.mem0 import (
    HISTORY,
    is_mem0,
    list_history,
    read_mem0,
)
from infinite_memory.features.archive.exchange.importers.memory_server import (
    is_memory_server,
    read_memory_server,
)
from infinite_memory.features.archive.exchange.importers.memory_service import (
    MEMORIES,
    is_memory_service,
    list_memories,
    read_memory_service,
)
from infinite_memory.features.archive.exchange.importers.notes import (
    MARKDOWN,
    is_basic_memory,
    read_basic_memory,
)
from infinite_memory.features.archive.exchange.importers.sessions import find_client, read_sessions
from infinite_memory.features.archive.exchange.importers.sqlite_file import (
    Row,
    is_sqlite,
    table_columns,
)
from infinite_memory.features.archive.exchange.opening import Value
from infinite_memory.features.archive.exchange.reading import (
    Faults,
    FormatReader,
    Options,
    RecordReader,
    read_each,
    read_one,
)
from infinite_memory.features.archive.exchange.records import Item
from infinite_memory.features.archive.exchange.source import Source

_TABLES = (".csv", ".tsv")
_LINES = (".jsonl", ".ndjson")
_JSON = (*_LINES, ".json")
_BACKUPS = "logseq/bak/"  # in which Logseq keeps earlier states of its pages
_LOOKED_AT = 2000
_LOOKED_AT_VALUES = 20


def is_draft(value: Any) -> bool:
    """Return whether a value is an object with a text."""
    return isinstance(value, dict) and isinstance(value.get("text"), str)


def read_drafts(source: Source, files: Sequence[str], options: Options) -> Iterator[Item]:
    """Yield a memory of every record.

    Raises:
        OSError: a file cannot be read.
    """
    for file in files:
        read = partial(_read_draft, counts=Counter[str]())
        yield from read_each(read, source, [file], options)


def _read_draft(found: Value, options: Options, counts: Counter[str]) -> Iterator[Item]:
    if not isinstance(found.value, dict):
        raise ValueError(f"it is not a JSON object, but {found.value!r:.60}")
    fields = dict(found.value)
    text = fields.pop("text", None)
    if not isinstance(text, str):
        raise ValueError("it has no text")
    faults = Faults(found.file, found.where)
    place = {"file": found.file, "where": found.where}
    yield read_fields(fields, text, **place, zone=options.zone, counts=counts, faults=faults)
    yield from faults.problems


@frozen(kw_only=True)
class ImportFormat:
    """A format: what it is called in messages, how it is recognised, and how it is read.

    `claims` says whether a value of JSON is a record of it, and `table` is a table with columns
    that an SQLite file of it has, whose records `rows` lists. Other formats are recognised by
    `find_formats`. A format that `is_plain` has records as other programs have them too: in a
    folder of documents it is left to them. `endings` are those of further files that belong to a
    folder of it.
    """

    title: str
    read: FormatReader
    claims: Callable[[Any], bool] | None = None
    table: tuple[str, frozenset[str]] | None = None
    is_plain: bool = False
    endings: tuple[str, ...] = ()


def _make_session_format(client: str, product: str) -> ImportFormat:
    return ImportFormat(
        title=f"session files of {product}",
        read=partial(read_sessions, client),
        # A file of lines that says nothing of its client may be damaged: that is said.
        endings=_LINES,
    )


def _read_records(
    read: RecordReader,
    rows: Callable[[Path], Iterator[Row]] | None,
    source: Source,
    files: Sequence[str],
    options: Options,
) -> Iterator[Item]:
    for file in files:
        if rows is None or not _is_database(source, file):
            yield from read_each(read, source, [file], options)
            continue
        with source.on_disk(file) as path:
            for where, fields in rows(path):
                yield from read_one(read, Value(where, fields, source.show(file)), options)


def _is_database(source: Source, file: str) -> bool:
    with source.open_bytes(file) as stream:
        return is_sqlite(stream.read(64))


def _make_record_format(
    title: str,
    claims: Callable[[Any], bool],
    read: RecordReader,
    rows: Callable[[Path], Iterator[Row]] | None = None,
    table: tuple[str, frozenset[str]] | None = None,
) -> ImportFormat:
    return ImportFormat(
        title=title,
        claims=claims,
        read=partial(_read_records, read, rows),
        table=table,
        is_plain=table is not None,
    )


FORMATS: Mapping[str, ImportFormat] = {
    "jsonl": ImportFormat(
        title="an export of Infinite Memory as JSON Lines", claims=is_jsonl_export, read=read_jsonl
    ),
    "markdown": ImportFormat(title="an export of Infinite Memory as Markdown", read=read_markdown),
    "chatgpt": _make_record_format("an account export of ChatGPT", is_chatgpt, read_chatgpt),
    "claude": _make_record_format("an account export of Claude", is_claude, read_claude),
    "chats": _make_record_format("chats of Open WebUI or LibreChat", is_chat, read_chat),
    "claude-code": _make_session_format("claude-code", "Claude Code"),
    "codex": _make_session_format("codex", "Codex CLI"),
    "gemini-cli": _make_session_format("gemini", "Gemini CLI"),
    "basic-memory": ImportFormat(
        title="a folder of basic-memory", read=read_basic_memory, endings=(".md",)
    ),
    "csv": ImportFormat(title="a table of memories", read=read_tables, is_plain=True),
    "mcp-memory": ImportFormat(
        title="the file of the official MCP memory server",
        claims=is_memory_server,
        read=read_memory_server,
        is_plain=True,
    ),
    "mcp-memory-service": _make_record_format(
        "an export or a database of mcp-memory-service",
        is_memory_service,
        read_memory_service,
        list_memories,
        MEMORIES,
    ),
    "mem0": _make_record_format("memories of mem0", is_mem0, read_mem0, list_history, HISTORY),
    "drafts": ImportFormat(
        title="memories as JSON", claims=is_draft, read=read_drafts, is_plain=True
    ),
    "documents": ImportFormat(title="files of Markdown, text or PDF", read=read_documents),
}
"""The formats by their names, the most particular first."""

_CLIENTS = {"claude-code": "claude-code", "codex": "codex", "gemini": "gemini-cli"}


def find_formats(source: Source, file: str) -> frozenset[str]:
    """Return the names of the formats that a file of a source may be in, by its first records."""
    known = source.formats.get(file)
    if known is None:
        known = source.formats[file] = frozenset(_list_formats(source, file))
    return known


def _list_formats(source: Source, file: str) -> Iterator[str]:
    name = file.lower()
    if is_document(file) and _BACKUPS not in name:
        yield "documents"
    if name.endswith(MARKDOWN):
        if is_markdown_export(source, file):
            yield "markdown"
        if is_basic_memory(source, file):
            yield "basic-memory"
    elif name.endswith(_TABLES):
        if is_table(source, file):
            yield "csv"
    elif name.endswith(_JSON) or source.is_single:
        yield from _list_record_formats(source, file)
    elif _is_database(source, file):
        yield from _list_database_formats(source, file)


def _list_database_formats(source: Source, file: str) -> Iterator[str]:
    with source.on_disk(file) as path:
        for known, form in FORMATS.items():
            if form.table is not None and table_columns(path, form.table[0]) >= form.table[1]:
                yield known


def _list_record_formats(source: Source, file: str) -> Iterator[str]:
    if _is_database(source, file):
        yield from _list_database_formats(source, file)
        return
    is_named = file.lower().endswith(_JSON)
    if not is_named and source.head(file).lstrip()[:1] not in (b"{", b"["):
        return
    client = find_client(source, file) if file.lower().endswith(_LINES) else None
    if client is None:
        claimed = list(_list_claimed(source, file))
        yield from claimed
        client = None if claimed else find_client(source, file)
    if client is not None:
        yield _CLIENTS[client]


def _list_claimed(source: Source, file: str) -> Iterator[str]:
    for found in islice(source.values(file), _LOOKED_AT_VALUES):
        if isinstance(found, ImportProblem):
            continue
        claimed = [
            known
            for known, form in FORMATS.items()
            if form.claims is not None and form.claims(found.value)
        ]
        if claimed:
            yield from claimed
            return


def choose_format(source: Source, name: str | None) -> str:
    """Return the name of the format of a source, by default the first that recognises it.

    Raises:
        InvalidInput: there is no format of that name, no format recognises the source, or it is an
            archive.
    """
    if name is not None:
        if name not in FORMATS:
            raise InvalidInput(
                f"there is no format {name!r:.60}; the nearest is"
                f" {suggest_name(name, list(FORMATS))!r}, all are {', '.join(FORMATS)}"
            )
        return name
    if source.is_single and read_outline(source.path) is not None:
        raise InvalidInput(
            f"{source.path} is a backup of a whole store: bring it back with `infinite-memory"
            f" restore {source.path}`, or with --merge add it to what is here"
        )
    if not source.files:
        raise InvalidInput(f"{source.path} holds no files that are not hidden: nothing to import")
    readable = [f for f in source.files if f.lower().endswith((*_JSON, *_TABLES)) or is_document(f)]
    candidates = (readable or source.files)[:_LOOKED_AT]
    counts = Counter(known for file in candidates for known in find_formats(source, file))
    for known, form in FORMATS.items():
        if counts[known] and not (form.is_plain and counts[known] < counts["documents"]):
            return known
    raise InvalidInput(
        f"{source.path} is in no format that is recognised: name one with --from, one of"
        f" {', '.join(FORMATS)}"
    )


def list_files(source: Source, chosen: str) -> list[str]:
    """Return the files of a source that are read in a format."""
    if source.is_single:
        return list(source.files)
    endings = FORMATS[chosen].endings
    return [
        file
        for file in source.files
        if chosen in (known := find_formats(source, file))
        or (not (known - {"documents"}) and file.lower().endswith(endings))
    ]
