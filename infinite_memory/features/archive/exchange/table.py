"""The formats that can be imported, in the order in which a source is compared with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

from attrs import frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.files.json_lines import parse_object, read_lines
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.core.values.messages import suggest_name
from infinite_memory.features.archive.container.files import read_outline
from infinite_memory.features.archive.exchange.formats.csv_table import is_csv_export, read_csv
from infinite_memory.features.archive.exchange.formats.fields import read_fields
from infinite_memory.features.archive.exchange.formats.jsonl import is_jsonl_export, read_jsonl
from infinite_memory.features.archive.exchange.formats.markdown import (
    is_markdown_export,
    read_markdown,
)
from infinite_memory.features.archive.exchange.importers.basic_memory import (
    is_basic_memory,
    read_basic_memory,
)
from infinite_memory.features.archive.exchange.importers.chatgpt import is_chatgpt, read_chatgpt
from infinite_memory.features.archive.exchange.importers.claude_ai import is_claude, read_claude
from infinite_memory.features.archive.exchange.importers.documents import (
    is_documents,
    read_documents,
)
from infinite_memory.features.archive.exchange.importers.mem0 import is_mem0, read_mem0
from infinite_memory.features.archive.exchange.importers.memory_server import (
    is_memory_server,
    read_memory_server,
)
from infinite_memory.features.archive.exchange.importers.memory_service import (
    is_memory_service,
    read_memory_service,
)
from infinite_memory.features.archive.exchange.importers.sessions import (
    holds_sessions,
    read_sessions,
)
from infinite_memory.features.archive.exchange.reading import FormatReader, Options, Recognise
from infinite_memory.features.archive.exchange.records import Item
from infinite_memory.features.archive.exchange.source import Source


def is_drafts(source: Source) -> bool:
    """Return whether the first line of a file is an object with a text."""
    if source.is_folder or source.is_zip:
        return False
    first = source.head(source.files[0]).lstrip().split(b"\n", 1)[0]
    try:
        return isinstance(parse_object(first, len(first)).get("text"), str)
    except ValueError:
        return False


def read_drafts_file(source: Source, options: Options) -> Iterator[Item]:
    """Yield a memory of every line.

    Raises:
        OSError: the file cannot be read.
    """
    (file,) = source.files
    shown, counts = source.show(file), Counter[str]()
    with source.open(file) as stream:
        for number, line in read_lines(stream, options.max_line_bytes):
            if not line.strip():
                continue
            where = f"line {number}"
            try:
                fields = parse_object(line, options.max_line_bytes)
                text = fields.pop("text", None)
                if not isinstance(text, str):
                    raise ValueError("it has no text")
                yield read_fields(
                    fields, text, file=shown, where=where, zone=options.zone, counts=counts
                )
            except (ValueError, InvalidInput, TypeError, KeyError) as error:
                yield ImportProblem(file=shown, where=where, what=str(error))


@frozen(kw_only=True)
class ImportFormat:
    """A format: what it is called in messages, how it is recognised, and how it is read."""

    title: str
    recognise: Recognise
    read: FormatReader


def _make_session_format(client: str, product: str) -> ImportFormat:
    return ImportFormat(
        title=f"session files of {product}",
        recognise=partial(holds_sessions, client),
        read=partial(read_sessions, client),
    )


FORMATS: Mapping[str, ImportFormat] = {
    "jsonl": ImportFormat(
        title="an export of Infinite Memory as JSON Lines",
        recognise=is_jsonl_export,
        read=read_jsonl,
    ),
    "markdown": ImportFormat(
        title="an export of Infinite Memory as Markdown",
        recognise=is_markdown_export,
        read=read_markdown,
    ),
    "csv": ImportFormat(title="a table of memories", recognise=is_csv_export, read=read_csv),
    "mcp-memory": ImportFormat(
        title="the file of the official MCP memory server",
        recognise=is_memory_server,
        read=read_memory_server,
    ),
    "chatgpt": ImportFormat(
        title="an account export of ChatGPT", recognise=is_chatgpt, read=read_chatgpt
    ),
    "claude": ImportFormat(
        title="an account export of Claude", recognise=is_claude, read=read_claude
    ),
    "mcp-memory-service": ImportFormat(
        title="an export or a database of mcp-memory-service",
        recognise=is_memory_service,
        read=read_memory_service,
    ),
    "mem0": ImportFormat(title="memories of mem0", recognise=is_mem0, read=read_mem0),
    "claude-code": _make_session_format("claude-code", "Claude Code"),
    "codex": _make_session_format("codex", "Codex CLI"),
    "gemini-cli": _make_session_format("gemini", "Gemini CLI"),
    "basic-memory": ImportFormat(
        title="a folder of basic-memory", recognise=is_basic_memory, read=read_basic_memory
    ),
    "drafts": ImportFormat(
        title="memories as JSON Lines", recognise=is_drafts, read=read_drafts_file
    ),
    "documents": ImportFormat(
        title="files of Markdown, text or PDF", recognise=is_documents, read=read_documents
    ),
}
"""The formats by their names, the most particular first."""


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
    if not source.is_folder and read_outline(source.path) is not None:
        raise InvalidInput(
            f"{source.path} is a backup of a whole store: bring it back with `infinite-memory"
            f" restore {source.path}`, or with --merge add it to what is here"
        )
    if not source.files:
        raise InvalidInput(f"{source.path} holds no files that are not hidden: nothing to import")
    for known, form in FORMATS.items():
        if form.recognise(source):
            return known
    raise InvalidInput(
        f"{source.path} is in no format that is recognised: name one with --from, one of"
        f" {', '.join(FORMATS)}"
    )
