"""The scopes that exist for a confined store, and the masking of hints at hidden scopes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from uuid import NAMESPACE_OID, uuid5

from attrs import evolve, field, frozen

from infinite_memory.core.errors import AccessDenied, Conflict, UnknownScope
from infinite_memory.core.values.access.scope_pattern import (
    ScopePattern,
    check_scope_patterns,
    find_own_scope,
)
from infinite_memory.core.values.entry import Action, Entry, JournalEnd, ScopeStep, entry_digest
from infinite_memory.core.values.scope import (
    Scope,
    ScopeTable,
    Sensitivity,
    fold_name,
    names_spelled,
)


def changed_by_others(subject: str) -> Conflict:
    """Return the refusal of a commit whose caller saw an outdated state of `subject`."""
    return Conflict(
        f"nothing was stored, since others changed {subject}: read again what is there and repeat"
        " the change on it"
    )


def no_keys_here() -> AccessDenied:
    """Return the refusal of access keys in a store that was not opened as a whole."""
    return AccessDenied(
        "access keys belong to the whole store, and this one was opened for some scopes or for a"
        " client: open the store without scopes to manage its keys"
    )


def _check_names(names: Iterable[str]) -> tuple[str, ...]:
    return check_scope_patterns(names)


@frozen
class Confinement:
    """Names of scopes, and patterns of names, see `ScopePattern`: no other scope exists.

    Letter case does not count. A scope that is created later exists if its name matches.
    """

    names: tuple[str, ...] = field(converter=_check_names)
    _folded: frozenset[str] = field(init=False, repr=False)
    _patterns: tuple[ScopePattern, ...] = field(init=False, repr=False)

    @_folded.default
    def _fold(self) -> frozenset[str]:
        return frozenset(map(fold_name, self.names))

    @_patterns.default
    def _compile(self) -> tuple[ScopePattern, ...]:
        patterns = map(ScopePattern, self.names)
        return tuple([pattern for pattern in patterns if not pattern.is_name])

    @property
    def has_patterns(self) -> bool:
        """Whether scopes exist whose names are not in `names`."""
        return bool(self._patterns)

    def names_in(self, scopes: ScopeTable) -> Iterable[str]:
        """Return the names of `scopes` that may exist; it walks over them only for a pattern."""
        if self._patterns:
            return filter(self.allows, scopes)
        return [spelled for name in self.names for spelled in names_spelled(name, scopes)]

    @property
    def own_scope(self) -> str | None:
        """The scope of the person for whom the store is confined, None for none."""
        return find_own_scope(self.names)

    @property
    def default_scope(self) -> str:
        """The scope of a memory for which none is given: the first name, or one that matches."""
        patterns = list(map(ScopePattern, self.names))
        first = next((pattern for pattern in patterns if pattern.is_name), patterns[0])
        return first.first_name

    def choose(self, folded_names: Collection[str]) -> Collection[str]:
        """Return which of the names, as `fold_name` returns them, may exist.

        It walks over `folded_names`, which is a set or a view of keys, only for a pattern.
        """
        if self._patterns:
            return list(filter(self._allows_folded, folded_names))
        return [name for name in self._folded if name in folded_names]

    def allows(self, scope: str) -> bool:
        """Return whether a scope with the name `scope` may exist."""
        return self._allows_folded(fold_name(scope))

    def _allows_folded(self, folded: str) -> bool:
        return folded in self._folded or any(p.matches(folded) for p in self._patterns)

    def unknown(self, scope: str) -> UnknownScope:
        """Return the error for a scope outside; it does not reveal whether that scope exists."""
        return UnknownScope(
            f"there is no scope {scope!r:.160} here: this store was opened for"
            f" {', '.join(self.names)} alone"
        )

    def check(self, scope: str) -> None:
        """Refuse a scope outside.

        Raises:
            UnknownScope: `scope` is outside.
        """
        if not self.allows(scope):
            raise self.unknown(scope)

    def identity_of(self, identity: str) -> str:
        """Return the UUID of the confined view of the store with the `identity`."""
        return str(uuid5(NAMESPACE_OID, f"{identity}\n{self._join_sorted_names()}"))

    def mask_scope(self, scope: Scope) -> Scope:
        """Return `scope` as it is shown: without a parent outside, and open if it is one's own."""
        if scope.parent is not None and not self.allows(scope.parent):
            scope = evolve(scope, parent=None)
        if scope.sensitivity is Sensitivity.PRIVATE and self._is_own(scope):
            scope = evolve(scope, sensitivity=Sensitivity.NORMAL)
        return scope

    def unmask_scope(self, scope: Scope, stored: Scope) -> Scope:
        """Return `scope`, which was shown as `stored` is masked, with what the mask hides."""
        if scope.parent is None and stored.parent and not self.allows(stored.parent):
            scope = evolve(scope, parent=stored.parent)
        return evolve(scope, sensitivity=stored.sensitivity) if self._is_own(scope) else scope

    def close_own(self, scope: Scope) -> Scope:
        """Return a new scope as it must be stored: one's own is private, see `mask_scope`."""
        return evolve(scope, sensitivity=Sensitivity.PRIVATE) if self._is_own(scope) else scope

    def _is_own(self, scope: Scope) -> bool:
        return self.own_scope is not None and scope.folded_name == fold_name(self.own_scope)

    def hides_change(self, action: Action) -> bool:
        """Return whether `action` changes nothing about scopes but parents that are outside."""
        return bool(action.scopes) and all(
            step.before is not None
            and step.after is not None
            and step.before != step.after
            and self.mask_scope(step.before) == self.mask_scope(step.after)
            for step in action.scopes
        )

    def mask_entry(self, entry: Entry) -> Entry:
        """Return an entry of the journal as it is shown inside.

        Its digest covers only the masked entry: the digest in the chain depends on entries outside.
        """
        steps = tuple(
            ScopeStep(
                before=None if step.before is None else self.mask_scope(step.before),
                after=None if step.after is None else self.mask_scope(step.after),
            )
            for step in entry.action.scopes
        )
        # Access keys belong to the whole store, and do not exist inside.
        actor = evolve(entry.action.actor, key="")
        action = evolve(entry.action, scopes=steps, actor=actor)
        digest = entry_digest(JournalEnd().digest, entry.number, action.to_text())
        return Entry(number=entry.number, action=action, digest=digest)

    def _join_sorted_names(self) -> str:
        return "\n".join(sorted(self._folded))


def touched_ids(action: Action) -> Iterator[str]:
    """Yield the ids of the memories that `action` changed or linked."""
    for step in action.memories:
        yield step.id
    for link_step in action.links:
        for link in (link_step.before, link_step.after):
            if link is not None:
                yield from (link.source, link.target)


def touched_scopes(action: Action) -> Iterator[str]:
    """Yield the names of the scopes that `action` made, changed or removed."""
    for step in action.scopes:
        for scope in (step.before, step.after):
            if scope is not None:
                yield scope.name
