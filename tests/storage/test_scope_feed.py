"""The feed of one scope in SQLite."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
from scope_feeds import check_scope_feed

from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract import make_memory
from tests.harness.costs import collect_statements


def test_the_feed_of_a_scope_tells_what_the_whole_feed_tells_of_it(tmp_path: Path) -> None:
    with closing(SqliteStorage.open(tmp_path)) as storage:
        check_scope_feed(storage)


def test_a_damaged_memory_is_left_out_of_the_feed_of_its_scope(tmp_path: Path) -> None:
    with closing(SqliteStorage.open(tmp_path)) as storage:
        memories = [make_memory(f"m{n}", scope="here") for n in range(9)]
        storage.commit(Commit(scopes=[Scope(name="here")]))
        for memory in memories:
            storage.commit(Commit(puts=[Put(memory=memory, expected=0)]))
        with closing(apsw.Connection(str(tmp_path / "memory.db"))) as damaging:
            damaging.execute("UPDATE memories SET text = 'x' WHERE id IN ('m3', 'm4')")
        for limit in (3, 100):
            after, seen = 0, list[str]()
            while after < storage.position():
                changes, held = storage.changes_in("here", after, limit=limit, models=())
                seen += [change.id for change in changes.items]
                assert held == 9
                after = changes.cursor
            assert seen == ["m0", "m1", "m2", "m5", "m6", "m7", "m8"]


def test_the_feed_of_a_scope_is_read_by_the_index_that_has_fewer_rows(tmp_path: Path) -> None:
    with collect_statements() as statements, closing(SqliteStorage.open(tmp_path)) as storage:
        storage.commit(Commit(scopes=[Scope(name=name) for name in ("here", "there")]))
        for n in range(60):
            memory = make_memory(f"m{n}", scope="here" if n % 6 == 0 else "there")
            storage.commit(Commit(puts=[Put(memory=memory, expected=0)]))
        for after, index in ((0, "memories_by_scope (scope=?)"), (55, "(sequence>?)")):
            statements.clear()
            storage.changes_in("here", after, limit=5, models=())
            ((sql, bindings),) = [each for each in statements if "ORDER BY m.sequence" in each[0]]
            with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
                plan = str(list(connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)))
            assert index in plan
            assert "SCAN" not in plan
