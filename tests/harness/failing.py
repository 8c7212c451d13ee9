"""A storage that fails at one of its calls, to see what an operation leaves half done."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Entry, JournalEnd
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Changes, Page, Record, Size, Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.keys import list_keys


class FailingStorage:
    """Hands every call on to `inner`; the one numbered `fail_at`, from 1, raises.

    It raises `StorageUnavailable` "before" the call is carried out, or "after" it was: then its
    outcome is unknown to the caller. 0 never fails. `calls` counts them, to learn how many points
    of failure an operation has.
    """

    def __init__(
        self, inner: Storage, fail_at: int = 0, when: Literal["before", "after"] = "before"
    ) -> None:
        self.inner = inner
        self.fail_at = fail_at
        self.when = when
        self.calls = 0

    def _count(self, name: str, when: Literal["before", "after"]) -> None:
        if when == "before":
            self.calls += 1
        if self.calls == self.fail_at and when == self.when:
            raise StorageUnavailable(
                f"simulated: {name}, call {self.calls}, failed {when} it was carried out"
            )

    @property
    def identity(self) -> str:
        """The UUID of the storage within; asking for it never fails."""
        return self.inner.identity

    def commit(self, commit: Commit) -> int:
        self._count("commit", "before")
        result = self.inner.commit(commit)
        self._count("commit", "after")
        return result

    def get(
        self, ids: Collection[str], *, models: Collection[str] | None = None
    ) -> dict[str, Record]:
        self._count("get", "before")
        result = self.inner.get(ids, models=models)
        self._count("get", "after")
        return result

    def find(self, criteria: Criteria, *, limit: int, after: str | None = None) -> Page:
        self._count("find", "before")
        result = self.inner.find(criteria, limit=limit, after=after)
        self._count("find", "after")
        return result

    def history(self, memory_id: str) -> list[Memory]:
        self._count("history", "before")
        result = self.inner.history(memory_id)
        self._count("history", "after")
        return result

    def erased(self, ids: Collection[str]) -> frozenset[str]:
        self._count("erased", "before")
        result = self.inner.erased(ids)
        self._count("erased", "after")
        return result

    def find_ids(self, endings: Collection[str]) -> dict[str, str]:
        self._count("find_ids", "before")
        result = self.inner.find_ids(endings)
        self._count("find_ids", "after")
        return result

    def keys(self, scopes: Collection[str], *, limit: int) -> list[str]:
        self._count("keys", "before")
        result = list_keys(self.inner, scopes, limit=limit)
        self._count("keys", "after")
        return result

    def changes(self, after: int, *, limit: int, models: Collection[str] | None = None) -> Changes:
        self._count("changes", "before")
        result = self.inner.changes(after, limit=limit, models=models)
        self._count("changes", "after")
        return result

    def position(self) -> int:
        self._count("position", "before")
        result = self.inner.position()
        self._count("position", "after")
        return result

    def active_model(self) -> str | None:
        self._count("active_model", "before")
        result = self.inner.active_model()
        self._count("active_model", "after")
        return result

    def pending(self, model: str, *, limit: int) -> list[str]:
        self._count("pending", "before")
        result = self.inner.pending(model, limit=limit)
        self._count("pending", "after")
        return result

    def scopes(self) -> Mapping[str, Scope]:
        self._count("scopes", "before")
        result = self.inner.scopes()
        self._count("scopes", "after")
        return result

    def access_keys(self, ids: Collection[str] | None = None) -> dict[str, AccessKey]:
        self._count("access_keys", "before")
        result = self.inner.access_keys(ids)
        self._count("access_keys", "after")
        return result

    def links(self, ids: Collection[str]) -> list[Link]:
        self._count("links", "before")
        result = self.inner.links(ids)
        self._count("links", "after")
        return result

    def journal(
        self, *, before: int | None = None, limit: int, memory_id: str | None = None
    ) -> list[Entry]:
        self._count("journal", "before")
        result = self.inner.journal(before=before, limit=limit, memory_id=memory_id)
        self._count("journal", "after")
        return result

    def journal_end(self) -> JournalEnd:
        self._count("journal_end", "before")
        result = self.inner.journal_end()
        self._count("journal_end", "after")
        return result

    def usage(self, ids: Collection[str]) -> dict[str, Usage]:
        self._count("usage", "before")
        result = self.inner.usage(ids)
        self._count("usage", "after")
        return result

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        self._count("count_usage", "before")
        self.inner.count_usage(used)
        self._count("count_usage", "after")

    def measure(self) -> Size:
        self._count("measure", "before")
        result = self.inner.measure()
        self._count("measure", "after")
        return result

    def scrub(self) -> bool:
        self._count("scrub", "before")
        result = self.inner.scrub()
        self._count("scrub", "after")
        return result

    def close(self) -> None:
        """Close the storage within; closing never fails."""
        self.inner.close()
