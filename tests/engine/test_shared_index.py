"""A handle of some scopes uses the index of the whole store, and is told nothing of the rest."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from confined_lives import Life, compare, open_sides
from numpy.typing import NDArray

from benchmarks.scale.handles import fill
from benchmarks.scale.toolsets import count_reads
from infinite_memory import Config, MemoryStore
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.costs import count_calls


@pytest.mark.parametrize(
    ("seed", "rounds", "is_on_disk"),
    [
        (0, 1, False),
        *(pytest.param(n, 4, n % 2 == 1, marks=pytest.mark.thorough) for n in range(1, 7)),
    ],
)
def test_a_handle_answers_by_the_shared_index_as_a_store_of_its_scopes_alone(
    seed: int, rounds: int, is_on_disk: bool, tmp_path: Path
) -> None:
    storage = SqliteStorage.open(tmp_path / "db") if is_on_disk else InMemoryStorage()
    with closing(storage), open_sides(storage, tmp_path) as sides:
        life = Life(sides.store, seed)
        for _ in range(rounds):
            life.go_on(90)
            compare(sides)


class Interrupted(HashingEmbedder):
    """Lets something happen while a question is embedded, once the index was read."""

    events: ClassVar[list[Callable[[], object]]] = []

    def embed_query(self, text: str) -> NDArray[np.float32]:
        while self.events:
            self.events.pop()()
        return super().embed_query(text)


def test_a_memory_that_leaves_or_enters_its_scope_during_a_search_is_not_shown(
    tmp_path: Path,
) -> None:
    embedder = Interrupted()
    with (
        MemoryStore.open(tmp_path, config=Config(home=tmp_path), embedder=embedder) as store,
        store.confine(scopes="work") as handle,
    ):
        store.remember("the ferry leaves at ten", id="ferry", scope="work")
        store.remember("the bus leaves at nine", id="bus", scope="home")

        def swap() -> None:
            store.revise("ferry", revision=1, scope="home", text="the ferry is a secret")
            store.revise("bus", revision=1, scope="work")

        embedder.events.append(swap)
        during = handle.search("when does it leave?", threshold=0)
        assert embedder.events == []
        assert [hit.memory.id for hit in during] == []
        assert "secret" not in repr(during)
        after = handle.search("when does the other one leave?", threshold=0)
        assert [hit.memory.id for hit in after] == ["bus"]
        assert after.eligible == 1


def open_filled(home: Path, memories: int) -> MemoryStore:
    """Open a store of ten memories of work and of many small scopes, with a snapshot."""
    config, embedder = Config(home=home), HashingEmbedder()
    fill(home, memories, embedder)
    with MemoryStore.open(home, config=config, embedder=embedder) as store:
        drafts = [{"text": f"note {n} of the ferry", "scope": "work"} for n in range(10)]
        store.remember_many(drafts)
        store.search("ferry")
    return MemoryStore.open(home, config=config, embedder=embedder)


@pytest.fixture(params=[4_000, pytest.param(20_000, marks=pytest.mark.thorough)])
def sizes(request: pytest.FixtureRequest) -> tuple[int, int]:
    return 1_000, request.param


def test_the_first_search_of_a_handle_reads_what_its_scopes_hold_and_writes_no_file(
    sizes: tuple[int, int], tmp_path: Path
) -> None:
    found = {}
    for memories in sizes:
        home = tmp_path / str(memories)
        with count_reads() as read_so_far, open_filled(home, memories) as store:
            store.search("where is the ferry?", scope="ALL")
            # What all handles share is made once, with the first of them.
            store.confine(scopes="team/1").search("where is the ferry?")
            before, files = read_so_far(), sorted(home.rglob("*"))
            handle = store.confine(scopes="Work")
            calls = count_calls(partial(handle.search, "where is the ferry?"))
            reads = read_so_far().since(before)
            assert handle.search("ferry", limit=20, threshold=0).eligible == 10
            assert sorted(home.rglob("*")) == files
            found[memories] = reads.statements, reads.rows, calls
    few, many = found.values()
    print(f"statements, rows and function calls of a first search: {found}")
    assert many[:2] == few[:2]
    assert many[1] <= 60
    assert many[2] <= 1.02 * few[2]


def test_handles_of_other_scopes_share_what_the_whole_store_has_in_memory(tmp_path: Path) -> None:
    with open_filled(tmp_path, 3000) as store:
        store.search("ferry")
        (whole,) = store._services.index.refresh().segment_readers  # type: ignore[attr-defined]
        for name in ("team/1", "team/2*", "WORK"):
            handle = store.confine(scopes=name)
            (part,) = handle._services.index.refresh().segment_readers  # type: ignore[attr-defined]
            assert part.segment is whole.segment
            found = handle.search("note", threshold=0, scope="ALL")
            assert found.eligible == part.live_count < whole.live_count


def test_a_handle_within_a_handle_has_what_both_allow(tmp_path: Path) -> None:
    with (
        MemoryStore.open(tmp_path, config=Config(home=tmp_path), embedder=HashingEmbedder()) as one,
        one.confine(scopes=["work", "home*"]) as outer,
        outer.confine(scopes=["home/garden", "team"]) as inner,
        outer.confine(scopes="team") as nothing,
    ):
        for scope in ("work", "home", "home/garden", "team"):
            one.remember(f"a note of {scope}", id=scope, scope=scope)
        for handle, ids in ((outer, {"work", "home", "home/garden"}), (inner, {"home/garden"})):
            found = handle.search("a note", scope="ALL", threshold=0)
            assert {hit.memory.id for hit in found} == ids
            assert found.eligible == len(ids)
        assert nothing.search("a note", scope="ALL", threshold=0).eligible == 0
