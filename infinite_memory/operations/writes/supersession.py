"""Supersede: of the memories with one key in one scope the latest holds, the others held before.

The order is that of `Memory.held_from`: what came later in the world counts, not what was stored
later. What begins in the future lets the one before be current until then. Two that begin at the
same moment and say different things have no order: both stay current until somebody decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from attrs import define, evolve, frozen

from infinite_memory.errors import InvalidInput
from infinite_memory.model.commit import Commit, Expect, ExpectKey, Put
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.ids import check_id
from infinite_memory.model.link import Link, LinkType
from infinite_memory.model.memory import Memory, Status
from infinite_memory.operations.services import Services
from infinite_memory.operations.visibility import may_name_scope
from infinite_memory.protocols import Storage

__all__ = ["Placement", "Superseding", "with_key"]

_PAGE = 256
_CURRENT = frozenset({Status.CURRENT})
_EVER = _CURRENT | {Status.SUPERSEDED}
_MOMENT = timedelta(microseconds=1)


@frozen(kw_only=True)
class Placement:
    """What new memories do to those that are there.

    `commit` stores everything. `memories` are the new ones as they are stored, by id; `superseded`,
    `superseded_by` and `conflicts` are ids, by the id of the new memory.
    """

    commit: Commit
    memories: Mapping[str, Memory]
    superseded: Mapping[str, tuple[str, ...]]
    superseded_by: Mapping[str, str]
    conflicts: Mapping[str, tuple[str, ...]]

    @classmethod
    def alone(cls, memories: Iterable[Memory]) -> Placement:
        """Return what new memories without a key come to, which replace nothing."""
        new = {memory.id: memory for memory in memories}
        puts = tuple([Put(memory=memory, expected=0) for memory in new.values()])
        return cls(
            commit=Commit(puts=puts), memories=new, superseded={}, superseded_by={}, conflicts={}
        )


def with_key(
    storage: Storage, scopes: Iterable[str], key: str, statuses: frozenset[Status]
) -> Iterator[Memory]:
    """Yield the memories with a key in these scopes that have one of these statuses."""
    criteria = Criteria(scopes=frozenset(scopes), key=key, statuses=statuses)
    after: str | None = None
    while True:
        page = storage.find(criteria, limit=_PAGE, after=after)
        yield from page.memories
        after = page.next
        if after is None:
            return


@define
class _Chain:
    """The ids of the memories with one key in one scope; `held` are those that were there before.

    Until it is `complete` they are the current ones.
    """

    held: frozenset[str]
    ids: list[str]
    complete: bool = False


class Superseding:
    """Places new memories one after the other; what one does is seen by the next."""

    def __init__(self, services: Services, now: datetime) -> None:
        """Place them at the moment `now`, by the actor of `services`."""
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
        """Add a memory; those that it `supersedes` by their ids are replaced whatever their key.

        One that is not `timed` holds from now on, even if the clock of whoever stored the one
        before was ahead.

        Raises:
            InvalidInput: one of them is not there, is in another scope, or began later.
        """
        self._new[memory.id] = memory
        if memory.key is not None:
            if not timed:
                memory = self._behind(memory, memory.key)
            self._insert(memory)
        for each in supersedes:
            target = self._target(memory, check_id(each))
            if target.id not in self._superseded[memory.id]:
                self._close(target, memory)

    def placement(self) -> Placement:
        """Return what all of them come to."""
        return Placement(
            commit=Commit(
                expect=Expect(keys=tuple(self._expected())),
                puts=tuple(self._puts()),
                links=tuple(self._links),
            ),
            memories=self._new,
            superseded={each: tuple(ids) for each, ids in self._superseded.items()},
            superseded_by=self._superseded_by,
            conflicts={each: tuple(ids) for each, ids in self._conflicts.items()},
        )

    def _behind(self, memory: Memory, key: str) -> Memory:
        """Return `memory` so that it begins behind all that had begun when it was stored."""
        held = [self._now_of(each) for each in self._chain(memory.scope, key).ids]
        ahead = [each.held_from for each in held if each.held_from <= each.stored_at]
        if memory.valid_from is None and ahead and max(ahead) >= memory.held_from:
            begin = max(ahead) + _MOMENT
            memory = evolve(memory, valid_from=begin, stored_at=max(memory.stored_at, begin))
            self._new[memory.id] = memory
        return memory

    def _insert(self, memory: Memory) -> None:
        key = str(memory.key)
        chain = self._chain(memory.scope, key)
        held = [self._now_of(each) for each in chain.ids]
        if any(each.held_from > memory.held_from for each in held):
            self._complete(chain, memory.scope, key)
            held = [self._now_of(each) for each in chain.ids]
        chain.ids.append(memory.id)
        self._conflicts[memory.id] += [
            each.id
            for each in held
            if each.held_from == memory.held_from
            and each.status is Status.CURRENT
            and each.text != memory.text
        ]
        later = [each for each in held if each.held_from > memory.held_from]
        if later:
            # It is history already: it held until the next one began.
            self._close(memory, min(later, key=lambda each: each.held_from))
        for each in held:
            is_replaced = each.status is Status.CURRENT and not later
            if each.held_from < memory.held_from and (
                is_replaced or not each.ended_by(memory.held_from)
            ):
                self._close(each, self._new[memory.id])

    def _close(self, memory: Memory, by: Memory) -> None:
        """End the validity of `memory` where `by` begins, and link the two."""
        end = by.held_from if memory.valid_to is None else min(memory.valid_to, by.held_from)
        now = self._now_of(memory.id)
        # The clock of whoever stored the other one may have been ahead.
        is_over = end <= max(self._now, by.stored_at)
        status = Status.SUPERSEDED if is_over else now.status
        closed = evolve(now, status=status, valid_to=end)
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
                # Not the key itself: the journal keeps the link when the memories are erased.
                reason="" if by.key is None or by.key != memory.key else "the same key",
                made_at=self._now,
            )
        )

    def _target(self, memory: Memory, memory_id: str) -> Memory:
        if memory_id not in self._new and memory_id not in self._known:
            found = self._storage.get([memory_id], models=()).get(memory_id)
            if found is None:
                raise InvalidInput(f"supersedes {memory_id!r}: there is no such memory")
            self._known[memory_id] = found.memory
        target = self._now_of(memory_id)
        problem = None
        if target.id == memory.id:
            problem = "a memory cannot supersede itself"
        elif target.scope != memory.scope:
            named = may_name_scope(self._services, target.scope, memory.scope)
            where = f"the scope {target.scope!r}" if named else "another scope"
            problem = f"it is in {where} and the new one in {memory.scope!r}"
        elif target.status is Status.FORGOTTEN:
            problem = "it was forgotten: revise it to bring it back first"
        elif target.held_from >= memory.held_from:
            problem = (
                f"it holds since {target.held_from.isoformat()} and the new one only since "
                f"{memory.held_from.isoformat()}: give a later valid_from or happened_at"
            )
        if problem is not None:
            raise InvalidInput(f"supersedes {memory_id!r} cannot be: {problem}; nothing was stored")
        return target

    def _chain(self, scope: str, key: str) -> _Chain:
        chain = self._chains.get((scope, key))
        if chain is None:
            current = list(with_key(self._storage, [scope], key, _CURRENT))
            self._note(current)
            ids = [memory.id for memory in current]
            chain = self._chains[scope, key] = _Chain(held=frozenset(ids), ids=ids)
            if not ids:
                # Nobody holds it, as after a forget: those before may end later than the new one
                # begins.
                self._complete(chain, scope, key)
        return chain

    def _complete(self, chain: _Chain, scope: str, key: str) -> None:
        """Add those that held before; they matter to what is told late, or when nobody holds."""
        if not chain.complete:
            earlier = list(with_key(self._storage, [scope], key, frozenset({Status.SUPERSEDED})))
            self._note(earlier)
            chain.ids.extend(memory.id for memory in earlier if memory.id not in chain.ids)
            chain.held |= {memory.id for memory in earlier}
            chain.complete = True

    def _note(self, memories: Iterable[Memory]) -> None:
        for memory in memories:
            self._known.setdefault(memory.id, memory)

    def _now_of(self, memory_id: str) -> Memory:
        return self._new[memory_id] if memory_id in self._new else self._known[memory_id]

    def _expected(self) -> Iterator[ExpectKey]:
        for (scope, key), chain in self._chains.items():
            statuses = _EVER if chain.complete else _CURRENT
            yield ExpectKey(scope=scope, key=key, ids=chain.held, statuses=statuses)

    def _puts(self) -> Iterator[Put]:
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
