"""Translates a commit by a confined store into a commit for the storage below."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from attrs import evolve, frozen

from infinite_memory.core.errors import Conflict, IdTaken
from infinite_memory.core.values.commit import Commit, Erase, Expect, Put
from infinite_memory.core.values.entry import Action, MemoryStep, ScopeStep
from infinite_memory.core.values.link import LinkKey
from infinite_memory.core.values.scope import Scope, ScopeTable, names_within
from infinite_memory.storage.confined.confinement import (
    Confinement,
    changed_by_others,
    no_keys_here,
)


def mentioned_ids(commit: Commit) -> Iterator[str]:
    """Yield the id of every memory that `commit` writes or links."""
    for memory_id, _, _ in commit.revisions():
        yield memory_id
    yield from (attach.id for attach in commit.attaches)
    yield from (detach.id for detach in commit.detaches)
    for key in (*commit.erased_links, *(link.key for link in commit.links)):
        yield from (key.source, key.target)


def needs_scopes(commit: Commit) -> bool:
    """Return whether the translation of `commit` depends on the scopes that exist."""
    expect, entry = commit.expect, commit.entry
    written = commit.scopes or commit.erased_scopes or (entry is not None and entry.scopes)
    return bool(expect.scopes or expect.unused or written)


@frozen(kw_only=True)
class Translation:
    """Turns a commit by a confined store into the commit for the storage below it.

    `scopes` has every scope of the storage below, and `outside` the ids of the memories that the
    commit mentions and that exist outside. A memory outside is treated as if it did not exist,
    except that a new memory cannot have its id. `quoting` are the ids of further summaries, most
    likely outside, that quote a memory which the commit erases: they are erased with it.
    """

    confinement: Confinement
    scopes: Mapping[str, Scope]
    outside: Collection[str]
    quoting: Collection[str] = ()

    def translate(self, commit: Commit) -> Commit:
        """Return the commit for the storage below, without writes to memories outside.

        Raises:
            UnknownScope: the commit writes or expects a scope outside.
            Conflict: it expects a memory that does not exist, or a scope that has changed.
            IdTaken: the id for a new memory belongs to a memory outside.
            AccessDenied: it writes or expects access keys.
        """
        if commit.access_keys or commit.expect.access_keys is not None or commit.past_entries:
            raise no_keys_here()
        # Every field is listed, so that a field which is not handled here cannot pass.
        return Commit(
            expect=self._translate_expect(commit.expect),
            erases=[
                *(erase for erase in commit.erases if self._may_erase(erase)),
                *(Erase(id=summary_id) for summary_id in self.quoting),
            ],
            puts=[self._check_put(put) for put in commit.puts],
            attaches=[attach for attach in commit.attaches if attach.id not in self.outside],
            detaches=[detach for detach in commit.detaches if detach.id not in self.outside],
            erased_links=[key for key in commit.erased_links if self._is_inside(key)],
            links=[link for link in commit.links if self._is_inside(link.key)],
            erased_scopes=[self._check_name(name) for name in commit.erased_scopes],
            scopes=[self._add_hidden(scope) for scope in commit.scopes],
            access_keys=(),
            active_model=commit.active_model,
            past_entries=(),
            entry=None if commit.entry is None else self._unmask_action(commit.entry),
        )

    def _may_erase(self, erase: Erase) -> bool:
        if erase.id in self.outside and erase.expected is not None:
            raise self._make_missing_error(erase.id, erase.expected)
        return erase.id not in self.outside

    def _is_inside(self, key: LinkKey) -> bool:
        return key.source not in self.outside and key.target not in self.outside

    def _check_name(self, name: str) -> str:
        self.confinement.check(name)
        return name

    def _translate_expect(self, expect: Expect) -> Expect:
        for key in expect.keys:
            self.confinement.check(key.scope)
        return Expect(
            scopes=self._translate_scopes(expect.scopes),
            unused=self._choose_unused(expect.unused),
            keys=expect.keys,
            contents=tuple(
                [
                    evolve(
                        content, scopes=frozenset(filter(self.confinement.allows, content.scopes))
                    )
                    for content in expect.contents
                ]
            ),
            access_keys=None,
            entry_number=expect.entry_number,
            lease=expect.lease,
        )

    def _check_put(self, put: Put) -> Put:
        self.confinement.check(put.memory.scope)
        if put.memory.id not in self.outside:
            return put
        if put.expected:
            raise self._make_missing_error(put.memory.id, put.expected)
        raise IdTaken(f"id {put.memory.id!r} is taken: choose another id")

    def _make_missing_error(self, memory_id: str, expected: int) -> Conflict:
        return changed_by_others(f"{memory_id!r} (expected revision {expected}, found none)")

    def _add_hidden(self, scope: Scope) -> Scope:
        """Return `scope` as it must be stored: with what it has and is not shown."""
        self.confinement.check(scope.name)
        if scope.parent is not None:
            self.confinement.check(scope.parent)
        stored = self.scopes.get(scope.name)
        if stored is None:
            return self.confinement.close_own(scope)
        return self.confinement.unmask_scope(scope, stored)

    def _translate_scopes(self, shown: Mapping[str, Scope | None]) -> dict[str, Scope | None]:
        """Return the scopes that were shown to a confined store as they are stored."""
        expected: dict[str, Scope | None] = {}
        for name, scope in shown.items():
            self.confinement.check(name)
            stored = self.scopes.get(name)
            if scope is None:
                expected[name] = None
            elif stored is None or self.confinement.mask_scope(stored) != scope:
                raise changed_by_others(f"the scope {name!r}")
            else:
                expected[name] = stored
        return expected

    def _choose_unused(self, unused: frozenset[str]) -> frozenset[str]:
        """Return the scopes that must be unused, without the parents of a scope outside.

        A scope outside does not exist here, so it cannot keep its parent in use, but the storage
        below would count it. The caller has already checked for memories in the parent.
        """
        for name in unused:
            self.confinement.check(name)
        scopes = ScopeTable.of(self.scopes)
        return frozenset(
            name for name in unused if all(map(self.confinement.allows, names_within(name, scopes)))
        )

    def _unmask_action(self, action: Action) -> Action:
        """Return `action` with the scopes as they are stored, so that an undo restores them.

        It also names the further summaries that are erased.
        """
        if self.quoting:
            erased = [MemoryStep(id=memory_id, before=0, after=0) for memory_id in self.quoting]
            action = evolve(action, memories=(*action.memories, *erased))
        if not action.scopes:
            return action
        steps = tuple(
            ScopeStep(
                before=self._translate_scope(step.before), after=self._translate_scope(step.after)
            )
            for step in action.scopes
        )
        return evolve(action, scopes=steps)

    def _translate_scope(self, scope: Scope | None) -> Scope | None:
        return None if scope is None else self._add_hidden(scope)
