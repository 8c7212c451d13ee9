"""Sources that cannot be trusted, exports that must not overwrite, and what a handle may export."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infinite_memory import MemoryStore
from infinite_memory.core.errors import Conflict, InvalidInput, NotFound, StorageUnavailable
from infinite_memory.features.archive import adding
from infinite_memory.features.archive.exchange import importing
from infinite_memory.testing.embedders import HashingEmbedder

TALK = '[{"mapping": {}, "conversation_id": "a"}]'


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(tmp_path / "home", embedder=HashingEmbedder()) as opened:
        yield opened


def link(archive: zipfile.ZipFile) -> None:
    info = zipfile.ZipInfo("conversations.json")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(info, "/etc/passwd")


HOSTILE: dict[str, tuple[Callable[[zipfile.ZipFile], None], str]] = {
    "parent": (lambda z: z.writestr("../conversations.json", TALK), "leaves the folder"),
    "root": (lambda z: z.writestr("/conversations.json", TALK), "leaves the folder"),
    "backslash": (lambda z: z.writestr("a\\..\\..\\conversations.json", TALK), "leaves the folder"),
    "link": (link, "link"),
    "bomb": (
        lambda z: z.writestr("conversations.json", b" " * (64 << 20), zipfile.ZIP_DEFLATED),
        "decompression bomb",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_zip_file_is_refused(name: str, store: MemoryStore, tmp_path: Path) -> None:
    write, message = HOSTILE[name]
    path = tmp_path / "account.zip"
    with zipfile.ZipFile(path, "w") as archive:
        write(archive)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidInput, match=message):
        store.exchange.import_from(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_zip_file_that_is_damaged_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "account.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", TALK * 100)
    content = bytearray(path.read_bytes())
    content[45:60] = b"\xff" * 15
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="damaged"):
        store.exchange.import_from(path, format="chatgpt")


def test_a_link_in_a_folder_is_not_followed(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("a secret")
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "plain.txt").write_text("a note")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "way").symlink_to(tmp_path)
    store.exchange.import_from(folder)
    assert [memory.text for memory in store.browse().memories] == ["a note"]


def test_what_is_not_there_or_not_recognised_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no file or folder"):
        store.exchange.import_from(tmp_path / "nothing")
    (tmp_path / "a.bin").write_bytes(b"\0\1")
    with pytest.raises(InvalidInput, match="no format that is recognised"):
        store.exchange.import_from(tmp_path / "a.bin")
    with pytest.raises(InvalidInput, match="the nearest is 'chatgpt'"):
        store.exchange.import_from(tmp_path / "a.bin", format="chatgtp")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="neither a file nor a folder"):
        store.exchange.import_from(tmp_path / "pipe")
    backup = store.backups.create(tmp_path / "all.imarchive")
    with pytest.raises(InvalidInput, match="infinite-memory restore"):
        store.exchange.import_from(backup.path)


def test_an_export_is_private_and_never_over_a_file_unasked(
    store: MemoryStore, tmp_path: Path
) -> None:
    store.remember("Bob likes tea")
    for name in ("out.jsonl", "out.csv"):
        path = tmp_path / name
        store.exchange.export(path)
        before = path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(Conflict, match="exists already"):
            store.exchange.export(path)
        assert path.read_bytes() == before
        store.exchange.export(path, force=True)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store.exchange.export(tmp_path / "notes")
    with pytest.raises(Conflict, match="holds files already"):
        store.exchange.export(tmp_path / "notes")
    assert stat.S_IMODE((tmp_path / "notes/Global.md").stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"home", "notes", "out.jsonl", "out.csv"}


def test_force_takes_no_file_that_no_export_wrote(store: MemoryStore, tmp_path: Path) -> None:
    memory = store.remember("Bob likes tea", scope="tea")
    store.remember("A note")
    folder = tmp_path / "notes"
    store.exchange.export(folder)
    (folder / "mine.md").write_text("# Mine\n")
    store.forget(memory.id)
    again = store.exchange.export(folder, force=True)
    assert (again.written, again.removed) == (0, 1)
    assert {path.name for path in folder.iterdir()} == {"Global.md", "mine.md"}
    (folder / "Global.md").write_text("# Mine\n")
    with pytest.raises(Conflict, match="no file of an export"):
        store.exchange.export(folder, force=True)
    assert (folder / "Global.md").read_text() == "# Mine\n"


def test_an_export_whose_folder_is_missing_or_whose_name_says_nothing_is_refused(
    store: MemoryStore, tmp_path: Path
) -> None:
    with pytest.raises(StorageUnavailable, match="there is no folder"):
        store.exchange.export(tmp_path / "no" / "out.jsonl")
    with pytest.raises(InvalidInput, match=r"end it with \.jsonl"):
        store.exchange.export(tmp_path / "out.doc")


def test_private_scopes_are_exported_only_if_asked_for(store: MemoryStore, tmp_path: Path) -> None:
    store.scopes.create("diary", sensitivity="private")
    store.remember("A secret", scope="diary")
    store.remember("Bob likes tea")
    plain = store.exchange.export(tmp_path / "a.jsonl")
    assert (plain.memories, plain.left_out_scopes) == (1, ("diary",))
    assert "diary" not in (tmp_path / "a.jsonl").read_text()
    assert store.exchange.export(tmp_path / "b.jsonl", private=True).memories == 2
    assert store.exchange.export(tmp_path / "c.jsonl", scope="diary").memories == 1


def test_conditions_choose_what_is_exported(store: MemoryStore, tmp_path: Path) -> None:
    store.remember("Old", happened_at="2020-01-01", tags=["x"])
    store.remember("New", kind="fact", tags=["x"])
    store.scopes.create("child", parent="Global")
    store.remember("Child", scope="child")
    for number, (conditions, count) in enumerate(
        [
            ({"tags": ["x"]}, 2),
            ({"kinds": ["fact"]}, 1),
            ({"scope": "child"}, 1),
            ({"until": "2021-01-01"}, 1),
            ({"when": "2020"}, 1),
        ]
    ):
        exported = store.exchange.export(tmp_path / f"{number}.jsonl", **conditions)
        assert exported.memories == count
    with pytest.raises(InvalidInput, match="an export has no condition"):
        store.exchange.export(tmp_path / "x.jsonl", mode="strict")


def test_a_confined_handle_exports_and_imports_its_scopes_alone(
    store: MemoryStore, tmp_path: Path
) -> None:
    store.remember("In", scope="team")
    store.remember("Out", scope="other")
    with store.confine(scopes=["team"]) as handle:
        assert handle.exchange.export(tmp_path / "team.jsonl").memories == 1
        assert "other" not in (tmp_path / "team.jsonl").read_text()
        store.exchange.export(tmp_path / "all.jsonl")
        with pytest.raises(InvalidInput, match="nothing was imported"):
            handle.exchange.import_from(tmp_path / "all.jsonl", on_error="stop")
        (tmp_path / "new.jsonl").write_text('{"text": "New"}\n')
        handle.exchange.import_from(tmp_path / "new.jsonl")
        assert {memory.scope for memory in handle.browse().memories} == {"team"}


def test_a_file_that_was_cut_short_is_noticed(store: MemoryStore, tmp_path: Path) -> None:
    store.remember("Bob likes tea")
    path = tmp_path / "out.jsonl"
    store.exchange.export(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(InvalidInput, match="cut short"):
        store.exchange.import_from(path, on_error="stop")
    path.write_bytes(b"".join([*lines[:-2], lines[-1]]))
    with pytest.raises(InvalidInput, match="its end says 1"):
        store.exchange.import_from(path, on_error="stop")
    path.write_bytes(lines[0].replace(b'"version":1', b'"version":2'))
    with pytest.raises(InvalidInput, match="update infinite-memory"):
        store.exchange.import_from(path, on_error="stop")


def test_an_edited_note_comes_back_as_a_new_revision(store: MemoryStore, tmp_path: Path) -> None:
    memory = store.remember("Bob likes tea", tags=["bob"])
    folder = tmp_path / "notes"
    store.exchange.export(folder)
    file = folder / "Global.md"
    text = file.read_text().replace("\nBob likes tea\n", "\nBob likes green tea\n")
    file.write_text(f"{text}\n## Ideas\n\nBuy a teapot\n")
    imported = store.exchange.import_from(folder)
    assert (imported.changed, imported.added) == (1, 1)
    assert store.get(memory.id).text == "Bob likes green tea"
    texts = {memory.text for memory in store.browse().memories}
    assert texts == {"Bob likes green tea", "## Ideas\n\nBuy a teapot"}
    assert store.exchange.import_from(folder).unchanged == 2


@pytest.mark.parametrize(("size", "added"), [(2, 2), (3, 0)])
def test_a_source_is_read_again_only_if_it_fills_a_commit(
    size: int, added: int, store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "_COMMIT_MEMORIES", 3)
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(f'{{"text": "note {n}"}}\n' for n in range(size)))

    def empty_when_checked(step: str, done: int, total: int | None) -> None:
        if step == "checking" and total is not None:
            path.write_text("")

    assert store.exchange.import_from(path, progress=empty_when_checked).added == added


def test_the_parts_of_a_large_import_are_undone_and_redone_together(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "_COMMIT_MEMORIES", 3)
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"text": "note {n}", "scope": "many"}}\n' for n in range(8)))
    imported = store.exchange.import_from(path)
    assert (imported.added, len(imported.entries)) == (8, 3)
    plan = store.undo(imported.entries[1], dry_run=True)
    assert len(plan.memories) == 8
    assert len(store.browse(scope="many").memories) == 8
    undone = store.undo(imported.entries[1])
    assert sorted(undone.further) == [imported.entries[0], imported.entries[2]]
    assert "many" not in {scope.name for scope in store.scopes}
    assert undone.entry is not None
    redone = store.undo(undone.entry)
    assert len(redone.memories) == 8
    assert len(store.browse(scope="many").memories) == 8
    store.undo(redone.entry)
    assert "many" not in {scope.name for scope in store.scopes}


def test_an_import_that_was_interrupted_goes_on_and_is_undone_as_one(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "_COMMIT_MEMORIES", 3)
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"text": "note {n}"}}\n' for n in range(8)))

    def interrupt(step: str, done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importing, "_STEP", 1)

    def stop(step: str, done: int, total: int | None) -> None:
        if step == "storing" and done == 4:
            interrupt(step, done, total)

    with pytest.raises(KeyboardInterrupt):
        store.exchange.import_from(path, progress=stop)
    assert len(store.browse().memories) == 3
    again = store.exchange.import_from(path)
    assert (again.added, again.unchanged) == (5, 3)
    assert len(store.undo().memories) == 8
    assert not store.browse().memories


@pytest.mark.parametrize(("name", "form"), [("told.jsonl", None), ("told.csv", "csv")])
def test_a_line_that_names_no_origin_is_brought_in_and_no_change_of_it_alone_is_one(
    store: MemoryStore, tmp_path: Path, name: str, form: str | None
) -> None:
    def write(origin: str | None) -> Path:
        fields = {"text": "The gate opens at ten."} | ({"origin": origin} if origin else {})
        rows = [",".join(fields), ",".join(fields.values())]
        lines = [json.dumps(fields)] if name.endswith("jsonl") else rows
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return tmp_path / name

    store.exchange.import_from(write("user"), format=form)
    (memory,) = store.browse().memories
    assert memory.origin == "user"
    store.revise(memory.id, revision=1, text="The gate opens at eleven.")
    assert store.exchange.import_from(write(None), format=form).changed == 0
    assert store.get(memory.id).text == "The gate opens at eleven."
    store.forget(memory.id, hard=True)
    (tmp_path / name).write_text((tmp_path / name).read_text().replace("gate", "door"))
    assert store.exchange.import_from(tmp_path / name, format=form).added == 1
    assert store.browse().memories[0].is_brought_in
