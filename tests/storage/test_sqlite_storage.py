from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.sqlite import SqliteStorage, creation
from infinite_memory.testing.storage_contract import StorageContract, put
from infinite_memory.testing.storage_machine import storage_machine


class TestSqliteStorage(StorageContract):
    def open(self, home: Path) -> Storage:
        return SqliteStorage.open(home)


@pytest.mark.thorough
def test_any_walk_over_sqlite_ends_where_the_reference_does() -> None:
    machine = storage_machine(SqliteStorage.open, shared=True)
    walks = settings(max_examples=25, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(machine, settings=walks)


def page_bytes(home: Path) -> int:
    connection = apsw.Connection(str(home / "memory.db"))
    try:
        return int(connection.pragma("page_size"))
    finally:
        connection.close()


def test_a_new_store_has_small_pages(tmp_path: Path) -> None:
    SqliteStorage.open(tmp_path).close()
    assert page_bytes(tmp_path) == creation.PAGE_BYTES == 2048


@pytest.mark.parametrize("size", [1024, 4096, 65536])
def test_a_store_keeps_the_pages_that_it_was_made_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    with monkeypatch.context() as older:
        older.setattr(creation, "PAGE_BYTES", size)
        SqliteStorage.open(tmp_path).close()
    storage = SqliteStorage.open(tmp_path, checkpoint_pages=3)
    for number in range(20):
        storage.commit(Commit(puts=[put(f"m{number}", text="x" * 3000)]))
    storage.close()
    storage = SqliteStorage.open(tmp_path)
    assert storage._database._writer._checkpoint_pages * size == 4 << 20
    assert len(storage.changes(0, limit=100).items) == 20
    assert storage.verify().sound
    storage.close()
    assert page_bytes(tmp_path) == size
