"""Secrets that are stored on MongoDB are masked in every revision, and the rest stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from mongo_servers import Deployment

from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

pytestmark = pytest.mark.slow("mongodb")
KEY = "AKIAQRSTUVWX23456722"


def test_secrets_are_masked_in_every_revision(single: Deployment, tmp_path: Path) -> None:
    address = single.address_of(tmp_path)
    try:
        with MemoryStore.open(
            address, config=Config(home=tmp_path), embedder=HashingEmbedder()
        ) as store:
            memory = store.remember(f"The key is {KEY}", tags=["a"])
            other = store.remember("The other memory")
            store.revise(memory.id, revision=1, title="Gateway")
            store.graph.link(memory.id, other.id, type="semantic")
            links = store.graph.links(memory.id)
            assert store.bulk.mask_secrets().ids == (memory.id,)
            history = store.journal.history(memory.id)
            assert [(each.revision, each.title) for each in history] == [(1, None), (2, "Gateway")]
            assert {each.text for each in history} == {"The key is [secret: AWS access key]"}
            assert store.graph.links(memory.id) == links
            assert store.verify().sound
            assert store.bulk.mask_secrets().ids == ()
    finally:
        single.drop(tmp_path)
