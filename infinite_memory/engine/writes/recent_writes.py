"""Which memory was stored last in a scope, by the newest entries of the journal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from attrs import frozen

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.entry import Entry, Operation
from infinite_memory.core.values.record import Record

_FIRST_PAGE = 10
_PAGE = 100
_MAX_ENTRIES = 1000
_MAX_MEMORIES = 1000
_UNTOLD = frozenset({Operation.UPKEEP, Operation.DREAM})


@frozen
class _Written:
    """A memory that an entry wrote; `scopes` are all scopes it was ever in, None if it is gone."""

    id: str
    is_new: bool
    scopes: frozenset[str] | None

    def touches(self, scopes: Collection[str]) -> bool:
        return self.scopes is None or not self.scopes.isdisjoint(scopes)


class RecentWrites:
    """The newest writes of a store, as any process made them, read only as far back as needed."""

    def __init__(self, storage: Storage) -> None:
        """Read the journal of `storage` when first asked."""
        self._storage = storage
        self._read: list[Sequence[_Written]] = []
        self._unread = self._read_entries()

    def stored_last(self, scopes: Collection[str]) -> str | None:
        """Return the id of the memory whose storing was the last change in any scope of `scopes`.

        What the upkeep and the dreamer did in between does not count, since nobody told it.

        Return None if the last change was of another kind, if the memory is erased by now, if
        1,000 entries or 1,000 memories were written in other scopes since, or if the journal is
        damaged.
        """
        for writes in self._newest_first():
            here = [write for write in writes if write.touches(scopes)]
            if here:
                new = [write.id for write in here if write.is_new and write.scopes is not None]
                return new[-1] if new else None
        return None

    def _newest_first(self) -> Iterator[Sequence[_Written]]:
        yield from tuple(self._read)
        for writes in self._unread:
            self._read.append(writes)
            yield writes

    def _read_entries(self) -> Iterator[Sequence[_Written]]:
        memories = 0
        try:
            for entry in self._entries():
                ids = [step.id for step in entry.action.memories if step.after > 0]
                memories += len(ids)
                if memories > _MAX_MEMORIES:
                    return
                records = self._storage.get(ids, models=()) if ids else {}
                yield [
                    _Written(step.id, step.before == 0, self._scopes_of(records.get(step.id)))
                    for step in entry.action.memories
                    if step.after > 0
                ]
        except StoreDamaged:
            # The damaged entries are unknown, which must not keep a new memory from being stored.
            return

    def _entries(self) -> Iterator[Entry]:
        before: int | None = None
        read = 0
        while read < _MAX_ENTRIES:
            page = self._storage.journal(before=before, limit=_PAGE if read else _FIRST_PAGE)
            yield from (entry for entry in page if entry.action.operation not in _UNTOLD)
            if not page:
                return
            before, read = page[-1].number, read + len(page)

    def _scopes_of(self, record: Record | None) -> frozenset[str] | None:
        if record is None:
            return None
        if record.memory.revision == 1:
            return frozenset({record.memory.scope})
        # It may have been moved since.
        return frozenset(revision.scope for revision in self._storage.history(record.memory.id))
