"""A store that is opened for some scopes, beside one that is opened for all, on the same files."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from infinite_memory import Config, Conflict, IdTaken, InvalidInput, MemoryStore, NotFound
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.storage.confined import ConfinedStorage
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import make_memory
from tests.harness.failing import FailingStorage


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def open_store(home: Path, **options: object) -> MemoryStore:
    settings = options.pop("settings", {})
    config = Config(home=home, **settings)  # type: ignore[arg-type]
    return MemoryStore.open(home, config=config, embedder=HashingEmbedder(), **options)  # type: ignore[arg-type]


@pytest.fixture
def everything(home: Path) -> Iterator[MemoryStore]:
    with open_store(home) as store:
        yield store


@pytest.fixture
def work(home: Path, everything: MemoryStore) -> Iterator[MemoryStore]:
    with open_store(home, scopes=["Work", "team"]) as store:
        yield store


def ids(store: MemoryStore, question: str) -> set[str]:
    return {hit.memory.id for hit in store.search(question, scope="ALL", threshold=0, limit=100)}


def test_a_memory_that_is_moved_out_is_gone(everything: MemoryStore, work: MemoryStore) -> None:
    work.remember("a plan for the harbour", id="plan")
    assert ids(work, "harbour plan") == {"plan"}
    everything.revise("plan", revision=1, scope="home")
    assert ids(work, "harbour plan") == set()
    assert work.search("harbour", scope="ALL").eligible == 0
    with pytest.raises(NotFound):
        work.get("plan")
    with pytest.raises(NotFound):
        work.journal.history("plan")
    with pytest.raises(NotFound):
        work.forget("plan", hard=True)
    assert work.journal.entries() == work.journal.entries(memory_id="plan") == []
    assert everything.get("plan").text == "a plan for the harbour"


def test_a_memory_that_is_moved_in_begins_there(everything: MemoryStore, work: MemoryStore) -> None:
    everything.remember("said at home", id="m", scope="home")
    everything.revise("m", revision=1, text="fit for work", scope="work")
    everything.revise("m", revision=2, text="fit for everybody")
    assert [memory.text for memory in work.journal.history("m")] == [
        "fit for work",
        "fit for everybody",
    ]
    assert work.stats().revisions == 1
    assert (ids(work, "fit"), ids(work, "home")) == ({"m"}, set())
    entry = work.journal.entries(memory_id="m")[1].number
    with pytest.raises(Conflict) as caught:
        work.undo(entry)
    assert "home" not in str(caught.value)


def test_the_parent_outside_is_kept_when_the_scope_is_changed_and_that_is_undone(
    everything: MemoryStore, work: MemoryStore
) -> None:
    everything.scopes.create("vault")
    everything.scopes.create("work", parent="vault")
    assert work.scopes["work"].parent is None
    assert work.scopes.update("work", description="paid").parent is None
    changed = everything.scopes["work"]
    assert (changed.parent, changed.description) == ("vault", "paid")
    work.undo()
    restored = everything.scopes["work"]
    assert (restored.parent, restored.description) == ("vault", "")
    assert everything.verify().sound
    everything.undo(everything.journal.entries(limit=2)[1].number - 1)


def test_an_entry_that_touches_both_sides_is_shown_to_neither_alone(
    everything: MemoryStore, work: MemoryStore
) -> None:
    everything.remember_many(
        [{"text": "inside", "scope": "work", "id": "i"}, {"text": "outside", "id": "o"}]
    )
    assert [memory.id for memory in work.browse(scope="ALL").memories] == ["i"]
    assert work.journal.entries() == []
    number = everything.journal.entries(limit=1)[0].number
    with pytest.raises(NotFound, match=f"there is no entry {number}"):
        work.undo(number)


def test_what_was_erased_is_known_to_the_handle_that_erased_it(
    home: Path, everything: MemoryStore, work: MemoryStore
) -> None:
    work.remember("a slip", id="slip")
    work.forget("slip", hard=True)
    assert work.forget("slip", hard=True).outcome == "unchanged"
    assert len(work.journal.entries(memory_id="slip")) == 2
    with open_store(home, scopes=["work"]) as another:
        assert another.journal.entries() == []
        with pytest.raises(NotFound):
            another.forget("slip", hard=True)
    everything.remember("taken since", id="slip")
    assert work.journal.entries(memory_id="slip") == []


def test_the_default_scope_is_inside(home: Path) -> None:
    for default, scope in (("Global", "Work"), ("TEAM", "team"), ("elsewhere", "Work")):
        settings = {"default_scope": default}
        with open_store(home, settings=settings, scopes=["Work", "team"]) as store:
            assert store.remember(f"a note of {default}").scope.casefold() == scope.casefold()
    with open_store(home, scopes=["WORK", "work"]) as store:
        assert [scope.name for scope in store.scopes] == ["Work"]
    with open_store(home, scopes="Work") as store:
        assert store.stats().memories == 2


@pytest.mark.parametrize("scopes", [[], "", ["ALL"], ["work", "all"], [" "], ["a\0b"], [7]])
def test_scopes_that_are_none_are_refused_before_anything_is_made(
    home: Path, scopes: object
) -> None:
    with pytest.raises(InvalidInput):
        open_store(home, scopes=scopes)
    assert not home.exists()


def test_strict_scopes_are_not_made(home: Path, everything: MemoryStore) -> None:
    with open_store(home, settings={"strict_scopes": True}, scopes=["work"]) as store:
        with pytest.raises(InvalidInput, match=r"'work'.*create it"):
            store.remember("a note")
        store.scopes.create("work")
        store.remember("a note", id="note")
    assert everything.get("note").scope == "work"


def test_an_id_that_is_taken_is_not_tried_again() -> None:
    inner = FailingStorage(InMemoryStorage())
    inner.commit(Commit(puts=[Put(memory=make_memory("m"), expected=0)]))
    with MemoryStore.open(
        "memory://", storage=inner, embedder=HashingEmbedder(), scopes=["work"]
    ) as store:
        calls = inner.calls
        with pytest.raises(IdTaken):
            store.remember("a note", id="m")
        assert inner.calls - calls < 20


def test_they_share_the_snapshot_of_the_whole_store(home: Path) -> None:
    drafts = [{"text": f"note number {n}", "scope": "work"} for n in range(600)]
    with open_store(home, scopes=["work"]) as store:
        store.remember_many(drafts)
        store.search("note")
    (whole,) = (home / "index").rglob("*.index")
    with open_store(home) as store:
        store.remember_many(
            [{"text": f"private number {n}", "id": f"private-{n}"} for n in range(600)]
        )
        store.search("note")
        assert store.verify().counts["indexed"] == 600
    before = whole.read_bytes()
    assert b"private" in before
    for scopes, size in ((["WORK"], 600), (["team", "work"], 600), (["home"], 0), (None, 1200)):
        with open_store(home, scopes=scopes) as store:
            assert store.verify().sound
            found = store.search("private note", scope="ALL", limit=1000, threshold=0)
            assert found.eligible == size
            assert ("private" in repr(found)) == (scopes is None)
    assert whole.read_bytes() == before
    # Whichever handle erases, no snapshot keeps a trace: the next one is written without it.
    with open_store(home, scopes=["work"]) as store:
        memory = store.browse(limit=1).memories[0]
        store.forget(memory.id, hard=True)
        assert list((home / "index").rglob("*.index")) == []
    (rewritten,) = (home / "index").rglob("*.index")
    assert memory.id.encode() in before
    assert memory.id.encode() not in rewritten.read_bytes()
    assert b"private" in rewritten.read_bytes()


def test_an_index_that_is_damaged_is_no_matter_of_a_confined_store(home: Path) -> None:
    with open_store(home) as store:
        store.remember_many([{"text": f"note number {n}", "scope": "work"} for n in range(600)])
        store.search("note")
    (whole,) = (home / "index").rglob("*.index")
    content = bytearray(whole.read_bytes())
    content[-1] ^= 1
    whole.write_bytes(content)
    with open_store(home, scopes=["work"]) as store:
        checked = store.verify(mend=True)
        assert (checked.sound, checked.mended, "indexed" in checked.counts) == (True, 0, False)
        assert store.health().index_behind is None
        assert store.search("note", threshold=0, limit=1000).eligible == 600


def test_what_waits_outside_is_not_embedded_from_inside(home: Path) -> None:
    with closing(SqliteStorage.open(home)) as storage:
        storage.commit(
            Commit(puts=[Put(memory=make_memory(f"o{n}"), expected=0) for n in range(200)])
        )
        storage.commit(Commit(puts=[Put(memory=make_memory("i", scope="work"), expected=0)]))
        model = HashingEmbedder().model
        confined = ConfinedStorage(storage, ["work"])
        assert confined.pending(model, limit=1) == confined.pending(model, limit=500) == ["i"]
        with open_store(home, scopes=["work"]) as store:
            assert store.search("text", scope="ALL").pending == 1
            assert store.models.catch_up() == 1
            assert store.models.drop_others() == {}
        assert len(storage.pending(model, limit=500)) == 200


def test_damage_outside_is_neither_told_nor_logged(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_store(home) as store:
        store.remember("a secret", id="hidden", scope="vault")
        store.remember("a note", id="note", scope="work")
    for table, key in (("memories", "id = 'hidden'"), ("scopes", "name = 'vault'")):
        column = "text" if table == "memories" else "description"
        connection = apsw.Connection(str(home / "memory.db"))
        connection.execute(f"UPDATE {table} SET {column} = 'forged' WHERE {key}")
        connection.close()
    caplog.set_level(logging.DEBUG)
    with open_store(home, scopes=["work"]) as store:
        assert ids(store, "secret note forged") == {"note"}
        assert [scope.name for scope in store.scopes] == ["work"]
        with pytest.raises(NotFound, match="there is no memory 'hidden'"):
            store.get("hidden")
        with pytest.raises(NotFound, match="there is no memory 'hidden'"):
            store.forget("hidden", hard=True)
        with pytest.raises(IdTaken):
            store.remember("a note", id="hidden")
        assert store.verify().sound
        assert store.stats().memories == 1
        store.revise("note", revision=1, text="another note")
    assert "hidden" not in caplog.text
    assert "vault" not in caplog.text
    with open_store(home) as store:
        assert not store.verify().sound


def test_undo_takes_back_what_is_inside_whatever_was_stored_outside_since(
    everything: MemoryStore, work: MemoryStore
) -> None:
    work.remember("a plan for the harbour", id="plan", scope="team")
    everything.remember("a blood test", id="test", scope="health")
    outside = everything.journal.entries(limit=1)[0].number
    undone = work.undo()
    assert (undone.memories, undone.entry) == (("plan",), outside + 1)
    assert everything.journal.entries(limit=1)[0].number == outside + 1
    assert everything.get("test").status == "current"
    with pytest.raises(NotFound, match="nothing left to undo"):
        work.undo()
    with pytest.raises(NotFound, match=f"no entry {outside} "):
        work.undo(outside)


def test_a_confined_store_does_not_change_the_model_of_memories_that_it_cannot_see(
    home: Path,
) -> None:
    old, new = HashingEmbedder(64), HashingEmbedder(32)

    def open_with(**options: object) -> MemoryStore:
        return MemoryStore.open(home, config=Config(home=home), **options)  # type: ignore[arg-type]

    with open_with(embedder=old) as store:
        store.remember("a plan for the harbour", id="plan", scope="Work")
        store.remember("said at home", id="private", scope="home")
    changed = {"embedder": new, "former_embedder": old}
    with open_with(scopes=["Work"], **changed) as confined:
        assert confined.models.catch_up() == 1
        assert confined.models.catch_up() == 0
        assert confined.models.answering == old.model
        with pytest.raises(Conflict, match="hashing-64 still answers"):
            confined.models.drop_others()
        assert ids(confined, "harbour plan") == {"plan"}
        with open_with(**changed) as store:
            assert store.models.catch_up() == 1
            assert store.models.catch_up() == 0
            assert store.models.answering == new.model
        assert confined.models.answering == new.model
