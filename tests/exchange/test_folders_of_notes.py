"""Folders of notes as Obsidian, Logseq and Notion leave them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import MemoryStore
from infinite_memory.core.values.memory import Memory
from infinite_memory.features.archive.exchange.importers import front_matter
from infinite_memory.features.archive.exchange.importers.front_matter import load_shallow_yaml
from infinite_memory.testing.embedders import HashingEmbedder


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as opened:
        yield opened


def bring_in(store: MemoryStore, folder: Path, notes: dict[str, str]) -> dict[str, Memory]:
    for name, text in notes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    store.exchange.import_from(folder)
    return {memory.context["file"]: memory for memory in store.browse(limit=100).memories}


def test_a_vault_of_obsidian_has_its_tags_days_and_links(
    store: MemoryStore, tmp_path: Path
) -> None:
    daily = "Fired the #kiln, see [[Glazes#Blue|glazes]] and ![[photo.png]].\n`#no` issue #12\n"
    found = bring_in(
        store,
        tmp_path,
        {
            ".obsidian/app.json": "{}",
            "Daily/2026-03-04.md": daily,
            "Notes/Glazes.md": "---\ntags:\n  - clay\n---\n# Glazes\nBlue #art/blue.\n",
        },
    )
    day, glazes = found["Daily/2026-03-04.md"], found["Notes/Glazes.md"]
    assert (day.tags, day.happened_at.date().isoformat()) == (("kiln",), "2026-03-04")
    assert (glazes.tags, glazes.title) == (("clay", "art/blue"), "Glazes")
    assert [link.target for link in store.graph.links(day.id)] == [glazes.id]


def test_a_graph_of_logseq_has_its_properties_and_the_days_of_its_journals(
    store: MemoryStore, tmp_path: Path
) -> None:
    found = bring_in(
        store,
        tmp_path,
        {
            "logseq/bak/pages/kiln/2026-03-01.md": "- cone five\n",
            "journals/2026_03_04.md": "- Met Ada about the [[kiln]]\n",
            "pages/kiln.md": "title:: The Kiln\ntags:: [[clay]], fire\n\n- cone six\n",
        },
    )
    assert found["journals/2026_03_04.md"].happened_at.date().isoformat() == "2026-03-04"
    kiln = found["pages/kiln.md"]
    assert len(found) == 2
    assert (kiln.title, kiln.tags) == ("The Kiln", ("clay", "fire"))


def test_a_note_of_properties_alone_is_kept_with_its_links(
    store: MemoryStore, tmp_path: Path
) -> None:
    found = bring_in(
        store,
        tmp_path,
        {
            "Ada.md": "---\nphone: 555-0134\nstudio: '[[Kiln]]'\n---\n",
            "Kiln.md": "Cone six.\n",
            "Empty.md": "---\ntitle: Empty\n---\n",
        },
    )
    assert set(found) == {"Ada.md", "Kiln.md"}
    ada = found["Ada.md"]
    assert ada.text == "phone: 555-0134\nstudio: '[[Kiln]]'"
    assert [hit.memory.id for hit in store.search("555-0134")] == [ada.id]
    assert [link.target for link in store.graph.links(ada.id)] == [found["Kiln.md"].id]


def test_links_in_front_matter_are_read_as_names(store: MemoryStore, tmp_path: Path) -> None:
    head = "---\nauthors: [[Ada]], [[Ben]]\ntags: [[clay]], #fire\n---\n"
    (tmp_path / "b.md").write_text("---\ntags: [[clay]]\n---\nGlaze.\n")
    (tmp_path / "c.md").write_text("---\ntags:\n  - '[[clay]]'\n---\nWheel.\n")
    found = bring_in(store, tmp_path, {"a.md": f"{head}Cone six.\n"})
    assert store.exchange.import_from(tmp_path).problem_count == 0
    assert [found[name].tags for name in ("a.md", "b.md", "c.md")] == [
        *(("clay", "fire"), ("clay",), ("clay",))
    ]
    assert found["a.md"].context["authors"] == "Ada, Ben"


def test_a_property_called_file_does_not_hide_the_file(store: MemoryStore, tmp_path: Path) -> None:
    found = bring_in(store, tmp_path, {"a.md": "file:: kiln.pdf\n\n- cone six\n"})
    assert found["a.md"].context["note.file"] == "kiln.pdf"
    moved = tmp_path / "moved"
    bring_in(store, moved, {"a.md": "file:: kiln.pdf\n\n- cone six\n"})
    assert len(store.browse(limit=100).memories) == 1


def test_a_page_of_notion_is_the_same_in_each_export_and_links_by_its_file(
    store: MemoryStore, tmp_path: Path
) -> None:
    number = "0123456789abcdef0123456789abcde"
    notes = {
        f"Kiln {number}0.md": f"# Kiln\n\nSee [Glazes](Kiln/Glazes%20{number}1.md).\n",
        f"Kiln/Glazes {number}1.md": "# Glazes\n\nBlue.\n",
    }
    bring_in(store, tmp_path / "a", notes)
    changed = notes | {f"Kiln/Glazes {number}1.md": "# Glazes\n\nGreen.\n"}
    found = bring_in(store, tmp_path / "b", changed)
    assert sorted(memory.title or "" for memory in found.values()) == ["Glazes", "Kiln"]
    assert found[f"Kiln/Glazes {number}1.md"].revision == 2


@pytest.mark.parametrize("piece", ["[", "[[a", "- [", "`", "#", "![", "](", "- ", " "])
def test_a_long_line_of_marks_takes_no_long_time(
    piece: str, store: MemoryStore, tmp_path: Path
) -> None:
    begun = time.monotonic()
    bring_in(store, tmp_path, {"note.md": f"a\n- x{piece * 60_000}\n"})
    assert time.monotonic() - begun < 5


# Whatever is odd is left to the loader in Python: what the one in C takes, both read alike.
_YAML = (
    *(
        "a",
        "b: ",
        "c: 1\n",
        "- ",
        "\n",
        "  ",
        "\t",
        "'",
        '"',
        "[",
        "]",
        "{",
        "}",
        ", ",
        "# x",
        "|\n",
        ">\n",
    ),
    *(
        "!",
        "%",
        "@",
        "`",
        "é",
        "😀",
        "2026-05-01",
        "2026-13-45",
        "true",
        "~",
        "? ",
        ": ",
        ":",
        "1_000",
    ),
    *(
        "0x1f",
        "---\n",
        "...\n",
        "<<: ",
        "=",
        "\u2028",
        "\x85",
        "\ufeff",
        "\\x41",
        "1:30",
        "k: v\n",
        "\x07",
    ),
)


@given(st.lists(st.sampled_from(_YAML), max_size=9).map("".join))
def test_front_matter_means_the_same_to_both_loaders(written: str) -> None:
    read = []
    for load in (load_shallow_yaml, lambda text: yaml.load(text, front_matter._make_loader())):
        try:
            read.append(repr(load(written)))
        except (ValueError, yaml.YAMLError):
            read.append("refused")
    assert read[0] == read[1]


def test_a_property_says_nothing_of_the_memory_itself(store: MemoryStore, tmp_path: Path) -> None:
    properties = "brought_in: false\nindexed: false\ninferred: session"
    (tmp_path / "odd.md").write_text(f"---\n{properties}\n---\nThe cat Kiki eats at eight.")
    store.exchange.import_from(tmp_path)
    (memory,) = store.browse().memories
    assert memory.is_brought_in
    assert memory.is_indexed
    assert not memory.is_inferred
    assert memory.context["note.indexed"] is False
