"""What an undo has to do, worked out from plain dictionaries by the rules of the guide to undo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from attrs import define, evolve, field, frozen

from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import GLOBAL
from infinite_memory.core.values.scope import Scope, fold_name

Fields: TypeAlias = dict[str, Any]
"""The fields of a memory but for its revision and when it was stored."""
Step: TypeAlias = tuple[Fields | None, Fields | None]
"""A memory before and after a change, None where there is none."""

NONE = Scope(name="")
"""Stands for a scope where there is none."""


@frozen(kw_only=True)
class Change:
    """An entry of the journal, with the state of each memory and scope before and after it."""

    number: int
    process: str
    operation: Operation
    undoes: int | None
    memories: dict[str, Step]
    scopes: list[tuple[Scope | None, Scope | None]]


class Refusal(Exception):
    """The model says that an entry cannot be undone."""


@define
class UndoModel:
    """What is visible, and every change with what was before it."""

    memories: dict[str, Fields] = field(factory=dict)
    scopes: dict[str, Scope] = field(factory=lambda: {GLOBAL: Scope(name=GLOBAL)})
    changes: dict[int, Change] = field(factory=dict)

    def standing(self) -> Iterator[Change]:
        """Yield the changes that are neither undone nor undos, newest first."""
        undone: set[int] = set()
        for number in sorted(self.changes, reverse=True):
            change = self.changes[number]
            if number in undone:
                continue
            if change.undoes is not None:
                undone.add(change.undoes)
            else:
                yield change

    def choose(self, process: str) -> tuple[Change | None, list[int]]:
        """Return the change that an undo without a number takes back, and those it skips."""
        skipped = []
        for change in self.standing():
            if change.process == process:
                try:
                    self.reverse(change)
                except Refusal:
                    skipped.append(change.number)
                else:
                    return change, skipped
        return None, skipped

    def reverse(self, change: Change) -> tuple[dict[str, Fields], dict[str, Scope]]:
        """Return the memories and the scopes that there are after the undo of a change."""
        scopes = dict(self.scopes)
        restored: dict[str, Fields] = {}
        for memory_id, (before, after) in change.memories.items():
            if after is None or self._was_erased(memory_id, change.number):
                continue
            current = self.memories[memory_id]
            if not _is_same(current, after):
                raise Refusal(memory_id)
            restored[memory_id] = {**current, "status": "forgotten"} if before is None else before
        acted = self._restore_scopes(change, scopes) or bool(restored)
        for memory_id, fields in restored.items():
            current = self.memories[memory_id]
            stays = current["status"] != "forgotten" and current["scope"] == fields["scope"]
            if fields["status"] != "forgotten" and not stays:
                name = self._find_scope(fields["scope"], scopes, change.number)
                restored[memory_id] = {**fields, "scope": name}
        memories = {**self.memories, **restored}
        if not self._remove_scopes(change, scopes, memories) and not acted:
            raise Refusal("nothing left")
        return memories, scopes

    def _was_erased(self, memory_id: str, since: int) -> bool:
        return any(
            number > since and change.memories.get(memory_id, (None, {}))[1] is None
            for number, change in self.changes.items()
        )

    def _restore_scopes(self, change: Change, scopes: dict[str, Scope]) -> bool:
        acted = False
        for before, after in change.scopes:
            if before is None:
                continue
            try:
                if after is None and _spelled(before.name, scopes) is not None:
                    raise Refusal(before.name)
                if after is not None and self.scopes.get(before.name) != after:
                    raise Refusal(before.name)
                self._put_scope(before, scopes, change.number)
                acted = True
            except Refusal:
                if not change.memories:
                    raise
        return acted

    def _put_scope(self, scope: Scope, scopes: dict[str, Scope], since: int) -> None:
        if scope.parent is not None:
            parent = _spelled(scope.parent, scopes) or self._bring_back(scope.parent, scopes, since)
            scope = evolve(scope, parent=parent.name)
            above: Scope | None = parent
            while above is not None:
                if above.name == scope.name:
                    raise Refusal("a circle")
                above = None if above.parent is None else scopes.get(above.parent)
        scopes[scope.name] = scope

    def _bring_back(self, name: str, scopes: dict[str, Scope], since: int) -> Scope:
        removed = self._removal(name, since)
        if removed is None:
            raise Refusal(f"{name} is unknown")
        self._put_scope(removed[0], scopes, since)
        return scopes[removed[0].name]

    def _removal(self, name: str, since: int) -> tuple[Scope, bool] | None:
        """Return a scope as it was before its first removal, and whether the present was private.

        What was removed later is another scope of the same name.
        """
        steps = [
            step
            for number in sorted(self.changes)
            if number >= since
            for step in self.changes[number].scopes
            if fold_name((step[0] or step[1] or NONE).name) == fold_name(name)
        ]
        removed = [position for position, (_, after) in enumerate(steps) if after is None]
        if not removed:
            return None
        before, _ = steps[removed[0]]
        assert before is not None
        later = [after for _, after in steps[removed[-1] + 1 :] if after is not None]
        return before, any(after.sensitivity == "private" for after in later)

    def _find_scope(self, name: str, scopes: dict[str, Scope], since: int) -> str:
        if name == GLOBAL:
            return name
        present = _spelled(name, scopes)
        if present is None:
            return self._bring_back(name, scopes, since).name
        removed = self._removal(name, since)
        if present.sensitivity != "private" and removed is not None:
            before, was_private = removed
            if before.sensitivity == "private" and not was_private:
                raise Refusal("less sensitive")
        return present.name

    def _remove_scopes(
        self, change: Change, scopes: dict[str, Scope], memories: dict[str, Fields]
    ) -> bool:
        acted = False
        for before, after in reversed(change.scopes):
            if before is not None or after is None:
                continue
            used = {scope.parent for scope in scopes.values()}
            used |= {each["scope"] for each in memories.values() if each["status"] != "forgotten"}
            if scopes.get(after.name) == after and after.name not in used:
                del scopes[after.name]
                acted = True
            elif not change.memories:
                raise Refusal(after.name)
        return acted


def _spelled(name: str, scopes: dict[str, Scope]) -> Scope | None:
    return next((s for s in scopes.values() if fold_name(s.name) == fold_name(name)), None)


def _is_same(current: Fields, left: Fields) -> bool:
    scopes = fold_name(current["scope"]) == fold_name(left["scope"])
    return scopes and {**current, "scope": ""} == {**left, "scope": ""}
