from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest
from attrs import evolve
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.record import Embedding, from_steps, to_steps
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
    assert page_bytes(tmp_path) == creation.PAGE_BYTES == 1024


@pytest.mark.parametrize("size", [2048, 4096, 65536])
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


@pytest.mark.parametrize("dimensions", [1, 2, 8, 384])
def test_vectors_come_back_to_the_bit_and_take_half_where_16_bits_hold_them(
    tmp_path: Path, dimensions: int
) -> None:
    given = np.random.default_rng(1).standard_normal((3, dimensions), np.float32)
    given[0, 0] = -0.0
    rounded = from_steps(*to_steps(given))
    assert (from_steps(*to_steps(rounded)) == rounded).all()
    storage = SqliteStorage.open(tmp_path)
    for name, vectors in (("as given", given), ("rounded", rounded)):
        spans = np.zeros((3, 2), np.int32)
        embedding = Embedding(model="m", spans=spans, vectors=vectors)
        storage.commit(Commit(puts=[evolve(put(name), embeddings=(embedding,))]))
        (found,) = storage.get([name])[name].embeddings
        assert found.vectors.tobytes() == vectors.tobytes()
    storage.close()
    connection = apsw.Connection(str(tmp_path / "memory.db"))
    query = "SELECT length(vectors) FROM embeddings ORDER BY number"
    sizes = [size for (size,) in connection.execute(query)]
    connection.close()
    assert sizes == [12 * dimensions, min(12 * dimensions, 6 * dimensions + 12)]
