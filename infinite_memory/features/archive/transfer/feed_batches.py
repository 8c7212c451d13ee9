"""The change feed of a storage in batches of some megabytes."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.record import Change, Changes

_FIRST_LIMIT = 256
_MOST_LIMIT = 2048
_BATCH_BYTES = 8 << 20


class FeedBatches:
    """The feed of a storage from its beginning to its end, in batches of some megabytes."""

    def __init__(self, storage: Storage, *, models: Collection[str] | None = None) -> None:
        """Read the memories with their embeddings by `models`, or by all models for None."""
        self._storage = storage
        self._models = models

    def __iter__(self) -> Iterator[Changes]:
        """Yield the batches; the storage reads a batch when the caller asks for it."""
        limit = _FIRST_LIMIT
        cursor = 0
        while True:
            changes = self._storage.changes(cursor, limit=limit, models=self._models)
            # A batch of damaged memories has no items, but it moves the cursor.
            if changes.cursor <= cursor:
                return
            yield changes
            cursor = changes.cursor
            size = sum(map(_estimate_size, changes.items)) // max(1, len(changes.items))
            limit = max(1, min(_MOST_LIMIT, 2 * limit, _BATCH_BYTES // max(1, size)))


def _estimate_size(change: Change) -> int:
    if change.record is None:
        return 0
    vectors = sum(embedding.vectors.nbytes for embedding in change.record.embeddings)
    return 2 * len(change.record.memory.text) + 1000 + vectors
