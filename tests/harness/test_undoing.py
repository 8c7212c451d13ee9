"""Short random sequences, undone to nothing; benchmarks/soak/undo.py runs a thousand long ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.sqlite import SqliteStorage

from .undoing import run_sequence


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_a_random_sequence_is_undone_to_nothing(seed: int, *, free: bool) -> None:
    storage = InMemoryStorage()
    outcome = run_sequence(seed, 100, lambda: storage, free=free)
    assert outcome.faults == ()
    assert outcome.undone > 10


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", [100, 101])
def test_a_random_sequence_on_disk_is_undone_to_nothing(
    tmp_path: Path, seed: int, *, free: bool
) -> None:
    outcome = run_sequence(seed, 60, lambda: SqliteStorage.open(tmp_path), free=free)
    assert outcome.faults == ()
    assert outcome.undone > 5
