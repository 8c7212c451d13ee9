"""What a storage lists from an index or keeps as a count, and what is done without that."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from infinite_memory.core.protocols import (
    Storage,
    SupportsKeys,
    SupportsTagCounts,
    SupportsUsageChanges,
)
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Status

_READ = 1_000


def list_keys(storage: Storage, scopes: Collection[str], *, limit: int) -> list[str]:
    """Return at most `limit` keys of the current memories in `scopes`, in ascending order.

    A storage that does not list keys gives those of the thousand newest memories with a key.
    """
    if isinstance(storage, SupportsKeys):
        return storage.keys(scopes, limit=limit)
    criteria = Criteria(scopes=frozenset(scopes), statuses=frozenset({Status.CURRENT}), keyed=True)
    page = storage.find(criteria, limit=_READ)
    return sorted({str(memory.key) for memory in page.memories})[:limit]


def count_tags(
    storage: Storage, scopes: Collection[str] | None, at: datetime
) -> dict[str, int] | None:
    """Return the counts of `SupportsTagCounts.count_tags`, None without the power."""
    return storage.count_tags(scopes, at) if isinstance(storage, SupportsTagCounts) else None


def usage_changes(storage: Storage, after: int, *, limit: int) -> tuple[list[str], int] | None:
    """Return the changes of `SupportsUsageChanges.usage_changes`, None without the power."""
    feed = storage if isinstance(storage, SupportsUsageChanges) else None
    return None if feed is None else feed.usage_changes(after, limit=limit)
