"""A new content for the reference storage."""

from __future__ import annotations

from collections.abc import Callable

from infinite_memory.core.protocols import Storage


class InMemoryReplacement:
    """See `Replacement`."""

    def __init__(self, storage: Storage, replace: Callable[[int, int], None]) -> None:
        """Prepare the content in `storage`; `replace` takes the expected ends and swaps."""
        self.storage = storage
        self._replace = replace

    def swap(self, *, position: int, entries: int) -> None:
        """Put the content in place; see `Replacement.swap`."""
        self._replace(position, entries)
