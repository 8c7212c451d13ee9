"""A reader of the feed, as every index is one: it holds what the store holds."""

from __future__ import annotations

from infinite_memory.model.record import Record
from infinite_memory.protocols import Storage

__all__ = ["FeedReader"]


class FeedReader:
    """Follows the feed of one handle and rebuilds from it what the store holds."""

    def __init__(self) -> None:
        """Begin before the first change."""
        self.cursor = 0
        self.records: dict[str, Record] = {}

    def follow(self, storage: Storage, limit: int) -> None:
        """Read what changed since the last call, in stretches of at most `limit` memories."""
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
