"""Memories that are kept out of the index: stored and read back, and found by no search."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from infinite_memory import Config, LinearSearch, MemoryStore
from infinite_memory.core.protocols import SearchFactory
from infinite_memory.core.values.receipt import Searchable
from infinite_memory.testing.embedders import HashingEmbedder

OpenStore = Callable[..., MemoryStore]
KEPT = {"indexed": False}


@pytest.mark.parametrize("search", [None, LinearSearch])
def test_a_memory_that_is_not_indexed_is_stored_and_found_by_no_search(
    search: SearchFactory | None, tmp_path: Path
) -> None:
    config = Config(home=tmp_path)
    with MemoryStore.open(
        "memory://", config=config, embedder=HashingEmbedder(), search=search
    ) as store:
        check_that_it_is_only_kept(store)


def check_that_it_is_only_kept(store: MemoryStore) -> None:
    receipt = store.remember("The violet lighthouse", context=KEPT)
    assert receipt.searchable is Searchable.NOT
    assert receipt.similar == ()
    assert store.get(receipt.id).text == "The violet lighthouse"
    assert list(store.search("violet lighthouse")) == []
    assert list(store.search("violet lighthouse", depth="exhaustive")) == []
    absence = store.why_not("violet lighthouse", receipt.id)
    assert "kept out of the index" in absence.reason


def test_it_does_not_wait_for_the_model(open_store: OpenStore) -> None:
    store = open_store()
    store.remember("The violet lighthouse", context=KEPT)
    store.remember("A note that is found")
    assert store.models.catch_up() == 0


def test_the_index_agrees_with_a_store_that_keeps_memories_out_of_it(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        store.remember_many([{"text": f"note {number}"} for number in range(600)])
        store.remember("The violet lighthouse", context=KEPT)
        assert store.search("note")
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        verified = store.verify()
    assert verified.counts["indexed"] == 600
    assert verified.findings == ()


def test_a_revision_takes_a_memory_out_of_the_index_and_back(open_store: OpenStore) -> None:
    store = open_store()
    receipt = store.remember("The violet lighthouse")
    hidden = store.revise(receipt.id, revision=1, context=KEPT)
    assert hidden.searchable is Searchable.NOT
    assert list(store.search("violet lighthouse")) == []
    store.revise(receipt.id, revision=2, context={})
    assert [hit.memory.id for hit in store.search("violet lighthouse")] == [receipt.id]
