"""Supersession: the latest of the memories with the same key and scope replaces the earlier.

The order is that of `Memory.held_from`: the time in the world counts, not the time of storing.
If a memory begins in the future, its predecessor stays current until then. Two memories that begin
at the same moment and say different things have no order: both stay current until a caller decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from attrs import define, evolve, frozen

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Expect, ExpectKey, Put
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.ids import check_id
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.engine.services import Services
from infinite_memory.engine.visibility import may_name_scope

_PAGE = 256
_CURRENT = frozenset({Status.CURRENT})
_EVER = _CURRENT | {Status.SUPERSEDED}
_MICROSECOND = timedelta(microseconds=1)


@frozen(kw_only=True)
class Placement:
    """The effect of new memories on the stored memories.

    `commit` stores everything. `memories` are the new memories as they are stored, by id;
    `superseded`, `superseded_by` and `conflicts` are ids, by the id of the new memory.
    """

    commit: Commit
    memories: Mapping[str, Memory]
    superseded: Mapping[str, tuple[str, ...]]
    superseded_by: Mapping[str, str]
    conflicts: Mapping[str, tuple[str, ...]]

    @classmethod
    def without_keys(cls, memories: Iterable[Memory]) -> Placement:
        """Return the placement of new memories without a key, which replace nothing."""
        new = {memory.id: memory for memory in memories}
        puts = tuple([Put(memory=memory, expected=0) for memory in new.values()])
        return cls(
            commit=Commit(puts=puts), memories=new, superseded={}, superseded_by={}, conflicts={}
        )


def find_by_key(
    storage: Storage, scopes: Iterable[str], key: str, statuses: frozenset[Status]
) -> Iterator[Memory]:
    """Yield the memories in `scopes` that have `key` and a status among `statuses`."""
    criteria = Criteria(scopes=frozenset(scopes), key=key, statuses=statuses)
    after: str | None = None
    while True:
        page = storage.find(criteria, limit=_PAGE, after=after)
        yield from page.memories
        after = page.next
        if after is None:
            return


def find_successors(storage: Storage, memory_id: str) -> set[str]:
    """Return the ids of the memories that superseded a memory, and of their successors."""
    successors: set[str] = set()
    added: Collection[str] = {memory_id}
    while added:
        links = storage.links(added)
        sources = {
            link.source
            for link in links
            if link.type is LinkType.SUPERSEDES and link.target in added
        }
        added = sources - successors
        successors |= added
    return successors


@define
class _Chain:
    """The ids of the memories with the same key and scope; `stored` omits the new memories.

    It has the current memories, and also the superseded memories once it is `complete`.
    """

    stored: frozenset[str]
    ids: list[str]
    complete: bool = False


class Supersession:
    """Places new memories in order; a placement takes the earlier placements into account."""

    def __init__(self, services: Services, now: datetime) -> None:
        """Use `now` as the time of the placement, and the actor of `services` as its author."""
        self._services = services
        self._storage = services.storage
        self._made_by = services.actor.client
        self._now = now
        self._new: dict[str, Memory] = {}
        self._known: dict[str, Memory] = {}
        self._changed: set[str] = set()
        self._chains: dict[tuple[str, str], _Chain] = {}
        self._links: list[Link] = []
        self._superseded: defaultdict[str, list[str]] = defaultdict(list)
        self._superseded_by: dict[str, str] = {}
        self._conflicts: defaultdict[str, list[str]] = defaultdict(list)

    def place(self, memory: Memory, supersedes: Sequence[str] = (), *, timed: bool = True) -> None:
        """Add a memory; it replaces the memories whose ids are in `supersedes`, whatever their key.

        A memory that is not `timed` holds from now on, even if the clock of the process that stored
        its predecessor was ahead.

        Raises:
            InvalidInput: a superseded memory does not exist, is in another scope, or began later.
        """
        self._new[memory.id] = memory
        if memory.key is not None:
            if not timed:
                memory = self._start_after_predecessors(memory, memory.key)
            self._insert_memory(memory)
        for memory_id in supersedes:
            target = self._check_target(memory, check_id(memory_id))
            if target.id not in self._superseded[memory.id]:
                self._close_memory(target, memory)

    def settle(self, memory: Memory, supersedes: Sequence[str]) -> None:
        """Let a stored memory replace the stored memories whose ids are in `supersedes`.

        Memories that `memory`, or a memory in `supersedes`, superseded before stay as they are.

        Raises:
            InvalidInput: a memory does not exist, is in another scope, began later, was superseded
                by another memory, or has superseded `memory`.
        """
        self._known[memory.id] = memory
        its_successors = find_successors(self._storage, memory.id)
        for memory_id in supersedes:
            target = self._check_target(memory, check_id(memory_id), may_begin_together=True)
            problem = None
            if target.id in its_successors:
                problem = f"it has superseded {memory.id!r} itself: undo that change first"
            elif target.status is Status.SUPERSEDED:
                # In a circle, which a merge of two stores may bring, the target succeeds itself.
                successors = find_successors(self._storage, target.id) - {target.id}
                if successors & {memory.id, *supersedes}:
                    continue
                by = f" by {', '.join(sorted(successors))}" if successors else ""
                problem = f"it is superseded{by} already: name the memory that holds now instead"
            if problem is not None:
                raise _make_refusal(memory_id, problem)
            if target.id not in self._superseded[memory.id]:
                self._close_memory(target, memory)

    def placement(self) -> Placement:
        """Return the effect of all memories that were placed."""
        return Placement(
            commit=Commit(
                expect=Expect(keys=tuple(self._expect_keys())),
                puts=tuple(self._make_puts()),
                links=tuple(self._links),
            ),
            memories=self._new,
            superseded={new_id: tuple(ids) for new_id, ids in self._superseded.items()},
            superseded_by=self._superseded_by,
            conflicts={new_id: tuple(ids) for new_id, ids in self._conflicts.items()},
        )

    def _start_after_predecessors(self, memory: Memory, key: str) -> Memory:
        """Return `memory`, begun after all memories of its key that held when they were stored."""
        chain = [
            self._find_latest(memory_id) for memory_id in self._find_chain(memory.scope, key).ids
        ]
        starts = [item.held_from for item in chain if item.held_from <= item.stored_at]
        if memory.valid_from is None and starts and max(starts) >= memory.held_from:
            begin = max(starts) + _MICROSECOND
            memory = evolve(memory, valid_from=begin, stored_at=max(memory.stored_at, begin))
            self._new[memory.id] = memory
        return memory

    def _insert_memory(self, memory: Memory) -> None:
        key = str(memory.key)
        chain = self._find_chain(memory.scope, key)
        same_key = [self._find_latest(memory_id) for memory_id in chain.ids]
        if any(item.held_from > memory.held_from for item in same_key):
            self._complete_chain(chain, memory.scope, key)
            same_key = [self._find_latest(memory_id) for memory_id in chain.ids]
        chain.ids.append(memory.id)
        self._conflicts[memory.id] += [
            item.id
            for item in same_key
            if item.held_from == memory.held_from
            and item.status is Status.CURRENT
            and item.text != memory.text
        ]
        later = [item for item in same_key if item.held_from > memory.held_from]
        if later:
            # The new memory is history already: it held until its successor began.
            self._close_memory(memory, min(later, key=lambda item: item.held_from))
        for item in same_key:
            is_replaced = item.status is Status.CURRENT and not later
            if item.held_from < memory.held_from and (
                is_replaced or not item.ended_by(memory.held_from)
            ):
                self._close_memory(item, self._new[memory.id])

    def _close_memory(self, memory: Memory, by: Memory) -> None:
        """End the validity of `memory` where `by` begins, and link the two memories."""
        end = by.held_from if memory.valid_to is None else min(memory.valid_to, by.held_from)
        latest = self._find_latest(memory.id)
        # The clock of the process that stored the successor may have been ahead.
        is_over = end <= max(self._now, by.stored_at)
        status = Status.SUPERSEDED if is_over else latest.status
        closed = evolve(latest, status=status, valid_to=end)
        if memory.id in self._new:
            self._new[memory.id] = closed
        else:
            self._known[memory.id] = closed
            self._changed.add(memory.id)
        self._superseded[by.id].append(memory.id)
        if status is Status.SUPERSEDED:
            self._superseded_by[memory.id] = by.id
        self._links.append(
            Link(
                source=by.id,
                target=memory.id,
                type=LinkType.SUPERSEDES,
                made_by=self._made_by,
                # Without the key itself: the journal keeps the link after an erasure.
                reason="" if by.key is None or by.key != memory.key else "the same key",
                made_at=self._now,
            )
        )

    def _check_target(
        self, memory: Memory, memory_id: str, *, may_begin_together: bool = False
    ) -> Memory:
        """Return the memory to be superseded, which began earlier, or together with `memory`."""
        if memory_id not in self._new and memory_id not in self._known:
            record = self._storage.get([memory_id], models=()).get(memory_id)
            if record is None:
                raise _make_refusal(memory_id, "there is no such memory")
            self._known[memory_id] = record.memory
        target = self._find_latest(memory_id)
        problem = None
        if target.id == memory.id:
            problem = "a memory cannot supersede itself"
        elif target.scope != memory.scope:
            named = may_name_scope(self._services, target.scope, memory.scope)
            where = f"the scope {target.scope!r}" if named else "another scope"
            problem = (
                f"it is in {where} and {memory.id!r} in {memory.scope!r}: revise it with the status"
                " superseded instead"
            )
        elif target.status is Status.FORGOTTEN:
            problem = "it was forgotten: revise it to bring it back first"
        elif target.held_from > memory.held_from or (
            target.held_from == memory.held_from and not may_begin_together
        ):
            problem = (
                f"it holds since {target.held_from.isoformat()} and {memory.id!r} only since "
                f"{memory.held_from.isoformat()}: give a later valid_from or happened_at"
            )
        if problem is not None:
            raise _make_refusal(memory_id, problem)
        return target

    def _find_chain(self, scope: str, key: str) -> _Chain:
        chain = self._chains.get((scope, key))
        if chain is None:
            current = list(find_by_key(self._storage, [scope], key, _CURRENT))
            self._remember_known(current)
            ids = [memory.id for memory in current]
            chain = self._chains[scope, key] = _Chain(stored=frozenset(ids), ids=ids)
            if not ids:
                # No memory has the key now, as after a forget. Superseded memories may end later
                # than the new memory begins.
                self._complete_chain(chain, scope, key)
        return chain

    def _complete_chain(self, chain: _Chain, scope: str, key: str) -> None:
        """Add the superseded memories; they matter if a new memory is late, or none is current."""
        if not chain.complete:
            earlier = list(find_by_key(self._storage, [scope], key, frozenset({Status.SUPERSEDED})))
            self._remember_known(earlier)
            chain.ids.extend(memory.id for memory in earlier if memory.id not in chain.ids)
            chain.stored |= {memory.id for memory in earlier}
            chain.complete = True

    def _remember_known(self, memories: Iterable[Memory]) -> None:
        for memory in memories:
            self._known.setdefault(memory.id, memory)

    def _find_latest(self, memory_id: str) -> Memory:
        return self._new[memory_id] if memory_id in self._new else self._known[memory_id]

    def _expect_keys(self) -> Iterator[ExpectKey]:
        for (scope, key), chain in self._chains.items():
            statuses = _EVER if chain.complete else _CURRENT
            yield ExpectKey(scope=scope, key=key, ids=chain.stored, statuses=statuses)

    def _make_puts(self) -> Iterator[Put]:
        for memory in self._new.values():
            yield Put(memory=memory, expected=0)
        records = self._storage.get(self._changed) if self._changed else {}
        for memory_id in sorted(self._changed):
            memory = self._known[memory_id]
            record = records.get(memory_id)
            yield Put(
                memory=evolve(
                    memory,
                    revision=memory.revision + 1,
                    stored_at=max(self._now, memory.stored_at),
                ),
                expected=memory.revision,
                embeddings=() if record is None else record.embeddings,
            )


def _make_refusal(memory_id: str, problem: str) -> InvalidInput:
    return InvalidInput(f"supersedes {memory_id!r} is not possible: {problem}; nothing was changed")
