"""No import takes time that grows faster than its source: every format, in each of its forms.

A format without a row fails the test.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.values.exchange import ExportFormat
from infinite_memory.features.archive.exchange.importers.front_matter import split_front_matter
from infinite_memory.features.archive.exchange.table import FORMATS
from infinite_memory.testing.embedders import HashingEmbedder
from tests.exchange.written import list_chats
from tests.harness.costs import (
    Costs,
    Statement,
    collect_statements,
    count_steps,
    find_excess,
    measure,
)

SIZE = 28
AT = "2026-05-01T12:00:00Z"
Write = Callable[[Path, int], Path]


def say(size: int) -> str:
    """Return a text of `size` lines."""
    return "".join(
        f"Line {number} of what is said about apollo {number}.\n" for number in range(size)
    )


def write_json(folder: Path, value: object) -> Path:
    path = folder / "source.json"
    path.write_text(json.dumps(value))
    return path


def write_lines(folder: Path, values: Sequence[object]) -> Path:
    path = folder / "source.jsonl"
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))
    return path


def write_files(folder: Path, texts: Sequence[str], ending: str = "md") -> Path:
    notes = folder / "notes"
    notes.mkdir()
    for number, text in enumerate(texts):
        (notes / f"note {number}.{ending}").write_text(text)
    return notes


def zipped(write: Write) -> Write:
    """Return what writes the same into a zip file."""

    def write_zip(folder: Path, size: int) -> Path:
        inner = write(folder, size)
        path = folder / "source.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(inner.rglob("*")) if inner.is_dir() else [inner]:
                name = file.relative_to(inner) if inner.is_dir() else "conversations.json"
                archive.write(file, str(name))
        return path

    return write_zip


def exported(form: ExportFormat, name: str) -> Write:
    """Return what writes an export of this library with so many memories."""

    def write(folder: Path, size: int) -> Path:
        with MemoryStore.open(folder / "other", embedder=HashingEmbedder()) as store:
            store.remember_many(
                [{"text": say(2), "id": f"x{n}", "scope": f"s{n}"} for n in range(size)]
            )
            store.exchange.export(folder / name, format=form)
        return folder / name

    return write


def chatgpt(size: int) -> dict[str, Any]:
    nodes = {
        f"n{n}": {
            "id": f"n{n}",
            "parent": f"n{n - 1}" if n else None,
            "children": [f"n{n + 1}"] if n + 1 < size else [],
            "message": {
                "id": f"m{n}",
                "author": {"role": "user"},
                "content": {"content_type": "text", "parts": [f"Said {n}"]},
            },
        }
        for n in range(size)
    }
    return {"mapping": nodes, "conversation_id": f"c{size}", "current_node": f"n{size - 1}"}


def claude(size: int) -> dict[str, Any]:
    said = [{"uuid": f"m{n}", "sender": "human", "text": f"Said {n}"} for n in range(size)]
    return {"uuid": f"c{size}", "name": "talk", "created_at": AT, "chat_messages": said}


def claude_code(size: int) -> list[dict[str, Any]]:
    return [
        {
            **{"type": "user", "sessionId": "s", "uuid": f"u{n}", "timestamp": AT},
            "message": {"role": "user", "content": f"Said {n}"},
        }
        for n in range(size)
    ]


def codex(size: int) -> list[dict[str, Any]]:
    content = [{"type": "input_text", "text": "Said"}]
    message = {"type": "message", "role": "user", "content": content}
    meta = {"type": "session_meta", "timestamp": AT, "payload": {"id": "s"}}
    return [meta, *({"type": "response_item", "timestamp": AT, "payload": message},) * size]


def gemini(size: int) -> dict[str, Any]:
    said = [{"id": f"m{n}", "type": "user", "content": f"Said {n}"} for n in range(size)]
    return {"sessionId": "s", "projectHash": "h", "messages": said}


def graph(size: int) -> list[dict[str, Any]]:
    entity = {"type": "entity", "entityType": "part"}
    return [
        *({**entity, "name": f"e{n}", "observations": [f"it is {n}"]} for n in range(size)),
        *(
            {"type": "relation", "from": "e0", "to": f"e{n}", "relationType": "has"}
            for n in range(size)
        ),
    ]


def service(size: int) -> dict[str, Any]:
    memories = [
        {"content": f"It is {n}", "content_hash": f"h{n}", "tags": ["a"]} for n in range(size)
    ]
    return {"export_metadata": {}, "memories": memories}


def write_table(folder: Path, size: int) -> Path:
    path = folder / "history.db"
    connection = apsw.Connection(str(path))
    connection.execute(
        "create table history (id, memory_id, old_memory, new_memory, event, created_at,"
        " updated_at, is_deleted)"
    )
    for number in range(size):
        row = (number, f"m{number % 9}", None, f"It is {number}", "ADD", AT, AT, 0)
        connection.execute("insert into history values (?, ?, ?, ?, ?, ?, ?, ?)", row)
    connection.close()
    return path


def note(number: int, lines: int) -> str:
    fields = f"title: Note {number}\ntype: note\npermalink: note-{number}\ntags: [a, b]"
    links = "".join(f"- has [[note {other}]]\n" for other in range(lines))
    return f"---\n{fields}\n---\n- [fact] It is {number} #tag{number}\n{links}{say(lines)}"


def listed(size: int) -> str:
    return f"---\na: [{', '.join(f'b{n}' for n in range(size))}]\n---\nThe text.\n"


def draft_lines(size: int) -> list[dict[str, Any]]:
    return [{"text": f"It is {n}", "scope": f"scope {n}", "tags": [f"t{n}"]} for n in range(size)]


notes: Write = lambda folder, size: write_files(folder, [say(2)] * size)  # noqa: E731
basic: Write = lambda folder, size: write_files(folder, [note(n, 1) for n in range(size)])  # noqa: E731
talk: Write = lambda folder, size: write_json(folder, [chatgpt(size)])  # noqa: E731
sessions: Write = lambda folder, size: write_files(  # noqa: E731
    folder, ["\n".join(map(json.dumps, claude_code(2)))] * size, "jsonl"
)

ROWS: Mapping[str, Sequence[Write]] = {
    "jsonl": [exported(ExportFormat.JSONL, "out.jsonl")],
    "markdown": [exported(ExportFormat.MARKDOWN, "out")],
    "csv": [exported(ExportFormat.CSV, "out.csv")],
    "mcp-memory": [
        lambda folder, size: write_lines(folder, graph(size)),
        lambda folder, size: write_lines(
            folder, [{**graph(1)[0], "observations": [f"it is {n}" for n in range(size)]}]
        ),
    ],
    "chatgpt": [
        talk,
        zipped(talk),
        lambda folder, size: write_json(
            folder, [{**chatgpt(1), "id": f"{n}"} for n in range(size)]
        ),
    ],
    "claude": [
        lambda folder, size: write_json(folder, [claude(size)]),
        lambda folder, size: write_json(
            folder, [{**claude(1), "uuid": f"{n}"} for n in range(size)]
        ),
    ],
    "chats": [
        lambda folder, size: write_json(folder, list_chats([f"Said {n}" for n in range(size)]))
    ],
    "mcp-memory-service": [lambda folder, size: write_json(folder, service(size))],
    "mem0": [
        lambda folder, size: write_json(
            folder, [{"id": f"m{n}", "memory": f"It is {n}"} for n in range(size)]
        ),
        write_table,
    ],
    "claude-code": [
        lambda folder, size: write_lines(folder, claude_code(size)),
        sessions,
        zipped(sessions),
    ],
    "codex": [lambda folder, size: write_lines(folder, codex(size))],
    "gemini-cli": [
        lambda folder, size: write_json(folder, gemini(size)),
        lambda folder, size: write_lines(
            folder, [{"sessionId": "s", "projectHash": "h"}, *gemini(size)["messages"]]
        ),
    ],
    "basic-memory": [
        basic,
        zipped(basic),
        lambda folder, size: write_files(folder, [note(1, size)]),
    ],
    "drafts": [
        lambda folder, size: write_lines(folder, draft_lines(size)),
        lambda folder, size: write_lines(folder, [{"text": say(size)}]),
    ],
    "documents": [
        notes,
        zipped(notes),
        lambda folder, size: write_files(folder, [say(size * 4)]),
        lambda folder, size: write_files(folder, [listed(size)]),
    ],
}
"""What writes a source of some size, for each format: many records, and one long record."""


@pytest.fixture(scope="module")
def statements() -> Iterator[Sequence[Statement]]:
    with collect_statements() as found:
        yield found


def measure_import(
    form: str,
    write: Write,
    size: int,
    folder: Path,
    statements: Sequence[Statement],
    *,
    undone: bool = False,
) -> Costs:
    """Return what the import of a source of some size costs, or the undo of that import."""
    folder.mkdir()
    source = write(folder, size)
    with MemoryStore.open(folder / "home", embedder=HashingEmbedder()) as store:
        store.search("warm")

        def bring_in() -> tuple[int, ...]:
            imported = store.exchange.import_from(source, format=form)
            store.search("apollo")
            return imported.entries

        if not undone:
            return measure(bring_in, statements)
        (entry,) = bring_in()
        return measure(lambda: store.undo(entry), statements)


def test_every_format_has_a_row() -> None:
    assert ROWS.keys() == FORMATS.keys()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("form", "number"),
    [(form, number) for form, rows in ROWS.items() for number in range(len(rows))],
)
def test_an_import_of_twice_as_much_costs_twice_as_much(
    form: str, number: int, tmp_path: Path, statements: Sequence[Statement]
) -> None:
    write = ROWS[form][number]
    # The first import fills caches.
    _, plain, once, twice = [
        measure_import(form, write, size, tmp_path / f"{place} {size}", statements)
        for place, size in (("first", 1), ("second", 1), ("once", SIZE), ("twice", 2 * SIZE))
    ]
    assert find_excess(plain, once, twice) is None


@pytest.mark.parametrize("form", ["drafts", "mcp-memory"])
def test_the_undo_of_an_import_of_twice_as_much_costs_twice_as_much(
    form: str, tmp_path: Path, statements: Sequence[Statement]
) -> None:
    # From 100 memories on, an undo reads the journal once for all of them.
    write = ROWS[form][0]
    _, plain, once, twice = [
        measure_import(form, write, size, tmp_path / f"{place} {size}", statements, undone=True)
        for place, size in (("first", 1), ("second", 1), ("once", 120), ("twice", 240))
    ]
    assert find_excess(plain, once, twice) is None


@pytest.mark.parametrize("piece", ["[", "{a: ", "- ", "? ", "[b, ", "b: c\n", "<<: {}\n", "'"])
def test_front_matter_of_twice_the_length_takes_twice_as_many_steps(piece: str) -> None:
    def read(size: int) -> None:
        with suppress(ValueError):
            split_front_matter(f"---\na: 1\nb: {piece * size}\n---\nThe text.\n")
            split_front_matter(f"---\n{piece * size}\n---\nThe text.\n")

    read(1)
    once, twice = (count_steps(partial(read, size)) for size in (300, 600))
    assert twice <= 2.2 * once + 100
