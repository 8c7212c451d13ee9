"""Attachments leave a store, and are shown, with their memories: whole, and never as base64."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from infinite_memory import MemoryStore
from infinite_memory.apps.cli.main import infinite_memory
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.data import memories_to_data, page_to_data
from infinite_memory_mcp.render import render_memory

OpenStore = Callable[..., MemoryStore]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 30
BASE64 = base64.b64encode(PNG).decode()
PHOTO = "https://example.org/cat.jpg"


def fill(store: MemoryStore) -> tuple[str, str]:
    """Store a memory with a picture of which the bytes are stored, and a reference."""
    store.remember("We met the neighbours", id="a", scope="home", tags=["evening"])
    picture = store.attachments.attach(
        "a",
        uri=f"data:image/png;base64,{BASE64}",
        description="A tabby cat",
        tags=["pets"],
        embedding=[0.25, 0.5, 1 / 3],
        model="clip",
    )
    sound = store.attachments.attach("a", uri=PHOTO, description="The cat from behind")
    return picture.id, sound.id


def empty_store() -> MemoryStore:
    return MemoryStore.open(storage=InMemoryStorage(), embedder=HashingEmbedder())


def check_whole(store: MemoryStore, picture: str, reference: str) -> None:
    first, second = store.attachments.list("a")
    assert (first.id, first.tags, first.dimensions) == (picture, ("pets",), 3)
    assert (second.id, second.uri) == (reference, PHOTO)
    assert store.attachments.read(picture).data == PNG
    vector = [0.25, 0.5, 1 / 3]
    (match,) = store.attachments.find_similar(vector, model="clip", scope="home")
    assert match.cosine == pytest.approx(1)
    # The references came too: the store knows what belongs to what.
    erased = " ".join(store.forget("a", hard=True).erased)
    assert picture in erased
    assert reference in erased
    assert "the stored bytes" in erased
    assert store.browse(scope="ALL", statuses=[]).memories == ()


@pytest.mark.parametrize("conditions", [{}, {"tags": ["evening"]}, {"kinds": ["note"]}])
def test_an_export_of_a_memory_takes_its_attachments_along(
    store: MemoryStore, tmp_path: Path, conditions: dict[str, list[str]]
) -> None:
    picture, reference = fill(store)
    path = tmp_path / "out.jsonl"
    assert store.exchange.export(path, **conditions).memories == 4  # type: ignore[arg-type]
    with empty_store() as other:
        assert other.exchange.import_from(path).added == 4
        assert other.exchange.import_from(path).unchanged == 4
        check_whole(other, picture, reference)


def test_what_is_forgotten_is_exported_with_nothing_of_it(
    store: MemoryStore, tmp_path: Path
) -> None:
    fill(store)
    store.forget("a")
    path = tmp_path / "out.jsonl"
    assert store.exchange.export(path).memories == 0
    assert "content" not in path.read_text(encoding="utf-8")


def test_a_backup_brings_the_attachments_back(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store()
    picture, reference = fill(store)
    backup = store.backups.create(tmp_path / "all.imarchive")
    store.forget("a", hard=True)
    with MemoryStore.open(tmp_path / "other", embedder=HashingEmbedder()) as other:
        other.backups.restore(backup.path)
        check_whole(other, picture, reference)


@pytest.mark.parametrize("name", ["out.csv", "folder"])
def test_a_table_and_markdown_name_attachments_and_leave_their_bytes_out(
    store: MemoryStore, tmp_path: Path, name: str
) -> None:
    picture, reference = fill(store)
    path = tmp_path / name
    assert store.exchange.export(path).memories == 3
    files = [path] if path.is_file() else sorted(path.rglob("*.md"))
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    for part in ("A tabby cat", picture, reference, PHOTO, "image/png"):
        assert part in text
    assert BASE64[:40] not in text
    with empty_store() as other:
        assert other.exchange.import_from(path).added == 3
        assert [a.id for a in other.attachments.list("a")] == [picture, reference]
        assert picture in " ".join(other.forget("a", hard=True).erased)
    assert store.exchange.import_from(path).unchanged == 3


def test_answers_of_tools_show_the_type_and_the_reference(store: MemoryStore) -> None:
    picture, reference = fill(store)
    shown = render_memory(1, store.get(picture))
    assert 'attachment: "image, image/png, 7.7 KB, stored"' in shown
    assert f'attachment: "image, image/jpeg, {PHOTO}"' in render_memory(2, store.get(reference))
    content_id = store.attachments.list("a")[0].content_id or ""
    memories = [store.get(memory_id) for memory_id in (picture, content_id)]
    data = json.dumps([memories_to_data(memories, budget=2000), page_to_data(memories, None)])
    assert BASE64[:20] not in data + render_memory(3, memories[1])
    assert "0.25" not in data
    assert "image/png, 7.7 KB, stored" in data
    assert '"dimensions": 3' in data


def test_the_command_line_shows_no_base64_and_no_embedding(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        picture, _ = fill(store)
        content = store.attachments.list("a")[0].content_id or ""
    run = CliRunner()

    def said(*words: str) -> str:
        result = run.invoke(infinite_memory, ["--home", str(home), *words], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    outputs = [said("show", memory_id) for memory_id in (picture, content)]
    outputs += [said("show", memory_id, "--json") for memory_id in (picture, content)]
    outputs.append(said("list", "--status", "archived", "--scope", "home"))
    outputs.append(said("list", "--status", "archived", "--scope", "home", "--json"))
    outputs.append(said("show", content, "--history"))
    assert not any(BASE64[:20] in output or "0.25" in output for output in outputs)
    assert "image/png, 7.7 KB, stored" in outputs[1]
    found = said("search", "tabby cat", "--scope", "home")
    assert "attachment: image, image/png, 7.7 KB, stored" in found
