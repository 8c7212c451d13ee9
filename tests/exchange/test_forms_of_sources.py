"""Every format in every form in which a person may have it: encodings, folders, zips, shapes."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.exchange import Imported
from infinite_memory.testing.embedders import HashingEmbedder
from tests.exchange.written import RECORDED, RECORDS, WRITTEN, write_files, write_lines

TEXTS = ["Der Ofen heißt Öfchen.", "The kiln is fired with wood.", "炉は赤い。 The kiln is red."]
SESSIONS = ("claude-code", "codex", "gemini-cli")


def bring_in(path: Path, form: str | None = None) -> tuple[Imported, list[str]]:
    """Return what an import into an empty store says, and the texts that are there then."""
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        imported = store.exchange.import_from(path, format=form)
        return imported, [m.text for m in store.browse(scope="ALL", limit=1000).memories]


def holds(stored: list[str], texts: list[str]) -> list[bool]:
    return [any(text in memory for memory in stored) for text in texts]


def write_folder(folder: Path, form: str, encode: Callable[[str], bytes]) -> Path:
    for name, content in write_files(form, TEXTS).items():
        (folder / name).write_bytes(encode(content))
    return folder


def zip_folder(folder: Path) -> bytes:
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, f"export/{file.name}")
    return content.getvalue()


def wrap_zip(folder: Path, depth: int) -> Path:
    content = zip_folder(folder)
    for _ in range(1, depth):
        outer = BytesIO()
        with zipfile.ZipFile(outer, "w") as archive:
            archive.writestr("part.zip", content)
        content = outer.getvalue()
    path = folder.parent / "source.zip"
    path.write_bytes(content)
    return path


ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "byte order mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "line ends of Windows": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n").encode(),
    "plain": str.encode,
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("form", WRITTEN)
def test_a_source_is_read_whatever_its_encoding_and_wherever_it_lies(
    form: str, encoding: str, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write_folder(folder, form, ENCODINGS[encoding])
    sources = {"folder": folder, "file": next(folder.iterdir())}
    if form in ("documents", "basic-memory"):
        sources.pop("file")
    if encoding in ("plain", "UTF-16"):
        sources |= {f"zip {depth}": wrap_zip(folder, depth) for depth in (1, 2, 3)}
    for name, path in sources.items():
        imported, stored = bring_in(path)
        assert (name, imported.format, holds(stored, TEXTS)) == (name, form, [True] * 3)
        assert (imported.problem_count, imported.left_out) == (0, ())
        assert bool(imported.guesses) == encoding.endswith("without a mark")


def write_shape(form: str, shape: str, texts: list[str]) -> str:
    values = RECORDS[form][0](texts)
    if shape == "lines":
        return write_lines(values)
    if shape == "lines on one line":
        return "".join(map(json.dumps, values))
    if shape == "lines with commas":
        return "[\n" + ",\n".join(map(json.dumps, values)) + "\n]\n"
    if shape == "array":
        return json.dumps(values, indent=2)
    if shape == "object":
        return json.dumps({"version": 1, "items": values}, indent=1)
    if shape == "object on one line":
        return json.dumps({"version": 1, "memories": values})
    return write_lines(values) + json.dumps(values[-1])[:-9]


SHAPES = (
    *("lines", "lines on one line", "lines with commas", "array", "object"),
    *("object on one line", "cut last line"),
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", [form for form in RECORDS if form not in SESSIONS])
def test_records_are_read_as_lines_as_an_array_and_as_an_object(
    form: str, shape: str, tmp_path: Path
) -> None:
    path = tmp_path / RECORDS[form][1]
    path.write_text(write_shape(form, shape, TEXTS), encoding="utf-8")
    imported, stored = bring_in(path)
    assert (imported.format, holds(stored, TEXTS)) == (form, [True] * 3)
    assert imported.problem_count == (shape == "cut last line")


@pytest.mark.parametrize("shape", ["lines", "lines with commas", "array", "cut last line"])
@pytest.mark.parametrize("form", SESSIONS)
def test_sessions_are_read_as_lines_and_as_an_array(form: str, shape: str, tmp_path: Path) -> None:
    path = tmp_path / RECORDS[form][1]
    path.write_text(write_shape(form, shape, TEXTS), encoding="utf-8")
    imported, stored = bring_in(path)
    assert (imported.format, holds(stored, TEXTS)) == (form, [True] * 3)


@pytest.mark.parametrize("form", WRITTEN)
def test_a_large_first_record_hides_nothing(form: str, tmp_path: Path) -> None:
    large = "A long word of the kiln. " * 8000
    for name, content in write_files(form, [large.strip(), *TEXTS]).items():
        (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    imported, stored = bring_in(tmp_path)
    assert (imported.format, holds(stored, TEXTS)) == (form, [True] * 3)


@pytest.mark.parametrize("form", [form for form in RECORDS if form != "gemini-cli"])
def test_a_damaged_first_line_costs_itself_alone(form: str, tmp_path: Path) -> None:
    lines = write_shape(form, "lines", TEXTS)
    path = tmp_path / "source.jsonl"
    path.write_text(lines[: len(lines.split("\n")[0]) // 2] + "\n" + lines, encoding="utf-8")
    imported, stored = bring_in(path)
    assert (imported.format, holds(stored, TEXTS)) == (form, [True] * 3)
    assert imported.problem_count == 1
    assert imported.problems[0].where == "line 1"


@pytest.mark.parametrize("form", ["mcp-memory", "mem0", "drafts"])
def test_a_damaged_line_of_an_array_costs_itself_alone(form: str, tmp_path: Path) -> None:
    lines = [json.dumps(value) for value in RECORDS[form][0](["Cut off.", *TEXTS])]
    path = tmp_path / "source.json"
    damaged = [lines[1], lines[0][:-12], *lines[2:]]
    for separator, first in ((",\n", damaged), ("\n", lines[1:]), (",\n", [*lines[1:], ""])):
        path.write_text(f"[\n{separator.join(first)}\n]\n", encoding="utf-8")
        imported, stored = bring_in(path)
        assert (imported.format, holds(stored, TEXTS)) == (form, [True] * 3)
        assert [each.where for each in imported.problems] == (
            ["line 3"] if first is damaged else []
        )
    path.write_text(json.dumps([json.loads(line) for line in lines], indent=2)[:-30])
    assert bring_in(path)[0].problems[0].where == "behind [2]"


@pytest.mark.parametrize("form", RECORDED)
def test_an_export_of_this_library_is_read_in_every_form(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        for text in TEXTS:
            store.remember(text)
        target = folder if form == "markdown" else folder / f"out.{form}"
        store.exchange.export(target, format=form, force=True)
    (file,) = folder.iterdir()
    content = file.read_text("utf-8-sig")
    for encoding, encode in ENCODINGS.items():
        file.write_bytes(encode(content))
        for path in (folder, file, wrap_zip(folder, 1), wrap_zip(folder, 2)):
            imported, stored = bring_in(path)
            found = (encoding, path.name, imported.format, holds(stored, TEXTS))
            assert found == (encoding, path.name, form, [True] * 3)
            assert imported.problem_count == 0


def test_what_is_not_utf_8_is_read_as_a_guess_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes("Das Öfchen".encode("windows-1252"))
    imported, stored = bring_in(path)
    assert stored == ["Das Öfchen"]
    assert imported.guesses == {str(path): "windows-1252"}


def test_a_zip_file_in_a_zip_file_cannot_unpack_to_more_than_it_should(tmp_path: Path) -> None:
    bomb = BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes.txt", b" " * (64 << 20))
    path = tmp_path / "outer.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.zip", bomb.getvalue())
    with pytest.raises(InvalidInput, match="decompression bomb"):
        bring_in(path)


def test_what_lies_beside_is_named_with_how_to_take_it(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("elsewhere")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "kiln.md").write_text("The kiln is fired with wood.")
    (folder / "oven.md").write_text("The oven too.")
    (folder / "plan.docx").write_bytes(b"PK")
    (folder / "memory.jsonl").write_text(write_shape("mcp-memory", "lines", TEXTS))
    (folder / "linked.md").symlink_to(tmp_path / "secret.md")
    (folder / "broken.zip").write_bytes(zip_folder(folder)[:-30])
    imported, stored = bring_in(folder)
    assert sorted(stored) == ["The kiln is fired with wood.", "The oven too."]
    assert (imported.files, imported.all_files) == (2, 5)
    said = "\n".join(map(str, imported.left_out))
    assert "memory.jsonl: it is of the file of the official MCP memory server" in said
    assert "--from mcp-memory" in said
    assert "plan.docx: save it as Markdown, text or PDF" in said
    assert "linked.md: a link, which is not followed" in said


def test_a_folder_that_holds_nothing_of_a_named_format_says_that_nothing_was_understood(
    tmp_path: Path,
) -> None:
    (tmp_path / "kiln.md").write_text("The kiln is fired with wood.")
    imported, stored = bring_in(tmp_path, "chatgpt")
    assert (imported.records, imported.files, stored) == (0, 0, [])
    assert imported.left_out[0].why.endswith("--from documents")


def test_a_value_that_cannot_be_used_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "drafts.jsonl"
    lines = ['{"text": "One", "kind": "thought"}', '{"text": "Two", "happened_at": "noon"}']
    path.write_text("\n".join([*lines, '{"text": "Three", "tags": [7], "kind": "x"}']))
    imported, stored = bring_in(path)
    assert sorted(stored) == ["One", "Three", "Two"]
    assert imported.problem_count == 3
    with pytest.raises(InvalidInput, match="nothing was imported"):
        MemoryStore.open("memory://", embedder=HashingEmbedder()).exchange.import_from(
            path, on_error="stop"
        )
