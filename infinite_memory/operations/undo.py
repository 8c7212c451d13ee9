"""Undo: reverse one entry of the journal, by a new one."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from infinite_memory.errors import Conflict, NotFound
from infinite_memory.model.checks import check_count
from infinite_memory.model.entry import Entry, LinkStep, MemoryStep, Operation, ScopeStep
from infinite_memory.model.link import Link
from infinite_memory.model.memory import Memory, Status
from infinite_memory.model.record import (
    EraseLink,
    EraseScope,
    ExpectScopes,
    Put,
    PutLink,
    PutScope,
    Record,
    Write,
)
from infinite_memory.operations.embed import embed_new
from infinite_memory.operations.journal import with_entry
from infinite_memory.operations.persisting import attempts
from infinite_memory.operations.services import Services

__all__ = ["Undone", "undo"]

_PAGE = 100


@frozen(kw_only=True)
class Undone:
    """What was reversed: the entry `undone` of the journal, by the one numbered `entry`.

    `memories` are the ids that it brought back to what they were before; one that it had stored is
    forgotten, and can be brought back by undoing this in turn. `scopes` are names.
    """

    entry: int
    undone: Entry
    memories: tuple[str, ...]
    scopes: tuple[str, ...]


def undo(services: Services, number: int | None) -> Undone:
    """Reverse the entry of that number, by default the last change of the same client.

    Raises:
        NotFound: there is no such entry, or this client has changed nothing that is not undone.
        Conflict: later changes stand in the way, or what it took is erased for good.
    """
    entry = _last(services) if number is None else _entry(services, number)
    for last in attempts(0):
        try:
            return _Undoing(services, entry).run()
        except _Overtaken:
            if last:
                raise
    raise AssertionError


class _Overtaken(Conflict):
    """Somebody else committed between the look and the commit."""


class _Undoing:
    def __init__(self, services: Services, entry: Entry) -> None:
        self._services = services
        self._storage = services.storage
        self._entry = entry

    def run(self) -> Undone:
        entry = self._entry
        if entry.action.operation is Operation.BEGIN:
            raise Conflict(f"entry {entry.number} begins the journal: it changed nothing")
        ids = [step.id for step in entry.action.memories]
        records = self._storage.get(ids)
        puts = [put for step in entry.action.memories for put in self._restored(step, records)]
        scopes = list(self._scopes(entry.action.scopes, alone=not ids))
        there = self._storage.links({end for link in self._linked() for end in _ends(link)})
        links = [w for step in entry.action.links for w in _link_writes(step, there)]
        writes: list[Write] = [*scopes, *puts, *links]
        try:
            self._storage.commit(
                with_entry(self._services, Operation.UNDO, writes, links=there, undoes=entry.number)
            )
        except Conflict as error:
            raise _Overtaken(str(error)) from error
        embed_new(
            self._services, [put.memory for put in puts if not put.embeddings and _found(put)]
        )
        return Undone(
            entry=self._made(),
            undone=entry,
            memories=tuple(put.memory.id for put in puts),
            scopes=tuple(_scope_names(scopes)),
        )

    def _made(self) -> int:
        """Return the number of the entry that was just made, the newest that undoes this one."""
        return next(
            each.number
            for each in _newest_first(self._services)
            if each.action.undoes == self._entry.number
        )

    def _restored(self, step: MemoryStep, records: dict[str, Record]) -> Iterator[Put]:
        record = records.get(step.id)
        if step.after == 0:
            raise Conflict(
                f"entry {self._entry.number} erased memory {step.id!r} for good: nothing of it is "
                "left that could be brought back"
            )
        if record is None or self._was_erased(step.id):
            raise Conflict(
                f"entry {self._entry.number} cannot be undone: memory {step.id!r} was erased since"
            )
        if record.memory.revision != step.after and not self._is_again(step, record.memory):
            raise self._stands_in_the_way(step, record.memory)
        before = self._before(step, record.memory)
        now = max(self._services.clock(), record.memory.stored_at)
        after = evolve(before, revision=record.memory.revision + 1, stored_at=now)
        kept = record.embeddings if after.text == record.memory.text else ()
        yield Put(memory=after, expected=record.memory.revision, embeddings=kept)

    def _was_erased(self, memory_id: str) -> bool:
        """Tell whether it was erased after the entry; another may have taken the id since."""
        before: int | None = None
        while True:
            page = self._storage.journal(before=before, limit=_PAGE, memory_id=memory_id)
            for entry in page:
                if entry.number <= self._entry.number:
                    return False
                if any(s.id == memory_id and s.after == 0 for s in entry.action.memories):
                    return True
            if len(page) < _PAGE:
                return False
            before = page[-1].number

    def _is_again(self, step: MemoryStep, current: Memory) -> bool:
        """Tell whether the memory says again what the entry left, as when an undo was undone."""
        left = self._revision(step.id, step.after)
        return left is not None and current == evolve(
            left, revision=current.revision, stored_at=current.stored_at
        )

    def _revision(self, memory_id: str, revision: int) -> Memory | None:
        history = self._storage.history(memory_id)
        return next((each for each in history if each.revision == revision), None)

    def _before(self, step: MemoryStep, current: Memory) -> Memory:
        if step.before == 0:
            return evolve(current, status=Status.FORGOTTEN)
        found = self._revision(step.id, step.before)
        if found is None:
            raise Conflict(
                f"entry {self._entry.number} cannot be undone: revision {step.before} of memory "
                f"{step.id!r} is not there any more"
            )
        return found

    def _stands_in_the_way(self, step: MemoryStep, current: Memory) -> Conflict:
        number = self._entry.number
        later = [
            entry
            for entry in self._storage.journal(limit=_PAGE, memory_id=step.id)
            if entry.number > number
        ]
        if later and later[0].action.undoes == number:
            return Conflict(
                f"entry {number} is undone already, by entry {later[0].number}: undo that one to "
                "bring back what it did"
            )
        by = f" by entry {later[0].number}" if later else ""
        return Conflict(
            f"entry {number} cannot be undone: memory {step.id!r} was changed since{by} and is "
            f"{current.text!r:.200} now; undo that first, or revise the memory"
        )

    def _scopes(self, steps: tuple[ScopeStep, ...], *, alone: bool) -> Iterator[Write]:
        """Yield the writes that bring scopes back.

        A scope that was made for memories stays: they are still in it.
        """
        for step in steps:
            if step.before is None and not alone:
                continue
            scope = step.after or step.before
            if scope is None:
                continue
            if step.before is None:
                unused = frozenset({scope.name})
                yield ExpectScopes(scopes={scope.name: step.after}, unused=unused)
                yield EraseScope(name=scope.name)
            else:
                yield ExpectScopes(scopes={scope.name: step.after})
                yield PutScope(scope=step.before)

    def _linked(self) -> Iterator[Link]:
        for step in self._entry.action.links:
            yield from (link for link in (step.before, step.after) if link is not None)


def _link_writes(step: LinkStep, there: list[Link]) -> Iterator[Write]:
    """Yield the write that reverses a step, none where the link was changed since."""
    if step.after is not None and step.after not in there:
        return
    if step.before is not None:
        yield PutLink(link=step.before)
    elif step.after is not None:
        link = step.after
        yield EraseLink(source=link.source, target=link.target, type=link.type)


def _ends(link: Link) -> tuple[str, str]:
    return link.source, link.target


def _found(put: Put) -> bool:
    return put.memory.status is not Status.FORGOTTEN


def _scope_names(writes: list[Write]) -> Iterator[str]:
    for write in writes:
        if isinstance(write, EraseScope):
            yield write.name
        elif isinstance(write, PutScope):
            yield write.scope.name


def _entry(services: Services, number: int) -> Entry:
    check_count(number, "entry", low=1, high=2**62)
    found = services.storage.journal(before=number + 1, limit=1)
    if not found or found[0].number != number:
        end = services.storage.journal_end().number
        raise NotFound(f"there is no entry {number}: the journal has entries 1 to {end}")
    return found[0]


def _last(services: Services) -> Entry:
    """Return the last change by this client that is neither undone nor an undo itself."""
    client = services.actor.client
    undone: set[int] = set()
    for entry in _newest_first(services):
        action = entry.action
        if entry.number in undone:
            continue
        # Newest first: whether an undo is undone itself is known before it is met.
        if action.undoes is not None:
            undone.add(action.undoes)
        elif action.actor.client == client and action.operation is not Operation.BEGIN:
            return entry
    raise NotFound(
        f"{client!r} has changed nothing that is not undone already: name the entry of another one"
    )


def _newest_first(services: Services) -> Iterator[Entry]:
    before: int | None = None
    while True:
        page = services.storage.journal(before=before, limit=_PAGE)
        yield from page
        if len(page) < _PAGE:
            return
        before = page[-1].number
