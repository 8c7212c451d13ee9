"""A change of what search takes for equal leaves everything that is stored as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinite_memory import Config, MemoryStore
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder
from tests.engine.canonical_rules import change_rule, check_store, make_store


def open_store(home: Path) -> MemoryStore:
    return MemoryStore.open(home, embedder=HashingEmbedder())


def test_a_store_made_under_one_rule_is_sound_under_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(tmp_path) as store:
        make_store(store)
    with open_store(tmp_path) as store:
        assert store.verify().counts["indexed"] > 600
    (snapshot,) = (tmp_path / "index").glob("*.index")
    before = snapshot.read_bytes()
    change_rule(monkeypatch)
    with open_store(tmp_path) as store:
        assert store.verify().counts["indexed"] == 0
        check_store(store)
    assert snapshot.read_bytes() != before
    with open_store(tmp_path) as store:
        assert store.verify().counts["indexed"] > 600
        assert store.verify().sound


def test_memories_in_memory_are_sound_under_another_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = InMemoryStorage()
    stores = [
        MemoryStore.open(storage=storage, embedder=HashingEmbedder(), config=Config())
        for _ in range(2)
    ]
    make_store(stores[0])
    change_rule(monkeypatch)
    check_store(stores[1])
    for store in stores:
        store.close()
