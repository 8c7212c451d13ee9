from __future__ import annotations

from pathlib import Path

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from infinite_memory.protocols import Storage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract import StorageContract
from infinite_memory.testing.storage_machine import storage_machine


class TestSqliteStorage(StorageContract):
    def open(self, home: Path) -> Storage:
        return SqliteStorage.open(home)


def test_any_walk_over_sqlite_ends_where_the_reference_does() -> None:
    machine = storage_machine(SqliteStorage.open, shared=True)
    walks = settings(max_examples=25, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(machine, settings=walks)
