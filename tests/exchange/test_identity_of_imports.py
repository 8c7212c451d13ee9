"""What an import adds a second time: nothing that is here, all that is not, whatever is its name.

Two sources may name things alike. What one of them says never takes the place of what the other
says.
"""

from __future__ import annotations

import json
import random
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infinite_memory import MemoryStore
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Memory
from infinite_memory.testing.embedders import HashingEmbedder
from tests.exchange.written import WRITTEN, write_files

PLACES = ["wood", "gas", "oil", "coal", "peat", "straw"]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as opened:
        yield opened


def write(folder: Path, form: str, texts: list[str]) -> Path:
    """Write a source, and return the path to import."""
    folder.mkdir(parents=True, exist_ok=True)
    files = write_files(form, texts)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8", newline="")
    return folder if len(files) > 1 or form in ("documents", "basic-memory") else folder / name


def list_all(store: MemoryStore) -> dict[str, Memory]:
    return {memory.id: memory for memory in store.browse(scope="ALL", limit=1000).memories}


def held(store: MemoryStore, texts: list[str]) -> list[bool]:
    stored = [memory.text for memory in list_all(store).values()]
    return [any(text in memory for memory in stored) for text in texts]


@pytest.mark.parametrize("form", WRITTEN)
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    seed=st.integers(0, 1000),
)
def test_two_sources_with_the_same_names_are_kept_apart_and_neither_is_doubled(
    form: str,
    sizes: tuple[int, int],
    seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("sources")
    first = [f"Kiln {n} of alpha is fired with {PLACES[(n + seed) % 6]}." for n in range(sizes[0])]
    second = [f"Kiln {n} of beta burns {PLACES[(n + seed) % 6]} alone." for n in range(sizes[1])]
    with MemoryStore.open("memory://", embedder=HashingEmbedder()) as store:
        store.exchange.import_from(write(folder / "a" / "kilns", form, first))
        before = list_all(store)
        store.exchange.import_from(write(folder / "b" / "kilns", form, second))
        after = list_all(store)
        assert {name: after[name] for name in before} == before
        assert all(held(store, first + second))

        for name, texts in (("a", first), ("b", second), ("a", first)):
            again = store.exchange.import_from(write(folder / name / "kilns", form, texts))
            assert (again.added, again.changed) == (0, 0)
        (folder / "a").rename(folder / "moved")
        moved = write(folder / "moved" / "kilns", form, first)
        again = store.exchange.import_from(moved)
        assert (again.added, again.changed) == (0, 0)
        extended = [*first, "A last kiln is cold."]
        grown = store.exchange.import_from(write(folder / "moved" / "kilns", form, extended))
        # The graph has a note and a fact for each entity, and the note may be there already.
        assert (grown.added, grown.changed) in ((1, 0), (2 if form == "mcp-memory" else 1, 0))
        assert list_all(store).keys() >= after.keys()


def test_the_notes_of_two_folders_stay_apart_when_one_is_edited(
    store: MemoryStore, tmp_path: Path
) -> None:
    alpha = write(tmp_path / "alpha", "documents", ["Alpha is fired with wood."])
    beta = write(tmp_path / "beta", "documents", ["Beta is fired with gas."])
    for folder in (alpha, beta):
        store.exchange.import_from(folder)
    write(beta, "documents", ["Beta is fired with coal."])
    edited = store.exchange.import_from(beta)
    assert (edited.added, edited.changed) == (0, 1)
    texts = {memory.text for memory in list_all(store).values()}
    assert texts == {"Alpha is fired with wood.", "Beta is fired with coal."}


def test_a_folder_above_a_note_finds_the_same_note(store: MemoryStore, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes" / "kilns", "documents", ["Alpha is fired with wood."])
    store.exchange.import_from(folder / "note 0.md")
    write(folder, "documents", ["Alpha is fired with oil."])
    above = store.exchange.import_from(tmp_path / "notes")
    assert (above.added, above.changed) == (0, 1)


def test_a_long_text_that_grew_in_its_middle_adds_only_the_part_that_changed(
    store: MemoryStore, tmp_path: Path
) -> None:
    draw = random.Random(7)
    paragraphs = [" ".join(draw.choice(PLACES) for _ in range(200)) for _ in range(2500)]
    path = tmp_path / "long.txt"
    path.write_text("\n\n".join(paragraphs))
    parts = store.exchange.import_from(path).added
    assert parts > 4
    paragraphs.insert(1200, "A new paragraph in the middle.")
    path.write_text("\n\n".join(paragraphs))
    assert 1 <= store.exchange.import_from(path).added <= 2


def test_a_note_with_a_name_of_its_own_is_the_same_in_every_export(
    store: MemoryStore, tmp_path: Path
) -> None:
    name = "Kiln 0123456789abcdef0123456789abcdef.md"
    for number, text in enumerate(["Fired with wood.", "Fired with oil."]):
        with zipfile.ZipFile(tmp_path / f"export {number}.zip", "w") as archive:
            archive.writestr(name, text)
        imported = store.exchange.import_from(tmp_path / f"export {number}.zip")
    assert (imported.added, imported.changed) == (0, 1)


def test_a_store_of_an_earlier_version_is_not_doubled(store: MemoryStore, tmp_path: Path) -> None:
    folder = write(tmp_path / "notes", "documents", ["Alpha is fired with wood.", "Beta too."])
    for number, text in enumerate(["Alpha is fired with wood.", "Another text."]):
        former = import_id(["documents", f"note {number}.md", 0])
        store.remember(text, id=former, title=f"note {number}", origin="import")
    imported = store.exchange.import_from(folder)
    assert (imported.added, imported.changed, imported.unchanged) == (1, 0, 1)
    assert held(store, ["Alpha is fired with wood.", "Beta too.", "Another text."]) == [True] * 3
    assert store.exchange.import_from(folder).unchanged == 2


def test_a_message_without_an_id_is_known_after_others_came_before_it(
    store: MemoryStore, tmp_path: Path
) -> None:
    path = tmp_path / "conversations.json"
    said = [{"sender": "human", "text": text} for text in ("Yes.", "And the kiln?", "Yes.")]
    for messages in (said, [{"sender": "human", "text": "Hello first."}, *said]):
        path.write_text(json.dumps([{"uuid": "c1", "chat_messages": messages}]))
        imported = store.exchange.import_from(path)
    assert (imported.added, imported.unchanged) == (1, 3)
    former = import_id(["claude", "c2", "0", 0])
    store.remember("Who fires it?", id=former, kind="message", speaker="user")
    path.write_text(
        json.dumps(
            [{"uuid": "c2", "chat_messages": [{"sender": "human", "text": "Who fires it?"}]}]
        )
    )
    assert store.exchange.import_from(path).added == 0


def test_links_lead_to_notes_that_were_found_at_another_place(
    store: MemoryStore, tmp_path: Path
) -> None:
    notes = ["Alpha is fired with wood.\n- fed by [[Note 1]]", "The store of wood."]
    folder = write(tmp_path / "a", "basic-memory", notes)
    assert store.exchange.import_from(folder).links == 1
    shutil.move(folder, tmp_path / "b")
    again = store.exchange.import_from(tmp_path / "b")
    assert (again.added, again.links, again.loose_links) == (0, 0, 0)


def test_what_was_forgotten_stays_so_at_another_place_and_what_was_undone_comes_back(
    store: MemoryStore, tmp_path: Path
) -> None:
    folder = write(tmp_path / "a", "documents", ["Alpha is fired with wood.", "Beta too."])
    store.exchange.import_from(folder)
    (first, _) = store.browse(limit=10).memories
    store.forget(first.id)
    shutil.move(folder, tmp_path / "b")
    again = store.exchange.import_from(tmp_path / "b")
    assert (again.added, again.unchanged, again.still_forgotten) == (0, 1, 1)

    other = write(tmp_path / "c", "documents", ["Gamma is cold.", "Delta is cold."])
    store.exchange.import_from(other)
    store.undo()
    shutil.move(other, tmp_path / "d")
    assert store.exchange.import_from(tmp_path / "d").added == 2
    assert held(store, ["Gamma is cold.", "Delta is cold."]) == [True, True]
