"""The keys in a storage, listed by the storage itself or read from its newest memories."""

from __future__ import annotations

from collections.abc import Collection

from infinite_memory.core.protocols import Storage, SupportsKeys
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
