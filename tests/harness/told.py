"""What a store was told, in plain dictionaries: the model that `store_machine` compares with.

It knows the rules, not the code: memories are lists of their revisions, the journal is a list of
what each change left, and who holds a key follows from when each of its memories began.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from attrs import define, field, frozen

from infinite_memory.core.errors import Conflict, InvalidInput, NotFound
from infinite_memory.core.values.entry import Entry
from infinite_memory.core.values.link import Link

Fields: TypeAlias = dict[str, Any]
"""A revision: text, tags, scope, key, happened_at, valid_from, valid_to, status, stored_at."""

_GLOBAL = "Global"
_HELD = ("current", "superseded")


@frozen(kw_only=True)
class Change:
    """An entry of the journal: the states of each memory before and after it, None for none.

    `revisions` are the numbers of those, 0 for none. `made` and `removed` are names of scopes.
    """

    client: str
    undoes: int | None
    states: dict[str, tuple[Fields | None, Fields | None]]
    revisions: dict[str, tuple[int, int]]
    made: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()


@define
class Told:
    """All that was told and not erased; every method refuses what the store must refuse."""

    memories: dict[str, list[Fields]] = field(factory=dict)
    erased: set[str] = field(factory=set)
    journal: list[Change] = field(factory=list)
    scopes: set[str] = field(factory=lambda: {_GLOBAL})

    def now(self, memory_id: str) -> Fields:
        """Return the current revision of a memory.

        Raises:
            NotFound: there is none.
        """
        if memory_id not in self.memories:
            raise NotFound(memory_id)
        return self.memories[memory_id][-1]

    def with_key(self, key: object, scope: object) -> dict[str, Fields]:
        """Return the memories with a key in a scope that hold it or did, by id."""
        return {
            memory_id: revisions[-1]
            for memory_id, revisions in self.memories.items()
            if (revisions[-1]["key"], revisions[-1]["scope"]) == (key, scope)
            and revisions[-1]["status"] in _HELD
        }

    def remember(
        self, client: str, memory_id: str, new: Fields, supersedes: Iterable[str], *, timed: bool
    ) -> None:
        """Store a memory; doing it again changes nothing, unless it was forgotten."""
        if memory_id in self.memories:
            if self.now(memory_id)["status"] == "forgotten":
                raise Conflict(memory_id)
            return
        now = new["stored_at"]
        changed = self.placed(memory_id, new, timed=timed)
        for target in supersedes:
            self._supersede(changed, memory_id, target, now)
        self.write(client, changed)

    def placed(self, memory_id: str, new: Fields, *, timed: bool) -> dict[str, Fields | None]:
        """Return the memories that change when this one is told: it, and those that it ends."""
        new, now = dict(new), new["stored_at"]
        others = {} if new["key"] is None else self.with_key(new["key"], new["scope"])
        holders = [each for each in others.values() if each["status"] == "current"]
        known = holders or list(others.values())
        if not timed and new["valid_from"] is None:
            begun = [begin_of(each) for each in known if begin_of(each) <= each["stored_at"]]
            if begun and max(begun) >= begin_of(new):
                new["valid_from"] = max(begun) + timedelta(microseconds=1)
                new["stored_at"] = max(new["valid_from"], now)
        begin = begin_of(new)
        is_late = any(begin_of(each) > begin for each in known)
        changed: dict[str, Fields | None] = {memory_id: new}
        for other, each in others.items():
            if begin_of(each) >= begin:
                continue
            current = each["status"] == "current"
            if (current and not is_late) or (not ends_by(each, begin) and (is_late or not holders)):
                changed[other] = _ended(each, new, now)
        if is_late:
            later = (each for each in others.values() if begin_of(each) > begin)
            changed[memory_id] = _ended(new, min(later, key=begin_of), now)
        return changed

    def _supersede(
        self, changed: dict[str, Fields | None], memory_id: str, target: str, now: datetime
    ) -> None:
        new = changed[memory_id]
        assert new is not None
        if target not in self.memories:
            raise InvalidInput(target)
        old = changed.get(target) or self.now(target)
        refused = old["scope"] != new["scope"] or old["status"] == "forgotten"
        if refused or begin_of(old) >= begin_of(new):
            raise InvalidInput(target)
        if target not in changed:
            changed[target] = _ended(old, new, now)

    def revise(
        self, client: str, memory_id: str, revision: int, changes: Mapping[str, Any], now: datetime
    ) -> None:
        """Change fields of a memory, if that is its revision."""
        before = self.now(memory_id)
        revisions = self.memories[memory_id]
        if revision != len(revisions):
            if revision != len(revisions) - 1:
                raise Conflict(memory_id)
            last = next(each for each in reversed(self.journal) if memory_id in each.states)
            again = _same({**revisions[-2], **changes}, before)
            if not changes:
                raise InvalidInput(memory_id)
            if last.client != client or not again:
                raise Conflict(memory_id)
            return
        after = {**before, **changes, "stored_at": max(now, before["stored_at"])}
        start, end = after["valid_from"], after["valid_to"]
        if not changes or (start is not None and end is not None and end <= start):
            raise InvalidInput(memory_id)
        if not _same(before, after):
            self.write(client, {memory_id: after})

    def settle(
        self,
        client: str,
        memory_id: str,
        target: str,
        *,
        successors: Mapping[str, set[str]],
        now: datetime,
    ) -> None:
        """Let a memory that is there replace another one.

        `successors` are the ids of the memories that superseded each of the two, at any distance.
        """
        by = self.now(memory_id)
        if by["status"] == "forgotten" or target not in self.memories or target == memory_id:
            raise InvalidInput(target)
        old = self.now(target)
        refused = old["scope"] != by["scope"] or old["status"] == "forgotten"
        if refused or begin_of(old) > begin_of(by) or target in successors[memory_id]:
            raise InvalidInput(target)
        if old["status"] == "superseded":
            if memory_id not in successors[target]:
                raise InvalidInput(target)
            return
        self.write(client, {target: _ended(old, by, now)})

    def forget(self, client: str, memory_id: str, now: datetime) -> None:
        """Take a memory out of the results."""
        before = self.now(memory_id)
        if before["status"] != "forgotten":
            now = max(now, before["stored_at"])
            self.write(client, {memory_id: {**before, "status": "forgotten", "stored_at": now}})

    def erase(self, client: str, memory_id: str) -> None:
        """Erase a memory for good; again changes nothing."""
        if memory_id not in self.erased:
            self.now(memory_id)
            self.write(client, {memory_id: None})

    def undo(
        self, client: str, number: int | None, now: datetime, *, circular: Collection[int]
    ) -> None:
        """Reverse a change, by default the last one that can be reversed.

        `circular` are the numbers of undos whose reversal lets two memories supersede each other.
        """
        if number is None:
            number = self._last(now)
        if not 1 <= number <= len(self.journal):
            raise NotFound(str(number))
        if number in circular:
            raise Conflict(str(number))
        restored, made, removed = self._reversal(number, now)
        self.write(client, restored, undoes=number, scopes=(made, removed))

    def _reversal(
        self, number: int, now: datetime
    ) -> tuple[dict[str, Fields | None], frozenset[str], frozenset[str]]:
        """Return what each memory becomes, and the scopes that are made and removed."""
        change = self.journal[number - 1]
        restored: dict[str, Fields | None] = {}
        needed = set(change.removed)
        after_all = {each: revisions[-1] for each, revisions in self.memories.items()}
        for memory_id, (before, after) in change.states.items():
            if after is None or self.was_erased_since(memory_id, number):
                continue
            current = self.now(memory_id)
            if not _same(current, after):
                raise Conflict(memory_id)
            back = {**after, "status": "forgotten"} if before is None else before
            restored[memory_id] = {**back, "stored_at": max(now, current["stored_at"])}
            after_all[memory_id] = back
            if back["status"] != "forgotten":
                needed.add(back["scope"])
        used = {each["scope"] for each in after_all.values() if each["status"] != "forgotten"}
        made = frozenset(needed - self.scopes)
        removed = frozenset(change.made & self.scopes - used)
        if not restored and not made and not removed:
            raise Conflict(str(number))
        return restored, made, removed

    def was_erased_since(self, memory_id: str, number: int) -> bool:
        """Tell whether a memory was erased after an entry; its id may be in use again."""
        later = self.journal[number:]
        return any(each.states.get(memory_id, (None, {}))[1] is None for each in later)

    def _last(self, now: datetime) -> int:
        for number in range(len(self.journal), 0, -1):
            if self.journal[number - 1].undoes is None and not self._is_undone(number):
                try:
                    self._reversal(number, now)
                except Conflict:
                    continue
                return number
        raise NotFound("nothing left")

    def _is_undone(self, number: int) -> bool:
        return any(
            each.undoes == number and not self._is_undone(later)
            for later, each in enumerate(self.journal, 1)
        )

    def write(
        self,
        client: str,
        changed: Mapping[str, Fields | None],
        *,
        undoes: int | None = None,
        scopes: tuple[frozenset[str], frozenset[str]] | None = None,
    ) -> None:
        """Note new revisions, None for an erasure, with their entry in the journal.

        `scopes` are those made and removed, by default those made that new places of memories need.
        """
        made, removed = scopes or (frozenset(self._missing_scopes(changed)), frozenset())
        self.scopes = self.scopes - removed | made
        states: dict[str, tuple[Fields | None, Fields | None]] = {}
        revisions: dict[str, tuple[int, int]] = {}
        for memory_id, after in changed.items():
            known = self.memories.get(memory_id, [])
            states[memory_id] = (known[-1] if known else None, after)
            revisions[memory_id] = (len(known), 0 if after is None else len(known) + 1)
            if after is None:
                del self.memories[memory_id]
                self.erased.add(memory_id)
            else:
                self.memories[memory_id] = [*known, after]
                self.erased.discard(memory_id)
        self.journal.append(
            Change(
                client=client,
                undoes=undoes,
                states=states,
                revisions=revisions,
                made=made,
                removed=removed,
            )
        )

    def _missing_scopes(self, changed: Mapping[str, Fields | None]) -> Iterator[str]:
        for memory_id, after in changed.items():
            before = self.memories.get(memory_id, [None])[-1]
            if after is not None and after["scope"] not in self.scopes:
                comes_back = before is not None and (
                    before["status"] == "forgotten" != after["status"]
                )
                if before is None or comes_back or before["scope"] != after["scope"]:
                    yield after["scope"]

    def conflicts(self) -> set[frozenset[str]]:
        """Return the ids of current memories that hold one key at once and disagree."""
        chains: dict[tuple[str, str], list[tuple[datetime, str]]] = {}
        for memory_id, revisions in self.memories.items():
            each = revisions[-1]
            empty = ends_by(each, begin_of(each))
            if each["key"] is not None and each["status"] == "current" and not empty:
                place = (each["scope"], each["key"])
                chains.setdefault(place, []).append((begin_of(each), memory_id))
        found = (group for chain in chains.values() for group in self._at_once(sorted(chain)))
        return {
            frozenset(group)
            for group in found
            if len({self.now(each)["text"] for each in group}) > 1
        }

    def _at_once(self, chain: list[tuple[datetime, str]]) -> Iterator[list[str]]:
        group: list[str] = []
        for begin, memory_id in chain:
            if all(ends_by(self.now(each), begin) for each in group):
                yield group
                group = []
            group.append(memory_id)
        yield group


def begin_of(fields: Fields) -> datetime:
    """Return when a memory began to hold."""
    begin: datetime = fields["valid_from"] or fields["happened_at"]
    return begin


def ends_by(fields: Fields, moment: datetime) -> bool:
    """Tell whether a memory had ended at a moment."""
    return fields["valid_to"] is not None and fields["valid_to"] <= moment


def holds(fields: Fields, moment: datetime) -> bool:
    """Tell whether a memory held at a moment."""
    return begin_of(fields) <= moment and not ends_by(fields, moment)


def holds_strictly(fields: Fields, now: datetime) -> bool:
    """Return whether a memory holds now, by the clock of whoever stored it too."""
    return begin_of(fields) <= max(now, fields["stored_at"]) and not ends_by(fields, now)


def _ended(fields: Fields, by: Fields, now: datetime) -> Fields:
    """Return a memory that ends where another begins; the clock of either may be ahead."""
    end = begin_of(by) if fields["valid_to"] is None else min(begin_of(by), fields["valid_to"])
    status = "superseded" if end <= max(now, by["stored_at"]) else fields["status"]
    stored_at = max(now, fields["stored_at"])
    return {**fields, "valid_to": end, "status": status, "stored_at": stored_at}


def _same(one: Fields, other: Fields) -> bool:
    return {**one, "stored_at": None} == {**other, "stored_at": None}


def merged(tree: Mapping[str, Any], changes: Mapping[str, Any], *, top: bool = True) -> Fields:
    """Return a profile after changes: names in objects are merged, None takes away."""
    after = dict(tree)
    for name, value in changes.items():
        if isinstance(value, Mapping):
            inner = after.get(name)
            value = merged(inner if isinstance(inner, Mapping) else {}, value, top=False)
        if top and name == "notes" and isinstance(value, str):
            known = after.get(name, [])
            value = known if value in known else [*known, value]
        after[name] = value
    return {name: value for name, value in after.items() if value not in (None, {})}


def nested(path: tuple[str, ...], value: object) -> Fields:
    """Return a profile with one value."""
    name, *inner = path
    return {name: nested(tuple(inner), value) if inner else value}


def leaves(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[tuple[Any, Any]]:
    """Return the paths of a profile with their values."""
    return [
        leaf
        for name, value in tree.items()
        for leaf in (
            leaves(value, (*path, name)) if isinstance(value, Mapping) else [((*path, name), value)]
        )
    ]


def follow(entry: Entry, links: dict[tuple[str, str], Link]) -> None:
    """Carry out the steps of an entry on the links; those of an erased memory go with it."""
    for step in entry.action.links:
        link = step.after or step.before
        assert link is not None
        assert links.pop((link.source, link.target), None) == step.before
        if step.after is not None:
            links[link.source, link.target] = step.after
    gone = {step.id for step in entry.action.memories if step.after == 0}
    for ends in [each for each in links if gone & set(each)]:
        del links[ends]
