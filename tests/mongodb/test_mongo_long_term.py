"""Long-term memories over MongoDB: one of a name, approvals, firings, and what another adds."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from mongo_servers import Deployment

from infinite_memory import MemoryStore, Outcome
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.testing.embedders import HashingEmbedder

pytestmark = pytest.mark.slow("mongodb")

RULE = {"any_of": ["birthday"], "most_firings": 1}
SAID = [{"role": "user", "content": "a birthday"}]


def names(store: MemoryStore) -> list[str]:
    return [memory.name for memory in store.triggers.activate(SAID).activated]


def test_two_clients_share_names_approvals_and_firings(either: Deployment, tmp_path: Path) -> None:
    address = either.address_of(tmp_path)
    with (
        closing(open_mongodb(address)) as first,
        closing(open_mongodb(address)) as second,
        MemoryStore.open(storage=first, embedder=HashingEmbedder()) as store,
        MemoryStore.open(storage=second, embedder=HashingEmbedder()) as other,
    ):
        assert store.triggers.add("生日", "tulips", RULE).outcome is Outcome.STORED
        assert other.triggers.add("生日", "roses", RULE).outcome is Outcome.REVISED
        assert names(store) == ["生日"]
        assert names(other) == []
        copied = store.get(store.triggers.list()[0].id)
        other.remember("forged", kind="reminder", title="forged", context=copied.context)
        assert names(store) == []
        other.triggers.enable("forged")
        assert names(store) == ["forged"]
        other.undo()
        disabled = [memory.name for memory in store.triggers.list() if not memory.enabled]
        assert disabled == ["forged"]
        store.triggers.delete("生日")
        store.triggers.add("生日", "tulips", RULE)
        assert names(other) == ["生日"]
    either.drop(tmp_path)
