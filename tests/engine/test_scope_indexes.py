"""A handle of few scopes of a large store reads the indexes of these scopes, and tells the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from confined_lives import INSIDE, SCOPES, Life, answer, calls, check_same, open_sides

from benchmarks.scale.toolsets import count_reads
from infinite_memory import Config, MemoryStore
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.search.confined import index as confined
from infinite_memory.search.confined.index import ConfinedIndex, ScopeIndexes
from infinite_memory.search.index import SearchIndex
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture(autouse=True)
def every_store_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the small stores of these tests be searched as large ones are, with snapshots early."""
    monkeypatch.setattr(confined, "_LARGE_STORE", 0)
    monkeypatch.setattr(confined, "_SMALL_PART", 0)
    monkeypatch.setattr(confined, "_SNAPSHOT_CHANGES", 5)


@contextmanager
def opened(home: Path) -> Iterator[MemoryStore]:
    config = Config(home=home, time_zone="UTC")
    with MemoryStore.open(
        home,
        config=config,
        embedder=HashingEmbedder(64),
        clock=lambda: NOW,
        counts_usage=False,
    ) as store:
        yield store


def index_of(handle: MemoryStore) -> ConfinedIndex:
    index = handle._services.index
    assert isinstance(index, ConfinedIndex)
    return index


def indexes_of(handle: MemoryStore) -> ScopeIndexes:
    indexes = index_of(handle)._whole.of_scopes
    assert isinstance(indexes, ScopeIndexes)
    return indexes


def snapshots(home: Path) -> dict[str, Path]:
    """Return the files of the snapshots by their folders."""
    return {path.parent.name: path for path in home.rglob("*.index")}


def fold(handle: MemoryStore) -> None:
    """Let the indexes of the scopes of `handle` write their snapshots."""
    index_of(handle).refresh()
    indexes_of(handle).wait_for_folding()


def check_by_mask(call: Callable[[MemoryStore], Any], handle: MemoryStore) -> None:
    """Check that the mask of the whole index gives the answer that the scopes give."""
    told = answer(call, handle)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(confined, "_LARGE_STORE", 10**9)
        check_same(told, answer(call, handle))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in range(1, 5))]
)
def test_a_handle_answers_by_indexes_of_scopes_as_a_store_of_its_scopes_alone(
    seed: int, tmp_path: Path
) -> None:
    storage = SqliteStorage.open(tmp_path / "db")
    with closing(storage), open_sides(storage, tmp_path) as sides:
        life = Life(sides.store, seed)
        for _ in range(1 + seed):
            life.go_on(60)
            for call in calls():
                check_same(answer(call, sides.handle), answer(call, sides.alone))
        assert indexes_of(sides.handle)._indexes


class ManySided(Life):
    """What several processes do to one store: they also undo, hide and store what says nothing."""

    def undo(self) -> None:
        with suppress(InfiniteMemoryError):  # such as when nothing is left to undo
            self.store.undo(last_of="store")

    def hide(self) -> None:
        self.store.forget(self.draw.choice(self.ids))

    def say_nothing(self) -> None:
        scope = self.draw.choice(SCOPES)
        self.store.remember("ok", scope=scope, context={"indexed": False})

    def go_on(self, steps: int) -> None:
        acts = (self.undo, self.hide, self.say_nothing)
        for _ in range(steps):
            super().go_on(1)
            if self.draw.random() < 0.3:
                self.draw.choice(acts)()


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.thorough) for n in range(1, 9))]
)
def test_whoever_writes_the_indexes_of_scopes_answer_as_the_mask_of_the_whole_index(
    seed: int, tmp_path: Path
) -> None:
    with ExitStack() as owned:
        stores = [owned.enter_context(opened(tmp_path)) for _ in range(3)]
        lives = [ManySided(store, 100 * seed + n) for n, store in enumerate(stores)]
        for life in lives:
            life.ids = lives[0].ids
        handles = [store.confine(scopes=INSIDE) for store in stores[1:]]
        for step in range(8):
            lives[step % 3].go_on(12)
            # Now and then a process finds a snapshot, or what others have written since.
            if step % 3 == 2:
                fold(handles[0])
                index_of(handles[0])._whole.of_scopes = None
            handle = handles[step % 2]
            for number, call in enumerate(calls()):
                if number % 7 == step % 7:
                    check_by_mask(call, handle)
        reader = index_of(handles[0])._read_scopes()
        assert reader is not None
        whole = index_of(handles[0])._whole.refresh()
        assert set(reader.ids()) == set(index_of(handles[0])._mask(whole).ids())


def _write_and_move(home: Path, seed: int) -> None:
    with opened(home) as store:
        life = ManySided(store, seed)
        life.ids = [f"m-{number}" for number in range(40)]
        for _ in range(60):
            with suppress(InfiniteMemoryError):  # another process was quicker
                life.draw.choice((life.move, life.undo, life.hide, life.reword))()


@pytest.mark.thorough
def test_what_other_processes_move_meanwhile_is_never_missed_and_never_shown_where_it_left(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as store, store.confine(scopes=INSIDE) as handle:
        Life(store, 1).go_on(0)
        for number in range(40):
            store.remember(f"note {number}", id=f"m-{number}", scope=SCOPES[number % len(SCOPES)])
        writers = [
            get_context("spawn").Process(target=_write_and_move, args=(tmp_path, n))
            for n in range(2)
        ]
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers):
            for hit in handle.search("note", scope="ALL", statuses=[], threshold=0, limit=99):
                assert hit.memory.scope in INSIDE or hit.memory.scope.lower().startswith("team/")
        assert [writer.exitcode for writer in writers] == [0, 0]
        for call in calls():
            check_by_mask(call, handle)


def test_a_memory_that_moves_between_two_scopes_of_a_handle_is_always_in_one(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as store, store.confine(scopes=["here", "there"]) as handle:
        store.remember("the ferry leaves at ten", id="ferry", scope="here")
        store.scopes.create("there")

        def move() -> None:
            for number in range(60):
                store.revise("ferry", revision=1 + number, scope=("there", "here")[number % 2])

        mover = threading.Thread(target=move)
        mover.start()
        while mover.is_alive():
            reader = index_of(handle).refresh()
            assert list(reader.ids()) == ["ferry"]
        mover.join()


def test_what_was_erased_is_in_no_file_and_the_files_of_others_stay(tmp_path: Path) -> None:
    people = ("anna", "bob", "carol")
    with opened(tmp_path) as store:
        for number in range(30):
            store.remember(f"note {number}", id=f"id-{number:03}", scope=people[number % 3])
        handles = {name: store.confine(scopes=name) for name in people}
        for handle in handles.values():
            fold(handle)
        files = snapshots(tmp_path)
        assert len(files) == 3
        (carols,) = [path for path in files.values() if b"id-002" in path.read_bytes()]
        before = carols.stat()
        # The file of Anna is older than the move, so it still has the memory.
        store.revise("id-000", revision=1, scope="bob")
        assert sum(b"id-000" in path.read_bytes() for path in files.values()) == 1
        handles["bob"].forget("id-000", hard=True)
        assert not any(b"id-000" in path.read_bytes() for path in snapshots(tmp_path).values())
        assert (carols.stat().st_ino, carols.stat().st_mtime_ns) == (
            before.st_ino,
            before.st_mtime_ns,
        )
        for handle in handles.values():
            fold(handle)
        assert not any(b"id-000" in path.read_bytes() for path in snapshots(tmp_path).values())
        assert handles["anna"].search("note", threshold=0).eligible == 9


def test_a_search_maps_the_snapshot_of_its_scope_and_a_damaged_one_is_made_anew(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as store, store.confine(scopes="anna") as handle:
        for number in range(20):
            store.remember(f"note {number} of the ferry", scope="anna")
        fold(handle)
    (path,) = snapshots(tmp_path).values()
    read = []
    for is_damaged in (False, True):
        if is_damaged:
            path.write_bytes(path.read_bytes()[:-9] + b"-" * 9)
        with (
            count_reads() as read_so_far,
            opened(tmp_path) as store,
            store.confine(scopes="anna") as handle,
        ):
            before = read_so_far()
            assert handle.search("ferry", threshold=0, limit=50).eligible == 20
            read.append(read_so_far().since(before).rows)
        assert len(snapshots(tmp_path)) == 1
    assert read[0] <= read[1] - 20


def test_a_store_that_searches_scopes_alone_reads_and_writes_no_index_of_the_whole(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as store, store.confine(scopes="anna") as handle:
        store.remember_many(
            [{"text": f"note {n}", "scope": ("anna", "bob")[n % 2]} for n in range(1200)]
        )
        fold(handle)
        handle.remember("a note of the ferry")
        assert handle.search("ferry", limit=1)[0].memory.text == "a note of the ferry"
        assert index_of(handle)._whole._reader is None
    with opened(tmp_path) as store:
        # A server begins so, and its worker goes on so.
        store.models.warm_up()
        store.upkeep.optimize(jobs=["index"])
        index = store._services.index
        assert isinstance(index, SearchIndex)
        assert index._reader is None
    assert [path.parent.name[:9] for path in snapshots(tmp_path).values()] == ["confined-"]


def test_indexes_that_were_not_used_for_longest_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as store:
        names = [f"people/{number}" for number in range(6)]
        for name in names:
            store.remember(f"a note of {name}", scope=name)
        handles = [store.confine(scopes=name) for name in names]
        handles[0].search("note")
        held = index_of(handles[0]).refresh().size_bytes
        monkeypatch.setattr(confined, "_MOST_BYTES", 3 * held + held // 2)
        for _turn in range(3):
            for handle, name in zip(handles, names, strict=True):
                (hit,) = handle.search("note", threshold=0)
                assert hit.memory.text == f"a note of {name}"
        assert list(indexes_of(handles[0])._indexes) == names[-3:]


def test_what_one_person_writes_costs_others_no_row(tmp_path: Path) -> None:
    with count_reads() as read_so_far, opened(tmp_path) as store:
        anna, bob = (store.confine(scopes=name, client=name) for name in ("anna", "bob"))
        for handle in (anna, bob):
            handle.remember_many([{"text": f"note {n} of the ferry"} for n in range(30)])
            handle.search("ferry")
            fold(handle)
        found = []
        for written in (1, 50):
            for number in range(written):
                anna.remember(f"another note {written} {number}")
            indexes_of(anna).wait_for_folding()
            before = read_so_far()
            bob.search("ferry")
            reads = read_so_far().since(before)
            found.append((reads.statements, reads.rows))
        assert found[0] == found[1]


def test_a_handle_of_most_of_a_store_or_of_a_small_one_uses_the_index_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined, "_SMALL_PART", 10)
    with opened(tmp_path) as store:
        store.remember_many(
            [{"text": f"note {n}", "scope": "few" if n % 20 == 0 else "most"} for n in range(100)]
        )
        few, most = (index_of(store.confine(scopes=name)) for name in ("few", "most"))
        assert few._read_scopes() is not None
        assert most._read_scopes() is None
        monkeypatch.setattr(confined, "_LARGE_STORE", 10_000)
        assert few._read_scopes() is None


def test_the_snapshot_of_a_scope_that_was_deleted_is_removed(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        for number in range(9):
            store.remember(f"memory {number}", scope="old", id=f"m{number}", similar=False)
        store.remember("elsewhere", scope="new")
        with store.confine(scopes=["old"]) as handle:
            fold(handle)
        (before,) = snapshots(tmp_path)
        for number in range(9):
            store.revise(f"m{number}", revision=1, scope="new")
        store.scopes.delete("old")
    with opened(tmp_path) as store, store.confine(scopes=["new"]) as handle:
        assert len(handle.search("memory 3", limit=20, threshold=0)) >= 9
        assert before not in snapshots(tmp_path)
