"""`Storage` in dictionaries under a lock: the reference for every backend."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice, takewhile
from uuid import uuid4

from attrs import define, field

from infinite_memory.core.errors import StoreClosed
from infinite_memory.core.protocols import Replacement, Storage
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Entry, JournalEnd
from infinite_memory.core.values.ids import ending_of
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.record import Change, Changes, Page, Record, Size, Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.verification import Verification, Walked
from infinite_memory.storage.awaited import note_change
from infinite_memory.storage.inmemory.state import State
from infinite_memory.storage.integrity import check_record
from infinite_memory.storage.paging import (
    check_limit,
    decode_cursor,
    encode_cursor,
    position_of,
)
from infinite_memory.storage.preconditions import (
    check_commit,
    refuse_changes,
    refuse_replacement,
)
from infinite_memory.storage.read_only import ReadOnlyStorage


class InMemoryReplacement:
    """See `Replacement`."""

    def __init__(self, storage: Storage, replace: Callable[[int, int], None]) -> None:
        """Prepare the content in `storage`; `replace` takes the expected ends and swaps."""
        self.storage = storage
        self._replace = replace

    def swap(self, *, position: int, entries: int) -> None:
        """Put the content in place; see `Replacement.swap`."""
        self._replace(position, entries)


@define(eq=False)
class Leases:
    """Who holds the lease, and the notes of the jobs."""

    notes: dict[str, str] = field(factory=dict)
    lease: InMemoryLease | None = None
    lock: threading.Lock = field(factory=threading.Lock)

    def add_notes(self, notes: Mapping[str, str]) -> None:
        """Add notes, and remove notes with an empty text."""
        with self.lock:
            merged = {**self.notes, **notes}
            self.notes = {name: text for name, text in merged.items() if text}


@define(eq=False)
class InMemoryLease:
    """A lease that ends when it is released; see `Lease`."""

    number: int
    holder: str
    _leases: Leases

    def renew(self) -> bool:
        """Return whether the lease is still held."""
        return self._leases.lease is self

    def release(self) -> None:
        """Give the lease up; twice does nothing."""
        with self._leases.lock:
            if self._leases.lease is self:
                self._leases.lease = None


class InMemoryStorage:
    """A storage for tests and for memories that need not outlive the process.

    No second object can open the same store, which ends with `close`.
    """

    def __init__(self, state: State | None = None) -> None:
        """Begin with `state`, None for an empty store."""
        self._identity = str(uuid4())
        self._lock = threading.RLock()
        self._closed = False
        self._state = State() if state is None else state
        self._leases = Leases()

    @property
    def identity(self) -> str:
        """The UUID of this store."""
        return self._identity

    def commit(self, commit: Commit) -> int:
        """Carry out all of `commit`, or nothing; see `Storage.commit`."""
        check_commit(commit)
        with self._lock:
            state = self._check_open()
            refuse_changes(commit, state)
            state.apply(commit)
            note_change(commit, state.journal_end.number)
            return state.sequence

    def get(
        self, ids: Collection[str], *, models: Collection[str] | None = None
    ) -> dict[str, Record]:
        """Return the records of `ids`; see `Storage.get`."""
        with self._lock:
            records = self._check_open().records
            return {
                memory_id: _choose_embeddings(records[memory_id], models)
                for memory_id in ids
                if memory_id in records
            }

    def find(self, criteria: Criteria, *, limit: int, after: str | None = None) -> Page:
        """Return a page of memories, newest first; see `Storage.find`."""
        check_limit(limit)
        bound = None if after is None else decode_cursor(after)
        with self._lock:
            candidates = self._check_open().memories(criteria.content_hashes)
        memories = sorted(
            (
                memory
                for memory in candidates
                if criteria.admit(memory) and (bound is None or position_of(memory) < bound)
            ),
            key=position_of,
            reverse=True,
        )
        page = tuple(memories[:limit])
        return Page(memories=page, next=encode_cursor(page[-1]) if len(memories) > limit else None)

    def history(self, memory_id: str) -> list[Memory]:
        """Return every revision of a memory; see `Storage.history`."""
        with self._lock:
            state = self._check_open()
            if memory_id not in state.records:
                return []
            return [*state.earlier.get(memory_id, ()), state.records[memory_id].memory]

    def erased(self, ids: Collection[str]) -> frozenset[str]:
        """Return the ids among `ids` that were erased; see `Storage.erased`."""
        with self._lock:
            state = self._check_open()
            return frozenset(
                memory_id
                for memory_id in ids
                if memory_id in state.changed and memory_id not in state.records
            )

    def find_ids(self, endings: Collection[str]) -> dict[str, str]:
        """Return the ids that end with any of `endings`; see `Storage.find_ids`."""
        with self._lock:
            return {
                memory_id: record.memory.scope
                for memory_id, record in self._check_open().records.items()
                if ending_of(memory_id) in endings
            }

    def keys(self, scopes: Collection[str], *, limit: int) -> list[str]:
        """Return the first keys of the current memories in `scopes`; see `SupportsKeys.keys`."""
        check_limit(limit)
        criteria = Criteria(
            scopes=frozenset(scopes), statuses=frozenset({Status.CURRENT}), keyed=True
        )
        with self._lock:
            memories = [record.memory for record in self._check_open().records.values()]
        keys = {str(memory.key) for memory in memories if criteria.admit(memory)}
        return sorted(keys)[:limit]

    def changes(self, after: int, *, limit: int, models: Collection[str] | None = None) -> Changes:
        """Return the changes since the cursor `after`; see `Storage.changes`."""
        check_limit(limit)
        with self._lock:
            state = self._check_open()
            newest_first = takewhile(lambda item: item[1] > after, reversed(state.changed.items()))
            news = list(newest_first)[::-1]
            items = tuple(
                Change(
                    id=memory_id,
                    record=_choose_embeddings(state.records[memory_id], models)
                    if memory_id in state.records
                    else None,
                )
                for memory_id, _ in news[:limit]
            )
            cursor = news[limit - 1][1] if len(news) > limit else state.sequence
            return Changes(items=items, cursor=cursor)

    def position(self) -> int:
        """Return the cursor behind the last change."""
        with self._lock:
            return self._check_open().sequence

    def active_model(self) -> str | None:
        """Return the model that answers, None before the first; see `Storage.active_model`."""
        with self._lock:
            return self._check_open().active_model

    def pending(self, model: str, *, limit: int) -> list[str]:
        """Return ids of memories without an embedding by `model`; see `Storage.pending`."""
        check_limit(limit)
        with self._lock:
            state = self._check_open()
            waiting = sorted(
                (state.changed[memory_id], memory_id)
                for memory_id, record in state.records.items()
                if record.memory.status is not Status.FORGOTTEN
                and record.embedding_by(model) is None
            )
            return [memory_id for _, memory_id in waiting[:limit]]

    def scopes(self) -> Mapping[str, Scope]:
        """Return every scope by name; `Global` is always among them."""
        with self._lock:
            return self._check_open().scopes()

    def access_keys(self, ids: Collection[str] | None = None) -> dict[str, AccessKey]:
        """Return the access keys `ids` by id, None for all; see `Storage.access_keys`."""
        with self._lock:
            keys = self._check_open().access_keys()
        return keys if ids is None else {i: keys[i] for i in ids if i in keys}

    def links(self, ids: Collection[str]) -> list[Link]:
        """Return every link from or to a memory in `ids`; see `Storage.links`."""
        with self._lock:
            links = self._check_open().links
            return [links[key] for key in sorted(links) if not set(ids).isdisjoint(key[:2])]

    def journal(
        self, *, before: int | None = None, limit: int, memory_id: str | None = None
    ) -> list[Entry]:
        """Return entries of the journal, newest first; see `Storage.journal`."""
        check_limit(limit)
        with self._lock:
            entries = self._check_open().entries
            older = reversed(entries[: None if before is None else max(0, before - 1)])
            return list(
                islice(
                    (
                        entry
                        for entry in older
                        if memory_id is None
                        or any(step.id == memory_id for step in entry.action.memories)
                    ),
                    limit,
                )
            )

    def journal_end(self) -> JournalEnd:
        """Return the number and the digest of the last entry; see `Storage.journal_end`."""
        with self._lock:
            return self._check_open().journal_end

    def usage(self, ids: Collection[str]) -> dict[str, Usage]:
        """Return how often the memories in `ids` were used; see `Storage.usage`."""
        with self._lock:
            usage = self._check_open().usage
            return {memory_id: usage[memory_id] for memory_id in ids if memory_id in usage}

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Add the counts in `used`; see `Storage.count_usage`."""
        with self._lock:
            self._check_open().count_usage(used)

    def measure(self) -> Size:
        """Return the size of the store; `size_bytes` counts texts and vectors alone."""
        with self._lock:
            state = self._check_open()
            memories = [record.memory for record in state.records.values()]
            embeddings = [
                (record.memory.status, embedding)
                for record in state.records.values()
                for embedding in record.embeddings
            ]
            earlier = [memory for versions in state.earlier.values() for memory in versions]
            return Size(
                memories=dict(Counter((m.scope, str(m.kind), str(m.status)) for m in memories)),
                revisions=len(earlier),
                links=len(state.links),
                entries=len(state.entries),
                embedded=dict(
                    Counter(e.model for status, e in embeddings if status is not Status.FORGOTTEN)
                ),
                size_bytes=sum(len(m.text.encode()) for m in memories + earlier)
                + sum(e.spans.nbytes + e.vectors.nbytes for _, e in embeddings),
                oldest=min((m.happened_at for m in memories), default=None),
                newest=max((m.happened_at for m in memories), default=None),
            )

    def scrub(self) -> bool:
        """Do nothing, since the store has no files."""
        with self._lock:
            self._check_open()
        return True

    def verify(self, walked: Walked | None = None) -> Verification:
        """Check everything that is stored; see `SupportsVerify.verify`."""
        with self._lock:
            records = list(self._check_open().records.values())
        if walked is not None:
            walked(len(records), len(records))
        return Verification(
            counts={"memories": len(records)},
            findings=tuple(finding for record in records for finding in check_record(record)),
        )

    @contextmanager
    def snapshot(self) -> Iterator[Storage]:
        """Give a storage with the records of this moment; see `SupportsSnapshot`."""
        with self._lock:
            state = self._check_open().copy()
        frozen = InMemoryStorage(state)
        frozen._identity = self._identity
        yield ReadOnlyStorage(frozen)

    @contextmanager
    def replacement(self) -> Iterator[Replacement]:
        """Give an empty storage that can take the place of this one; see `SupportsReplacement`."""
        with self._lock:
            beside = InMemoryStorage(State(sequence=self._check_open().sequence))
        beside._identity = self._identity
        yield InMemoryReplacement(beside, lambda *end: self._replace(beside, *end))

    def _replace(self, beside: InMemoryStorage, position: int, entries: int) -> None:
        with self._lock:
            state = self._check_open()
            refuse_replacement(position, entries, state.sequence, state.journal_end)
            beside._state.latest_lease = state.latest_lease
            self._state = beside._state

    def try_lease(self, holder: str) -> InMemoryLease | None:
        """Return the lease if nobody holds it; see `SupportsLease`."""
        with self._lock, self._leases.lock:
            state = self._check_open()
            if self._leases.lease is not None:
                return None
            state.latest_lease += 1
            self._leases.lease = InMemoryLease(state.latest_lease, holder, self._leases)
            return self._leases.lease

    def lease_holder(self) -> str | None:
        """Return who holds the lease; see `SupportsLease`."""
        lease = self._leases.lease
        return None if lease is None else lease.holder

    def upkeep_notes(self) -> dict[str, str]:
        """Return the notes of the jobs; see `SupportsLease`."""
        return dict(self._leases.notes)

    def note_upkeep(self, notes: Mapping[str, str]) -> None:
        """Add notes; see `SupportsLease`."""
        self._leases.add_notes(notes)

    def close(self) -> None:
        """Discard everything that is stored. Closing twice does nothing."""
        with self._lock:
            self._closed = True
            self._state = State()

    def _check_open(self) -> State:
        if self._closed:
            raise StoreClosed("this store was closed: open it again")
        return self._state


def _choose_embeddings(record: Record, models: Collection[str] | None) -> Record:
    """Return `record` with its embeddings by `models` alone."""
    if models is None:
        return record
    return Record(
        memory=record.memory,
        embeddings=tuple(e for e in record.embeddings if e.model in models),
    )
