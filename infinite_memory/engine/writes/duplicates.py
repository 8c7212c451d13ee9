"""Find which new memories repeat a stored memory, or echo a recalled memory.

A repeat has the content hash of a stored memory, and all fields that the hash leaves out are equal
as well: the repeat is not stored, and the stored memory is strengthened. An echo is a text that
recall returned to an assistant within the hour and that comes back with nothing new. A memory can
be repeated or echoed only within an hour after it was stored, and only while nothing else was
stored in its scope: later, or after another memory, the same words say that it happened again,
or holds again. All other memories are stored. A memory is checked for an echo before a repeat.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from attrs import evolve, field, frozen

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Expect, ExpectContent
from infinite_memory.core.values.content_hash import content_hash, normalize_content
from infinite_memory.core.values.entry import Entry, Operation
from infinite_memory.core.values.fields import MEMORY_FIELDS, FieldType, MemoryField
from infinite_memory.core.values.memory import GLOBAL, Kind, Memory, Origin, Status
from infinite_memory.core.values.record import Record
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.supersession import find_by_key
from infinite_memory.engine.writes.validation import NO_SECRETS, Found
from infinite_memory.search.text.relative_time import is_relative

# How many memories with the same content hash are compared, the newest first.
_MAX_CANDIDATES = 16
# The same words after a longer time say that it happened again.
_REPEAT_WINDOW = timedelta(hours=1)
# Every other field of an echo must be empty or hold what the recalled memory holds.
_NOT_ECHOED = {"id", "text", "scope", "origin", "happened_at", "stored_at", "status", "revision"}
_ECHOED_FIELDS = tuple(known for known in MEMORY_FIELDS if known.name not in _NOT_ECHOED)


_FIRST_PAGE = 10
_PAGE = 100
_MAX_ENTRIES = 1000
_MAX_MEMORIES = 1000
_UNTOLD = frozenset({Operation.UPKEEP, Operation.DREAM, Operation.MASK})


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
        for writes in self._read_newest_first():
            here = [write for write in writes if write.touches(scopes)]
            if here:
                new = [write.id for write in here if write.is_new and write.scopes is not None]
                return new[-1] if new else None
        return None

    def _read_newest_first(self) -> Iterator[Sequence[_Written]]:
        yield from tuple(self._read)
        for writes in self._unread:
            self._read.append(writes)
            yield writes

    def _read_entries(self) -> Iterator[Sequence[_Written]]:
        memories = 0
        try:
            for entry in self._walk_entries():
                ids = [step.id for step in entry.action.memories if step.after > 0]
                memories += len(ids)
                if memories > _MAX_MEMORIES:
                    return
                records = self._storage.get(ids, models=()) if ids else {}
                yield [
                    _Written(step.id, step.before == 0, self._find_scopes(records.get(step.id)))
                    for step in entry.action.memories
                    if step.after > 0
                ]
        except StoreDamaged:
            # The damaged entries are unknown, which must not keep a new memory from being stored.
            return

    def _walk_entries(self) -> Iterator[Entry]:
        before: int | None = None
        read = 0
        while read < _MAX_ENTRIES:
            page = self._storage.journal(before=before, limit=_PAGE if read else _FIRST_PAGE)
            yield from (entry for entry in page if entry.action.operation not in _UNTOLD)
            if not page:
                return
            before, read = page[-1].number, read + len(page)

    def _find_scopes(self, record: Record | None) -> frozenset[str] | None:
        if record is None:
            return None
        if record.memory.revision == 1:
            return frozenset({record.memory.scope})
        # It may have been moved since.
        return frozenset(revision.scope for revision in self._storage.history(record.memory.id))


@frozen
class NewMemory:
    """A memory to be stored; `timed` and `named` say that the caller gave its time, and its id.

    `related` are ids of memories of its scope that it is linked to, each with the reason. `secrets`
    is what the guard found in it.
    """

    memory: Memory
    timed: bool
    named: bool
    supersedes: tuple[str, ...] = ()
    related: Mapping[str, str] = field(factory=dict)
    secrets: Found = NO_SECRETS


@frozen(kw_only=True)
class Duplicates:
    """New memories, divided into the `fresh` memories, which are to be stored, and duplicates.

    `repeats` and `echoes` map the id of a new memory to the stored memory. `expect` refuses the
    commit if another memory has the same content by then. If too many memories have that content to
    list them, it names the number of the next journal entry instead, and so refuses the commit
    after any change of the store.
    """

    fresh: list[NewMemory] = field(factory=list)
    expect: Expect = field(factory=Expect)
    repeats: dict[str, Memory] = field(factory=dict)
    echoes: dict[str, Memory] = field(factory=dict)


def find_duplicates(
    services: Services, new: Sequence[NewMemory], *, assume_none: bool = False
) -> Duplicates:
    """Compare new memories with the stored memories, and with the new memories before them.

    With `assume_none` no stored memory is read to find repeats: `expect` then refuses the commit
    if any memory has the same content.

    A message is always stored: a speaker who says "ok" again has said it twice. A memory whose id
    the caller gave is always stored as well.
    """
    hashes = {item.memory.id: content_hash(item.memory) for item in new}
    compared = [item.memory for item in new if _is_compared(item)]
    scopes = frozenset(memory.scope for memory in compared)
    alike = frozenset(hashes[memory.id] for memory in compared)
    candidates, expect = _find_candidates(services, scopes, alike, assume_none=assume_none)
    duplicates = Duplicates(expect=expect)
    last_stored = _LastStored(services, duplicates.fresh)
    holders: dict[tuple[str, str], str] = {}
    for item in new:
        memory = item.memory
        same_content = candidates[hashes[memory.id]]
        if _is_compared(item):
            holder = None if memory.key is None else holders.get((memory.scope, memory.key))
            if (echoed := _find_echoed(services, item, last_stored)) is not None:
                duplicates.echoes[memory.id] = echoed
                continue
            repeated = _find_repeated(services, item, same_content, holder, last_stored)
            if repeated is not None:
                duplicates.repeats[memory.id] = repeated
                continue
        duplicates.fresh.append(item)
        same_content.append(memory)
        if memory.key is not None:
            holders[memory.scope, memory.key] = memory.id
    return duplicates


def _is_compared(item: NewMemory) -> bool:
    return item.memory.kind is not Kind.MESSAGE and not item.named and not item.supersedes


def _find_candidates(
    services: Services, scopes: frozenset[str], hashes: frozenset[bytes], *, assume_none: bool
) -> tuple[defaultdict[bytes, list[Memory]], Expect]:
    """Return the current memories in `scopes` with any of `hashes`, by these, oldest first.

    The second value is the condition that no further memory has that content. If there are too many
    memories to compare, it is the number of the next journal entry instead.
    """
    candidates: defaultdict[bytes, list[Memory]] = defaultdict(list)
    if not hashes:
        return candidates, Expect()
    condition = ExpectContent(scopes=scopes, content_hashes=hashes)
    if assume_none:
        return candidates, Expect(contents=(condition,))
    limit = _MAX_CANDIDATES * len(condition.content_hashes)
    page = services.storage.find(condition.criteria, limit=limit)
    if page.next is None:
        condition = evolve(condition, ids=frozenset(memory.id for memory in page.memories))
        expect = Expect(contents=(condition,))
    else:
        expect = Expect(entry_number=services.storage.journal_end().number + 1)
        page = services.storage.find(condition.criteria, limit=limit)
    now = services.clock()
    for memory in sorted(page.memories, key=lambda memory: (memory.stored_at, memory.id)):
        if not memory.ended_by(now):
            candidates[content_hash(memory)].append(memory)
    return candidates, expect


class _LastStored:
    """Which memories were stored within the hour, with nothing else in their scopes since."""

    def __init__(self, services: Services, fresh: Sequence[NewMemory]) -> None:
        """Read the journal when first asked; `fresh` memories are about to be stored, in order."""
        self.now = services.clock()
        self._fresh = fresh
        self._recent = RecentWrites(services.storage)

    def is_last(self, memory: Memory, scopes: Collection[str]) -> bool:
        """Return whether `memory` was stored within the hour, as the last memory in `scopes`."""
        # The clock of the process that stored it may have been ahead, or this clock may have gone
        # back.
        if abs(self.now - memory.stored_at) > _REPEAT_WINDOW:
            return False
        for item in reversed(self._fresh):
            if item.memory.scope in scopes:
                return item.memory.id == memory.id
        return self._recent.stored_last(scopes) == memory.id


def _find_echoed(services: Services, new: NewMemory, last_stored: _LastStored) -> Memory | None:
    """Return the recalled memory that `new` echoes, whatever its scope, kind and key."""
    memory = new.memory
    if new.timed or memory.origin not in (Origin.ASSISTANT, Origin.TOOL):
        return None
    now = last_stored.now
    ids = services.recent_recalls.ids_with_text(memory.text, now)
    if not ids:
        return None
    for recalled in load_memories(services, ids).values():
        if (
            recalled.status is Status.CURRENT
            and recalled.kind is not Kind.MESSAGE
            and not recalled.is_dreamed
            and not recalled.ended_by(now)
            and services.recent_recalls.was_returned(recalled, now)
            and _adds_nothing(memory, recalled)
            and last_stored.is_last(recalled, {recalled.scope, memory.scope})
        ):
            return recalled
    return None


def _adds_nothing(memory: Memory, recalled: Memory) -> bool:
    """Return whether every value in `memory` is a default or a value of `recalled`."""
    if {*memory.sources} <= {*recalled.sources, recalled.id}:
        memory = evolve(memory, sources=())
    return recalled.scope in (memory.scope, GLOBAL) and all(
        _adds_no_value(echoed, getattr(recalled, echoed.name), getattr(memory, echoed.name))
        for echoed in _ECHOED_FIELDS
    )


def _adds_no_value(echoed: MemoryField, recalled: Any, value: Any) -> bool:
    """Return whether `value` is the default of a field, or is held by the recalled memory."""
    if echoed.value_type is FieldType.TEXTS:
        return {*value} <= {*recalled}
    return value in (echoed.default, recalled)


def _find_repeated(
    services: Services,
    new: NewMemory,
    candidates: Sequence[Memory],
    holder: str | None,
    last_stored: _LastStored,
) -> Memory | None:
    """Return the memory among `candidates`, which have the same content, that `new` repeats.

    A text that may mean something else at another moment repeats nothing: see `is_relative`.
    """
    if not candidates or is_relative(normalize_content(new.memory.text)):
        return None
    for candidate in reversed(candidates):
        if (
            _has_same_fields(new, candidate)
            and last_stored.is_last(candidate, {candidate.scope})
            and _holds_key(services, candidate, holder)
        ):
            return candidate
    return None


def _has_same_fields(new: NewMemory, candidate: Memory) -> bool:
    """Return whether a new memory has every field of `candidate`, which has the same content.

    Without a time of its own it must happen within an hour of the candidate.
    """
    memory = new.memory
    if not new.timed and abs(memory.happened_at - candidate.happened_at) > _REPEAT_WINDOW:
        return False
    adopted = evolve(
        memory,
        id=candidate.id,
        text=candidate.text,
        stored_at=candidate.stored_at,
        revision=candidate.revision,
        happened_at=memory.happened_at if new.timed else candidate.happened_at,
    )
    return adopted == _remove_assigned_start(candidate, memory)


def _remove_assigned_start(candidate: Memory, memory: Memory) -> Memory:
    """Return `candidate` without a `valid_from` that it was given because clocks differed."""
    if memory.valid_from is not None or candidate.key is None:
        return candidate
    return evolve(candidate, valid_from=None)


def _holds_key(services: Services, memory: Memory, holder: str | None) -> bool:
    """Return whether `memory` alone holds its key; `holder` is the latest new memory with it."""
    if memory.key is None:
        return True
    if holder is not None:
        return holder == memory.id
    current = frozenset({Status.CURRENT})
    holders = find_by_key(services.storage, [memory.scope], memory.key, current)
    return [record.id for record in holders] == [memory.id]
