"""Exports and imports over MongoDB: what comes out of one storage goes into the other."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from mongo_servers import Deployment

from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Storage
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.testing.embedders import HashingEmbedder

pytestmark = pytest.mark.slow("mongodb")

IDS = ("a", "b", "c")


def open_on(storage: Storage) -> MemoryStore:
    return MemoryStore.open(storage=storage, embedder=HashingEmbedder())


def test_an_export_goes_through_mongodb_unchanged(either: Deployment, tmp_path: Path) -> None:
    one, last = InMemoryStorage(), InMemoryStorage()
    with closing(open_mongodb(either.address_of(tmp_path))) as middle:
        with open_on(one) as store:
            store.remember("Bob likes tea", id="a", key="bob.drink", scope="bob")
            store.remember("Bob likes juice", id="b", key="bob.drink", scope="bob")
            store.remember("=1+1 \\ <!-- end -->", id="c", context={"n": [1, {"x": 2.5}]})
            store.revise("c", revision=1, text="changed")
            store.exchange.export(tmp_path / "one.jsonl")
        with open_on(middle) as store:
            imported = store.exchange.import_from(tmp_path / "one.jsonl")
            assert (imported.added, imported.links) == (3, 1)
            assert store.exchange.import_from(tmp_path / "one.jsonl").unchanged == 3
            store.exchange.export(tmp_path / "middle.jsonl")
            store.undo()
            assert not store.browse(scope="ALL").memories
        with open_on(last) as store:
            store.exchange.import_from(tmp_path / "middle.jsonl")
    assert [last.history(i) for i in IDS] == [one.history(i) for i in IDS]
    assert last.links(IDS) == one.links(IDS)
    either.drop(tmp_path)
