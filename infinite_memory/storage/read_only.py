"""A storage that reads the storage that it wraps, and refuses every commit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from datetime import datetime

from infinite_memory.core.errors import ReadOnly
from infinite_memory.core.protocols import Storage, SupportsDamage, limit_to_brief_calls
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Entry, JournalEnd
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Changes, Page, Record, Size, Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.verification import Finding
from infinite_memory.storage.keys import count_tags, list_keys, usage_changes


class ReadOnlyStorage:
    """Implements `Storage` over a second storage, which it never changes."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner

    @property
    def identity(self) -> str:
        """The UUID of the store."""
        return self._inner.identity

    def commit(self, commit: Commit) -> int:
        """Refuse `commit`, unless it is empty.

        Raises:
            ReadOnly: always, except for an empty commit.
        """
        if commit.is_empty:
            return self._inner.position()
        raise _make_refusal()

    def get(
        self, ids: Collection[str], *, models: Collection[str] | None = None
    ) -> dict[str, Record]:
        """Return the records of `ids`; see `Storage.get`."""
        return self._inner.get(ids, models=models)

    def find(self, criteria: Criteria, *, limit: int, after: str | None = None) -> Page:
        """Return a page of memories, newest first; see `Storage.find`."""
        return self._inner.find(criteria, limit=limit, after=after)

    def history(self, memory_id: str) -> list[Memory]:
        """Return every revision of a memory; see `Storage.history`."""
        return self._inner.history(memory_id)

    def erased(self, ids: Collection[str]) -> frozenset[str]:
        """Return the ids among `ids` that were erased; see `Storage.erased`."""
        return self._inner.erased(ids)

    def find_ids(self, endings: Collection[str]) -> dict[str, str]:
        """Return the ids that end with any of `endings`; see `Storage.find_ids`."""
        return self._inner.find_ids(endings)

    def changes(self, after: int, *, limit: int, models: Collection[str] | None = None) -> Changes:
        """Return the changes since the cursor `after`; see `Storage.changes`."""
        return self._inner.changes(after, limit=limit, models=models)

    def position(self) -> int:
        """Return the cursor behind the last change."""
        return self._inner.position()

    def active_model(self) -> str | None:
        """Return the model that answers; see `Storage.active_model`."""
        return self._inner.active_model()

    def pending(self, model: str, *, limit: int) -> list[str]:
        """Return ids of memories without an embedding by `model`; see `Storage.pending`."""
        return self._inner.pending(model, limit=limit)

    def scopes(self) -> Mapping[str, Scope]:
        """Return every scope by name."""
        return self._inner.scopes()

    def access_keys(self, ids: Collection[str] | None = None) -> dict[str, AccessKey]:
        """Return the access keys `ids` by id, None for all; see `Storage.access_keys`."""
        return self._inner.access_keys(ids)

    def links(self, ids: Collection[str]) -> list[Link]:
        """Return every link from or to the memories `ids`; see `Storage.links`."""
        return self._inner.links(ids)

    def journal(
        self, *, before: int | None = None, limit: int, memory_id: str | None = None
    ) -> list[Entry]:
        """Return entries of the journal, newest first; see `Storage.journal`."""
        return self._inner.journal(before=before, limit=limit, memory_id=memory_id)

    def journal_end(self) -> JournalEnd:
        """Return the number and the digest of the last entry; see `Storage.journal_end`."""
        return self._inner.journal_end()

    def usage(self, ids: Collection[str]) -> dict[str, Usage]:
        """Return how often the memories in `ids` were used; see `Storage.usage`."""
        return self._inner.usage(ids)

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Refuse the counts in `used`, unless there are none.

        Raises:
            ReadOnly: there are counts.
        """
        if used:
            raise _make_refusal()

    def measure(self) -> Size:
        """Count the stored records."""
        return self._inner.measure()

    def scrub(self) -> bool:
        """Remove the bytes of erased memories, which changes nothing that can be read."""
        return self._inner.scrub()

    def keys(self, scopes: Collection[str], *, limit: int) -> list[str]:
        """Return the first keys of the current memories in `scopes`; see `SupportsKeys.keys`."""
        return list_keys(self._inner, scopes, limit=limit)

    def count_tags(self, scopes: Collection[str] | None, at: datetime) -> dict[str, int] | None:
        """Count the tags; see `SupportsTagCounts.count_tags`."""
        return count_tags(self._inner, scopes, at)

    def usage_changes(self, after: int, *, limit: int) -> tuple[list[str], int] | None:
        """Return what was used since; see `SupportsUsageChanges.usage_changes`."""
        return usage_changes(self._inner, after, limit=limit)

    def damage(self) -> tuple[Finding, ...]:
        """Return the damage that was found; see `SupportsDamage.damage`."""
        return self._inner.damage() if isinstance(self._inner, SupportsDamage) else ()

    def brief_calls(self) -> AbstractContextManager[None]:
        """Keep the calls of this thread from waiting for a server; see `SupportsBriefCalls`."""
        return limit_to_brief_calls(self._inner)

    def close(self) -> None:
        """Close the storage below. Closing twice does nothing."""
        self._inner.close()


def _make_refusal() -> ReadOnly:
    return ReadOnly("this store was opened for reading only: nothing was changed")
