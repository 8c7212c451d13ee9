"""`store.journal`: the changes of a store, and the earlier values of memories and facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from infinite_memory.core.errors import NotFound
from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.entry import Entry
from infinite_memory.core.values.memory import Memory
from infinite_memory.store.lifetime import Group

if TYPE_CHECKING:
    from infinite_memory.core.observe.reads import Read


_PAGE = 256


@measure_calls("journal.")
class Journal(Group):
    """The journal of a store: an entry for every change, numbered from 1, and never changed itself.

    Every earlier revision of a memory is kept as well, and so is every value that a key had.
    """

    def __iter__(self) -> Iterator[Entry]:
        """Yield every entry, newest first; they are read in pages."""
        from infinite_memory.engine.journal import log

        before: int | None = None
        while page := log(self._services, limit=_PAGE, before=before, memory_id=None):
            yield from page
            before = page[-1].number

    def __getitem__(self, number: int) -> Entry:
        """Return the entry of that number.

        Raises:
            InvalidInput: the number is not a whole number, or less than 1.
            NotFound: there is none.
            StoreDamaged: the entry is damaged.
        """
        check_count(number, "number", low=1, high=2**62 - 1)
        for entry in self.entries(limit=1, before=number + 1):
            if entry.number == number:
                return entry
        raise NotFound(f"the journal has no entry {number}: `entries` lists its numbers")

    def entries(
        self, *, limit: int = 20, before: int | None = None, memory_id: str | None = None
    ) -> list[Entry]:
        """Return entries, newest first: the author, the time and the steps of every change.

        `before` is the number of an entry: only older entries are returned. With `memory_id` only
        entries are returned that changed that memory.

        Raises:
            InvalidInput: a value cannot be used.
            StoreDamaged: an entry is damaged.
        """
        from infinite_memory.engine.journal import log

        return log(self._services, limit=limit, before=before, memory_id=memory_id)

    def history(self, id_or_key: str, *, scope: str | Iterable[str] | None = None) -> list[Memory]:
        """Return the history of an id or a key, oldest first, by when the memories began to hold.

        For an id: every revision of that memory, and of all memories that it replaced or that
        replaced it. For a key: every memory that had it in the scopes, except forgotten ones. An id
        is looked for only without a `scope`, and before a key; the ending of an id after a key.

        Raises:
            NotFound: no memory has that id, and none in the scopes has that key.
            UnknownScope: a scope was asked for that does not exist.
        """
        from infinite_memory.engine.retrieval.history import history

        memories = history(self._services, id_or_key, scope=scope)
        self._services.note_read(memories)
        return memories

    def conflicts(self, *, scope: str | Iterable[str] | None = None) -> list[tuple[Memory, ...]]:
        """Return groups of current memories of the same key and scope that contradict each other.

        The memories of a group hold at the same time, with different texts: they began at the same
        moment, or a memory was revised or brought back since. To decide, revise a memory, or
        remember a new memory that `supersedes` the rest.

        Raises:
            UnknownScope: a scope was asked for that does not exist.
        """
        from infinite_memory.engine.retrieval.history import conflicts

        groups = conflicts(self._services, scope=scope)
        self._services.note_read(memory for group in groups for memory in group)
        return groups

    def reads(
        self, *, limit: int = 20, memory_id: str | None = None, client: str | None = None
    ) -> list[Read]:
        """Return recorded reads, newest first: who was shown which memories, and when.

        Reads are recorded while `config.audit.reads` is true, beside the journal, so that nothing
        of them is undone or verified. With `memory_id` only reads that showed that memory are
        returned, with `client` only reads by that client.

        Raises:
            InvalidInput: a value cannot be used.
        """
        from infinite_memory.engine.reads import list_reads

        return list_reads(self._services, limit=limit, memory_id=memory_id, client=client)
