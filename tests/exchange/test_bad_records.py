"""Files with a record that cannot be used: every reader names its place and reads the rest."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.errors import InvalidInput
from infinite_memory.testing.embedders import HashingEmbedder

HEAD = '{"record": "export", "format": "infinite-memory", "version": 1}\n'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path / "home", embedder=HashingEmbedder()) as opened:
        yield opened


def exported(store: MemoryStore, path: Path, *, format: str | None = None) -> list[str]:  # noqa: A002
    """Return the lines of an export of two memories in a scope, one of them revised."""
    store.remember("The ferry leaves at ten", id="ferry", scope="harbour", create_scope=True)
    store.remember("The harbour opens at nine", id="harbour", scope="harbour")
    store.revise("ferry", revision=1, text="The ferry leaves at eleven")
    store.exchange.export(path, format=format)
    return path.read_text("utf-8").splitlines() if path.is_file() else []


def problems(path: Path) -> list[str]:
    """Return what an import into an empty store says about the records of a file."""
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as empty:
        imported = empty.exchange.import_from(path, on_error="skip")
        return [str(problem) for problem in imported.problems]


def changed(line: str, **fields: Any) -> str:
    return json.dumps({**json.loads(line), **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"history": 7}, "history is no list"),
        ({"history": [7]}, "a revision is 7, and no object"),
        ({"text": 7}, "the text is missing, or is no text"),
        ({"text": None}, "the text is missing, or is no text"),
        ({"revision": 1}, "the history is not of this memory, or not in order"),
        ({"id": "other"}, "the history is not of this memory, or not in order"),
        ({"revision": "2"}, "revision is no integer of 64 bits"),
        ({"revision": -2}, "a memory has no id or no revision"),
        ({"important": "yes"}, "important is not true or false"),
        ({"tags": "a"}, "tags is no list"),
        ({"tags": [7]}, "tags has a value that is no text"),
        ({"kind": "thought"}, "kind is 'thought', which this version does not know"),
        ({"happened_at": "2026-01-01T00:00:00+02:00"}, "happened_at is not in UTC"),
        ({"scope": "a\0b"}, "scope is no text that can be stored"),
        ({"context": {"a": ["\0"]}}, "a context has a text that cannot be stored"),
        ({"record": "thought"}, "the record 'thought' is none of"),
    ],
)
def test_a_wrong_field_of_an_export_is_named_and_the_rest_is_read(
    fields: dict[str, Any], message: str, store: MemoryStore, tmp_path: Path
) -> None:
    path = tmp_path / "export.jsonl"
    lines = exported(store, path)
    place = next(n for n, line in enumerate(lines) if json.loads(line).get("id") == "ferry")
    lines[place] = changed(lines[place], **fields)
    path.write_text("\n".join(lines) + "\n")
    found = problems(path)
    assert message in found[0]
    assert f"line {place + 1}" in found[0]


def test_numbers_that_json_does_not_have_are_refused(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    lines = exported(store, path)
    place = next(n for n, line in enumerate(lines) if '"context":{}' in line)
    lines[place] = lines[place].replace('"context":{}', '"context":{"a":NaN}')
    path.write_text("\n".join(lines) + "\n")
    assert "not JSON compliant" in problems(path)[0]


def test_an_export_that_says_another_number_of_memories_is_reported(
    store: MemoryStore, tmp_path: Path
) -> None:
    path = tmp_path / "export.jsonl"
    lines = exported(store, path)
    path.write_text("\n".join([*lines[:-2], lines[-1]]) + "\n")
    assert any("and its end says" in problem for problem in problems(path))


def test_an_export_of_a_newer_version_is_refused_as_a_whole(
    store: MemoryStore, tmp_path: Path
) -> None:
    path = tmp_path / "export.jsonl"
    lines = exported(store, path)
    path.write_text("\n".join([changed(lines[0], version=99), *lines[1:]]) + "\n")
    with pytest.raises(InvalidInput, match="update infinite-memory"):
        problems(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<!-- end -->", "", "the section has no line <!-- end -->"),
        ('<!-- memory: {"id"', '<!-- memory: {"id', "Expecting ':' delimiter"),
        ('"kind":"note"', '"kind":"thought"', "thought"),
        ('sensitivity: "normal"', "sensitivity: 7", "sensitivity is no text"),
    ],
)
def test_a_section_of_a_note_that_cannot_be_read_is_named(
    old: str, new: str, message: str, store: MemoryStore, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    exported(store, folder, format="markdown")
    file = folder / "harbour.md"
    written = file.read_text("utf-8")
    if old not in written:
        pytest.fail(f"the export has no {old!r}:\n{written}")
    file.write_text(written.replace(old, new, 1))
    assert any(message in problem for problem in problems(folder))


def test_a_note_with_the_line_ends_of_windows_reads_the_same(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    exported(store, folder, format="markdown")
    for file in folder.glob("*.md"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as empty:
        empty.exchange.import_from(folder)
        assert empty.get("ferry").text == "The ferry leaves at eleven"


def test_a_note_of_a_newer_version_is_refused_as_a_whole(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    exported(store, folder, format="markdown")
    file = folder / "harbour.md"
    first, mark, *rest = file.read_text("utf-8").split("\n")
    file.write_text("\n".join([first, mark.rpartition(" ")[0] + " 99", *rest]))
    with pytest.raises(InvalidInput, match="update infinite-memory"):
        problems(folder)


def test_the_cells_of_a_table_are_read_as_a_person_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        "text,tags,important,context\n"
        '"Buy tea","home, food",TRUE,\n'
        "\n"
        '"Sell tea",,,{"a"\n'
        '"=1+1",\'[],,\n'
    )
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as empty:
        imported = empty.exchange.import_from(path, on_error="skip")
        (tea, *_) = [m for m in empty.browse().memories if m.text == "Buy tea"]
    assert (tea.tags, tea.important) == (("home", "food"), True)
    assert ["context is" in str(problem) for problem in imported.problems][:1] == [True]


def test_a_table_of_another_program_is_read_by_what_its_columns_mean(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("Date;Note;Labels;Kiln\n2026-03-04;Fired it;clay, fire;north\n", "utf-8-sig")
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as empty:
        imported = empty.exchange.import_from(path)
        (memory,) = empty.browse().memories
    assert (imported.format, imported.problem_count) == ("csv", 0)
    assert (memory.text, memory.tags, memory.context["Kiln"]) == (
        *("Fired it", ("clay", "fire")),
        "north",
    )
    assert memory.happened_at.date().isoformat() == "2026-03-04"


def test_a_highlight_and_the_note_on_it_are_one_text(tmp_path: Path) -> None:
    path = tmp_path / "highlights.csv"
    path.write_text(
        "Highlight,Book Title,Note,Tags,Highlighted at\n"
        "Clay remembers the hand.,On Kilns,,craft,2026-03-04 10:11:12+00:00\n"
        "Fire at cone six.,On Kilns,Try this!,,\n"
    )
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as empty:
        imported = empty.exchange.import_from(path)
        found = {memory.text: memory for memory in empty.browse().memories}
    assert imported.problem_count == 0
    assert set(found) == {"Clay remembers the hand.", "Fire at cone six.\n\nTry this!"}
    first = found["Clay remembers the hand."]
    assert (first.happened_at.isoformat(), first.tags) == ("2026-03-04T10:11:12+00:00", ("craft",))
    assert first.context["Book Title"] == "On Kilns"


def test_a_table_that_ends_in_a_quote_is_named_from_there_on(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b'text,kind\n"a",note\n"b,note\n')
    assert any("no table from here on" in problem for problem in problems(path))


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("a: &x [1]\nb: *x", "has an alias"),
        ("- a", "has no names"),
        ("a: " + "x" * 70_000, "characters"),
        ("a: " + "[" * 40 + "]" * 40, "nested in more than 32 levels"),
        ("- " * 40 + "a", "nested in more than 32 levels"),
    ],
)
def test_front_matter_that_is_not_plain_is_named(front: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text(f"---\n{front}\n---\nThe tomatoes grow.\n")
    assert message in problems(path)[0]


@pytest.mark.parametrize(
    ("front", "tags", "day"),
    [
        ("tags: garden, food\ndate: 2026-03-04", ("garden", "food"), "2026-03-04"),
        ("tags: '#garden #food'\ndate: no time", ("garden", "food"), None),
        ("tags: [garden, null]\ncreated: 2026-03-04T05:06:07Z", ("garden",), "2026-03-04"),
        ("tags: 7", (), None),
        ("", (), None),
    ],
)
def test_the_front_matter_of_a_document_gives_its_tags_and_its_time(
    front: str, tags: tuple[str, ...], day: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "note.md"
    path.write_text(f"---\n{front}\n---\nThe tomatoes grow.\n")
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as empty:
        empty.exchange.import_from(path)
        (memory,) = empty.browse().memories
    assert memory.tags == tags
    if day is not None:
        assert memory.happened_at.date().isoformat() == day


def test_the_records_of_a_session_that_are_none_are_named(tmp_path: Path) -> None:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
    lines = [
        {"type": "session_meta", "payload": {"id": "s1"}},
        {"type": "response_item", "payload": said, "timestamp": 7},
        {"type": "response_item", "payload": said, "timestamp": "yesterday"},
        {"type": "response_item", "payload": said, "timestamp": "2026-01-05T08:00:00Z"},
    ]
    path = tmp_path / "rollout.jsonl"
    path.write_text("\n".join([*(json.dumps(line) for line in lines), "{half"]) + "\n")
    found = problems(path)
    assert ["line 2" in found[0], "line 3" in found[1], "line 5" in found[2]] == [True] * 3
    path.write_text(path.read_text() + '{"type": "resp')  # the session goes on
    assert len(problems(path)) == 3


def test_the_messages_of_a_chat_that_are_none_are_named(tmp_path: Path) -> None:
    chat = {
        "sessionId": "s1",
        "projectHash": "0f1e",
        "messages": [
            7,
            {"id": "a", "type": "user", "content": "Hi", "timestamp": "yesterday"},
            {"id": "b", "type": "info", "content": "a notice"},
            {"id": 7, "type": "user", "content": [{"text": "Hi"}, "there"]},
            {"type": "gemini", "content": "Hello", "timestamp": "2026-01-05T08:00:00Z"},
        ],
    }
    (tmp_path / "session.json").write_text(json.dumps(chat))
    (tmp_path / "broken.json").write_text('{"sessionId": "x", "projectHash"')
    found = problems(tmp_path)
    assert len(found) == 4
    assert [place in " ".join(found) for place in ("[0]", "[1]", "[3]", "not JSON")] == [True] * 4


def test_the_conversations_of_an_account_that_are_none_are_named(tmp_path: Path) -> None:
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi"]}}
    chats = [
        {"mapping": {"a": {"message": {**said, "create_time": "noon"}, "children": ["a"]}}},
        7,
        {"mapping": 7},
        {"mapping": {"a": 7}},
        {"mapping": {"a": {"message": {**said, "create_time": 1e30}}}},
        {"mapping": {"a": {"message": {**said, "create_time": 1767600000}, "parent": "a"}}},
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(chats))
    found = problems(path)
    assert len(found) == 5
    assert "no time in seconds" in found[0]
    assert "outside the years 1970 to 9999" in found[-1]


def test_a_file_in_an_encrypted_zip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "account.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", "[]")
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the flag of encryption, in the file and in the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="is encrypted: unpack it"):
        problems(path)


def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    with pytest.raises(InvalidInput, match="neither a file nor a folder"):
        problems(path)
