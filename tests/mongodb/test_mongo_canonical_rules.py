"""A change of what search takes for equal leaves everything on MongoDB as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from mongo_servers import Deployment

from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from tests.engine.canonical_rules import change_rule, check_store, make_store

pytestmark = pytest.mark.slow("mongodb")


def test_a_store_made_under_one_rule_is_sound_under_another(
    single: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_store() -> MemoryStore:
        address = single.address_of(tmp_path)
        return MemoryStore.open(address, config=Config(home=tmp_path), embedder=HashingEmbedder())

    try:
        with open_store() as store:
            make_store(store)
        change_rule(monkeypatch)
        with open_store() as store:
            check_store(store)
    finally:
        single.drop(tmp_path)
