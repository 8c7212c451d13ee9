"""The storage contract: no reader of the feed misses a write of any handle."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from infinite_memory.core.errors import Conflict
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Attach, Commit, Erase
from infinite_memory.core.values.memory import GLOBAL
from infinite_memory.core.values.record import Record
from infinite_memory.core.values.scope import Scope
from infinite_memory.testing.storage_contract.base import (
    StorageTests,
    make_embedding,
    put,
)

__all__ = ["FeedTests"]


def _write_one_by_one(opener: StorageTests, home: Path, name: str, count: int) -> None:
    storage = opener.open(home)
    for number in range(count):
        storage.commit(Commit(puts=[put(f"{name}-{number}")]))
    storage.close()


class FeedTests(StorageTests):
    """The change feed, with several threads, handles and processes."""

    def test_the_feed_tells_the_latest_state_of_each_memory_by_its_last_change(
        self, storage: Storage
    ) -> None:
        storage.commit(Commit(puts=[put("a"), put("b"), put("c")]))
        storage.commit(Commit(puts=[put("a", revision=2)]))
        storage.commit(Commit(attaches=[Attach(id="b", revision=1, embedding=make_embedding())]))
        changes = storage.changes(0, limit=10)
        assert [change.id for change in changes.items] == ["c", "a", "b"]
        assert {change.id: change.record for change in changes.items} == storage.get("abc")
        assert changes.cursor == storage.position()

    def test_the_feed_is_read_in_stretches_that_miss_nothing(self, storage: Storage) -> None:
        storage.commit(Commit(puts=[put(f"m{number}") for number in range(10)]))
        storage.commit(Commit(erases=[Erase(id="m4")]))
        seen: list[str] = []
        cursor = 0
        while stretch := storage.changes(cursor, limit=3).items:
            assert len(stretch) <= 3
            seen += [change.id for change in stretch]
            cursor = storage.changes(cursor, limit=3).cursor
        assert seen == [f"m{number}" for number in (0, 1, 2, 3, 5, 6, 7, 8, 9, 4)]
        assert cursor == storage.position()

    def test_a_feed_without_news_stays_where_it_is(self, storage: Storage) -> None:
        assert storage.changes(0, limit=5).cursor == storage.position()
        cursor = self.commit(storage, Commit(puts=[put("a")]))
        assert storage.changes(cursor, limit=5).items == ()
        assert storage.changes(cursor, limit=5).cursor == cursor == storage.position()

    def test_a_reader_beside_writing_threads_misses_no_write(self, storage: Storage) -> None:
        self._race_writer(storage, storage)

    def test_a_reader_on_another_handle_misses_no_write(self, storage: Storage, home: Path) -> None:
        other = self.another(home)
        self._race_writer(storage, other)
        other.close()

    def _race_writer(self, writer: Storage, reader: Storage) -> None:
        done = threading.Event()

        def write(name: str) -> None:
            for number in range(25):
                writer.commit(Commit(puts=[put(f"{name}-{number}"), put(f"{name}-twin-{number}")]))

        def follow() -> dict[str, Record | None]:
            seen: dict[str, Record | None] = {}
            cursor = 0
            while True:
                last = done.is_set()
                changes = reader.changes(cursor, limit=7)
                seen |= {change.id: change.record for change in changes.items}
                if last and not changes.items:
                    return seen
                cursor = changes.cursor

        with ThreadPoolExecutor() as pool:
            following = pool.submit(follow)
            list(pool.map(write, ["x", "y", "z"]))
            done.set()
            seen = following.result()
        assert seen == reader.get(list(seen))
        assert len(seen) == 150

    def test_processes_write_at_once_and_no_write_is_lost(
        self, storage: Storage, home: Path
    ) -> None:
        self.another(home).close()
        spawn = get_context("spawn")
        writers = [
            spawn.Process(target=_write_one_by_one, args=(self, home, name, 20))
            for name in ("p", "q")
        ]
        for process in writers:
            process.start()
        seen: set[str] = set()
        cursor = 0
        alive = True
        while alive:
            alive = any(process.is_alive() for process in writers)
            changes = storage.changes(cursor, limit=50)
            seen |= {change.id for change in changes.items}
            cursor = changes.cursor
        for process in writers:
            process.join()
            assert process.exitcode == 0
        assert seen == {f"{name}-{number}" for name in "pq" for number in range(20)}

    def test_another_handle_sees_what_was_committed(self, storage: Storage, home: Path) -> None:
        other = self.another(home)
        assert other.identity == storage.identity
        storage.commit(Commit(puts=[put("a")]))
        assert other.get(["a"]) == storage.get(["a"])
        other.commit(Commit(puts=[put("a", revision=2)]))
        assert storage.position() == other.position()
        with pytest.raises(Conflict):
            storage.commit(Commit(puts=[put("a", revision=2)]))
        other.close()
        assert storage.get(["a"])["a"].memory.revision == 2

    def test_everything_is_there_after_closing_and_opening_again(
        self, storage: Storage, home: Path
    ) -> None:
        storage.commit(
            Commit(
                puts=[put("a", embedding=make_embedding()), put("b")],
                scopes=[Scope(name="s")],
            )
        )
        storage.commit(Commit(erases=[Erase(id="b")], puts=[put("a", revision=2)]))
        before = (storage.identity, storage.changes(0, limit=9), storage.history("a"))
        self.another(home).close()
        storage.close()
        again = self.open(home)
        assert (again.identity, again.changes(0, limit=9), again.history("a")) == before
        assert set(again.scopes()) == {GLOBAL, "s"}
        again.close()
