"""How fast the SQLite storage is: a commit beside a bare insert, bulk writes, and the feed.

Run with `pytest benchmarks/test_storage_speed.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import apsw
import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding
from infinite_memory.storage.sqlite import SqliteStorage

_START = datetime(2026, 1, 1, tzinfo=UTC)
_TEXT = "The deadline of project Apollo is June 5, and Alice keeps the list of what is left to do."
_VECTORS = np.random.default_rng(0).standard_normal((100, 1, 384)).astype(np.float32)
_FEED = 20_000


def _put(number: int, *, embedded: bool) -> Put:
    at = _START + timedelta(seconds=number)
    memory = Memory(id=f"memory-{number:09}", text=_TEXT, happened_at=at, stored_at=at)
    embedding = Embedding(
        model="all-MiniLM-L6-v2",
        spans=np.array([[0, len(_TEXT)]], dtype=np.int32),
        vectors=_VECTORS[number % 100],
    )
    return Put(memory=memory, expected=0, embeddings=(embedding,) if embedded else ())


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SqliteStorage]:
    storage = SqliteStorage.open(tmp_path / "store")
    yield storage
    storage.close()


@pytest.mark.benchmark(group="one small commit")
def test_bare_insert_with_a_full_commit(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "bare.db"))
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", 2)
    connection.execute("CREATE TABLE memories (id TEXT UNIQUE, text TEXT, at INTEGER)")
    numbers = count()
    benchmark.pedantic(
        lambda: connection.execute(
            "INSERT INTO memories VALUES (?, ?, ?)", (f"memory-{next(numbers):09}", _TEXT, 1)
        ),
        rounds=1000,
        warmup_rounds=50,
    )
    connection.close()


@pytest.mark.benchmark(group="one small commit")
def test_commit_of_one_memory(benchmark: BenchmarkFixture, storage: SqliteStorage) -> None:
    numbers = count()
    benchmark.pedantic(
        lambda write: storage.commit(Commit(puts=[write])),
        setup=lambda: ((_put(next(numbers), embedded=False),), {}),
        rounds=1000,
        warmup_rounds=50,
    )


@pytest.mark.benchmark(group="512 memories with vectors in one commit")
def test_commit_of_512_memories(benchmark: BenchmarkFixture, storage: SqliteStorage) -> None:
    numbers = count()

    def batch() -> tuple[tuple[Commit], dict[str, object]]:
        return (Commit(puts=[_put(next(numbers), embedded=True) for _ in range(512)]),), {}

    benchmark.pedantic(storage.commit, setup=batch, rounds=20, warmup_rounds=1)


@pytest.mark.benchmark(group="feed of 20,000 memories with vectors")
def test_feed(benchmark: BenchmarkFixture, storage: SqliteStorage) -> None:
    for start in range(0, _FEED, 512):
        storage.commit(
            Commit(puts=[_put(number, embedded=True) for number in range(start, start + 512)])
        )

    def read() -> int:
        cursor = seen = 0
        while stretch := storage.changes(cursor, limit=2000):
            if not stretch.items:
                break
            seen += len(stretch.items)
            cursor = stretch.cursor
        return seen

    assert benchmark.pedantic(read, rounds=3, warmup_rounds=1) >= _FEED


@pytest.mark.benchmark(group="position")
def test_position(benchmark: BenchmarkFixture, storage: SqliteStorage) -> None:
    storage.commit(Commit(puts=[_put(0, embedded=False)]))
    assert benchmark(storage.position) == 1
