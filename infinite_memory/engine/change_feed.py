"""The whole change feed, page by page."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.record import Change

_BATCH = 1000


def every_change(storage: Storage, after: int, models: Collection[str] | None) -> Iterator[Change]:
    """Yield every change since the cursor `after`, with embeddings by `models`."""
    while True:
        changes = storage.changes(after, limit=_BATCH, models=models)
        yield from changes.items
        # A page of damaged changes has no items, but its cursor still advances.
        if changes.cursor <= after:
            return
        after = changes.cursor
