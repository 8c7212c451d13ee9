"""Shared by the tests of the storage contract: values, and the opening of a store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding, Record

__all__ = ["NOW", "FeedReader", "StorageTests", "make_embedding", "make_link", "make_memory", "put"]

NOW = datetime(2026, 6, 5, 12, 30, 15, 123456, tzinfo=UTC)


def make_memory(memory_id: str, **fields: Any) -> Memory:
    """Return a memory with plain values for every field that is not given."""
    values = {"text": f"text of {memory_id}", "happened_at": NOW, "stored_at": NOW, **fields}
    return Memory(id=memory_id, **values)


def make_embedding(seed: int = 0, *, passages: int = 2, model: str = "model-a") -> Embedding:
    """Return an embedding of random numbers that depend on `seed` alone."""
    numbers = np.random.default_rng(seed)
    return Embedding(
        model=model,
        spans=numbers.integers(0, 1000, (passages, 2)).astype(np.int32),
        vectors=numbers.standard_normal((passages, 8)).astype(np.float32),
    )


def make_link(source: str, target: str, **fields: Any) -> Link:
    """Return a link between two memories, semantic unless `fields` has a type."""
    values = {"type": LinkType.SEMANTIC, "made_at": NOW, **fields}
    return Link(source=source, target=target, **values)


def put(
    memory_id: str,
    *,
    embedding: Embedding | None = None,
    embeddings: tuple[Embedding, ...] = (),
    **fields: Any,
) -> Put:
    """Return the write that stores `make_memory` as new, or as the revision in `fields`.

    Give an `embedding` or several `embeddings`.
    """
    memory = make_memory(memory_id, **fields)
    made = embeddings if embedding is None else (embedding,)
    return Put(memory=memory, expected=memory.revision - 1, embeddings=made)


class FeedReader:
    """Follows the feed of a handle and rebuilds the contents of the store from it."""

    def __init__(self) -> None:
        """Begin before the first change."""
        self.cursor = 0
        self.records: dict[str, Record] = {}

    def follow(self, storage: Storage, limit: int) -> None:
        """Read the changes since the last call, in pages of at most `limit` memories."""
        while True:
            changes = storage.changes(self.cursor, limit=limit)
            for change in changes.items:
                if change.record is None:
                    self.records.pop(change.id, None)
                else:
                    self.records[change.id] = change.record
            assert changes.cursor >= self.cursor
            if changes.cursor == self.cursor:
                return
            self.cursor = changes.cursor


class StorageTests:
    """Tests of a backend; `shared` says that a second `open` of a folder opens the same store.

    `orders_later` says that a commit may return 0 for a cursor that `position` tells afterwards.
    """

    shared: ClassVar[bool] = True
    orders_later: ClassVar[bool] = False

    def commit(self, storage: Storage, commit: Commit) -> int:
        """Commit, and return the cursor after it, which the commit must have returned."""
        cursor = storage.commit(commit)
        position = storage.position()
        assert cursor == position or (self.orders_later and cursor == 0)
        return position

    def open(self, home: Path) -> Storage:
        """Open the store in `home`, or create it if there is none."""
        raise NotImplementedError

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        """Return the folder of the store."""
        return tmp_path / "home"

    @pytest.fixture
    def storage(self, home: Path) -> Iterator[Storage]:
        """Open a new store."""
        storage = self.open(home)
        yield storage
        storage.close()

    def another(self, home: Path) -> Storage:
        """Open a second handle, or skip the test where there can be none."""
        if not self.shared:
            pytest.skip("a store of this backend has one handle")
        return self.open(home)
