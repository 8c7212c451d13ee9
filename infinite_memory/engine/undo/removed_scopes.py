"""Removed scopes: restore them for the memories that come back into them.

A scope can be removed while forgotten memories still name it. If such a memory comes back, its
scope is restored as it was; the memory never comes back into a less sensitive scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import define, evolve, field

from infinite_memory.core.errors import Conflict
from infinite_memory.core.values.commit import Commit, Expect
from infinite_memory.core.values.entry import Entry
from infinite_memory.core.values.memory import GLOBAL, Memory, Status
from infinite_memory.core.values.scope import Scope, Sensitivity, find_spelling, fold_name
from infinite_memory.engine.services import Services

_PAGE = 100


@define
class _Removal:
    """The removal of a scope: the scope before it, and the number of the entry.

    `was_private_since` says whether the present scope with the same name was ever private.
    """

    scope: Scope
    number: int
    was_private_since: bool


@define
class ScopeRestorer:
    """Finds the scope of every memory that comes back, and collects the part of the commit for it.

    `scopes` are the existing scopes and the restored scopes. Removals are read from the entries of
    the journal from the number `since` on.
    """

    services: Services
    scopes: dict[str, Scope]
    since: int
    _expected: dict[str, Scope | None] = field(factory=dict)
    _restored: list[Scope] = field(factory=list)
    _removals: Mapping[str, _Removal] | None = None

    @property
    def commit(self) -> Commit:
        """The part of a commit that restores the missing scopes."""
        expect = Expect(scopes=dict(self._expected))
        return Commit(expect=expect, scopes=tuple(self._restored))

    def find_scope(self, name: str) -> str:
        """Return the name of the scope for a memory that was in the scope `name`.

        That is the same scope, in its current spelling. If it was removed, it is restored.

        Raises:
            Conflict: the scope is less sensitive now than the scope that the memory was in, or it
                does not exist and the journal does not describe it.
        """
        if name == GLOBAL:
            return name
        present = self._find_present(name)
        if present is not None and present.sensitivity is not Sensitivity.PRIVATE:
            self._refuse_less_sensitive(present)
        return self._find_or_restore(name).name

    def find_parent(self, name: str) -> str:
        """Return the current spelling of the scope `name`; restore the scope if it was removed.

        Raises:
            Conflict: it does not exist and the journal does not describe it.
        """
        return self._find_or_restore(name).name

    def has_scope(self, name: str) -> bool:
        """Return whether a scope has this name in any letter case."""
        return self._find_present(name) is not None

    def put_scope(self, scope: Scope) -> Scope:
        """Add a scope that does not exist, and restore its ancestors that were removed."""
        self.scopes[scope.name] = scope
        if scope.parent is not None:
            parent = self.find_parent(scope.parent)
            scope = self.scopes[scope.name] = evolve(scope, parent=parent)
        self._expect_scope(scope.name, None)
        self._restored.append(scope)
        return scope

    def replace_scope(self, seen: Scope, scope: Scope) -> None:
        """Replace the scope `seen`, as it was read, by `scope`."""
        self.scopes[scope.name] = scope
        self._expect_scope(scope.name, seen)
        self._restored.append(scope)

    def _find_or_restore(self, name: str) -> Scope:
        present = self._find_present(name)
        if present is not None:
            self._expect_scope(present.name, present)
            return present
        removal = self._find_removal(name)
        if removal is None:
            raise Conflict(
                f"the scope {name!r} does not exist and the journal does not describe it: "
                "create it first, with the right sensitivity"
            )
        return self.put_scope(removal.scope)

    def _expect_scope(self, name: str, scope: Scope | None) -> None:
        """Refuse the commit if the scope is no longer `scope`, as it was first read."""
        self._expected.setdefault(name, scope)

    def _find_present(self, name: str) -> Scope | None:
        spelled = find_spelling(name, self.scopes)
        return None if spelled is None else self.scopes[spelled]

    def _refuse_less_sensitive(self, present: Scope) -> None:
        removal = self._find_removal(present.name)
        if (
            removal is not None
            and removal.scope.sensitivity is Sensitivity.PRIVATE
            and not removal.was_private_since
        ):
            raise Conflict(
                f"the scope {present.name!r} was private until entry {removal.number} removed it "
                "and was created again without that: make it private first, or choose another scope"
            )

    def _find_removal(self, name: str) -> _Removal | None:
        if self._removals is None:
            self._removals = _read_removals(read_entries(self.services, since=self.since))
        return self._removals.get(fold_name(name))


def read_entries(services: Services, *, since: int = 1) -> Iterator[Entry]:
    """Yield the entries of the journal from the number `since` on, newest first."""
    before = services.storage.journal_end().number + 1 if since > 1 else 2**62
    # No more is read than is asked for: an entry may be that of an import of 20,000 memories.
    while before > since:
        page = services.storage.journal(before=before, limit=min(_PAGE, before - since))
        yield from (entry for entry in page if entry.number >= since)
        before = page[-1].number if page else since


def forgotten_since(services: Services, memory: Memory) -> int:
    """Return the number of the entry that forgot a memory, the first if the journal lacks it."""
    revision = memory.revision
    for earlier in sorted(
        services.storage.history(memory.id), key=lambda revision: revision.revision, reverse=True
    ):
        if earlier.status is not Status.FORGOTTEN:
            break
        revision = min(revision, earlier.revision)
    before: int | None = None
    while True:
        page = services.storage.journal(before=before, limit=_PAGE, memory_id=memory.id)
        for entry in page:
            if any(s.id == memory.id and s.after == revision for s in entry.action.memories):
                return entry.number
        if len(page) < _PAGE:
            return 1
        before = page[-1].number


def _read_removals(entries: Iterable[Entry]) -> Mapping[str, _Removal]:
    """Return the first removal of every scope, by its folded name; `entries` come newest first.

    A scope of the same name may have been created and removed again later: that is another scope.
    """
    removals: dict[str, _Removal] = {}
    private: set[str] = set()
    for entry in entries:
        for step in reversed(entry.action.scopes):
            if step.after is not None:
                if step.after.sensitivity is Sensitivity.PRIVATE:
                    private.add(fold_name(step.after.name))
            elif step.before is not None:
                name = fold_name(step.before.name)
                later = removals.get(name)
                was_private = name in private if later is None else later.was_private_since
                removals[name] = _Removal(
                    scope=step.before, number=entry.number, was_private_since=was_private
                )
    return removals
