"""What a confined store may write, as the storage below it is to carry it out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import assert_never

from attrs import evolve, frozen

from infinite_memory.errors import Conflict, IdTaken
from infinite_memory.model.entry import Action, ScopeStep
from infinite_memory.model.record import (
    Attach,
    Detach,
    Erase,
    EraseLink,
    EraseScope,
    ExpectContent,
    ExpectKey,
    ExpectScopes,
    Log,
    Put,
    PutLink,
    PutScope,
    Write,
)
from infinite_memory.model.scope import Scope
from infinite_memory.storage.confined.confinement import Confinement, changed_by_others

__all__ = ["Translation", "mentioned_ids", "needs_scopes"]

_OF_SCOPES = (EraseScope, ExpectScopes, PutScope)


def mentioned_ids(writes: Sequence[Write]) -> Iterator[str]:
    """Yield the id of each memory that one of `writes` is about."""
    for write in writes:
        if isinstance(write, Put):
            yield write.memory.id
        elif isinstance(write, Attach | Detach | Erase):
            yield write.id
        elif isinstance(write, PutLink):
            yield from (write.link.source, write.link.target)
        elif isinstance(write, EraseLink):
            yield from (write.source, write.target)


def needs_scopes(writes: Sequence[Write]) -> bool:
    """Return whether the scopes that are there matter to the translation of `writes`."""
    return any(
        isinstance(write, _OF_SCOPES) or (isinstance(write, Log) and write.action.scopes)
        for write in writes
    )


@frozen(kw_only=True)
class Translation:
    """Turns writes by a confined store into those for the storage below it.

    `scopes` are all that are there, and `outside` those of the mentioned memories that exist
    outside. What is outside is dealt with as if it were not there. The only difference is that its
    id cannot be given to a new memory.
    """

    confinement: Confinement
    scopes: Mapping[str, Scope]
    outside: Collection[str]

    def translate(self, writes: Sequence[Write]) -> list[Write]:
        """Return the writes for the storage below; what would change nothing is left out.

        Raises:
            UnknownScope: one is about a scope outside.
            Conflict: one expects a memory that is not there, or scopes that are not so.
            IdTaken: the id for a new memory belongs to one outside.
        """
        return [inner for write in writes for inner in self._translated(write)]

    def _translated(self, write: Write) -> Iterator[Write]:
        if isinstance(write, Put):
            yield self._checked_put(write)
        elif isinstance(write, Erase):
            if write.id not in self.outside:
                yield write
            elif write.expected is not None:
                raise self._missing(write.id, write.expected)
        elif isinstance(write, Attach | Detach):
            if write.id not in self.outside:
                yield write
        elif isinstance(write, PutLink | EraseLink):
            if not any(memory_id in self.outside for memory_id in mentioned_ids([write])):
                yield write
        elif isinstance(write, Log):
            yield self._unmasked_log(write)
        else:
            yield self._translated_condition(write)

    def _checked_put(self, write: Put) -> Put:
        self.confinement.check(write.memory.scope)
        if write.memory.id not in self.outside:
            return write
        if write.expected:
            raise self._missing(write.memory.id, write.expected)
        raise IdTaken(f"id {write.memory.id!r} is taken: choose another id")

    def _missing(self, memory_id: str, expected: int) -> Conflict:
        return changed_by_others(f"{memory_id!r} (expected revision {expected}, found none)")

    def _translated_condition(
        self, write: PutScope | EraseScope | ExpectScopes | ExpectKey | ExpectContent
    ) -> Write:
        if isinstance(write, PutScope):
            return PutScope(scope=self._with_hidden_parent(write.scope))
        if isinstance(write, EraseScope):
            self.confinement.check(write.name)
            return write
        if isinstance(write, ExpectScopes):
            return self._expected_scopes(write)
        if isinstance(write, ExpectKey):
            self.confinement.check(write.scope)
            return write
        if isinstance(write, ExpectContent):
            return evolve(write, scopes=frozenset(filter(self.confinement.allows, write.scopes)))
        # A kind of write that nobody has thought of here must not pass.
        assert_never(write)

    def _with_hidden_parent(self, scope: Scope) -> Scope:
        """Return `scope` as it is to be stored: a parent that is hidden stays its parent."""
        self.confinement.check(scope.name)
        if scope.parent is not None:
            self.confinement.check(scope.parent)
            return scope
        stored = self.scopes.get(scope.name)
        if stored is None or self.confinement.mask_scope(stored) == stored:
            return scope
        return evolve(scope, parent=stored.parent)

    def _expected_scopes(self, write: ExpectScopes) -> ExpectScopes:
        expected: dict[str, Scope | None] = {}
        for name, seen in write.scopes.items():
            self.confinement.check(name)
            stored = self.scopes.get(name)
            if seen is None:
                expected[name] = None
            elif stored is None or self.confinement.mask_scope(stored) != seen:
                raise changed_by_others(f"the scope {name!r}")
            else:
                expected[name] = stored
        for name in write.unused:
            self.confinement.check(name)
        hidden = [each for each in self.scopes.values() if not self.confinement.allows(each.name)]
        hidden_parents = {scope.parent for scope in hidden}
        # A scope outside that has this one as its parent does not exist here, so it cannot keep
        # this one in use; the storage below would count it. Memories in it were looked for before.
        return ExpectScopes(scopes=expected, unused=write.unused - hidden_parents)

    def _unmasked_log(self, write: Log) -> Log:
        return evolve(write, action=self._unmasked(write.action))

    def _unmasked(self, action: Action) -> Action:
        """Return an action with the scopes as they are stored, so that its undo restores them."""
        if not action.scopes:
            return action
        steps = tuple(
            ScopeStep(before=self._as_stored(step.before), after=self._as_stored(step.after))
            for step in action.scopes
        )
        return evolve(action, scopes=steps)

    def _as_stored(self, scope: Scope | None) -> Scope | None:
        return None if scope is None else self._with_hidden_parent(scope)
