"""The scopes that exist for a confined store, and the masking of hints at hidden scopes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from uuid import NAMESPACE_OID, uuid5

from attrs import evolve, field, frozen

from infinite_memory.errors import Conflict, InvalidInput, UnknownScope
from infinite_memory.model.entry import Action, Entry, JournalEnd, ScopeStep, entry_digest
from infinite_memory.model.scope import Scope, fold_name

__all__ = ["Confinement", "changed_by_others", "touched_ids", "touched_scopes"]


def changed_by_others(subject: str) -> Conflict:
    """Return the refusal of a commit whose caller saw an outdated state of `subject`."""
    return Conflict(
        f"nothing was stored, since others changed {subject}: read again what is there and repeat"
        " the change on it"
    )


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names without repeats, each name in its first spelling.

    Raises:
        InvalidInput: there is no name, or a name is empty.
    """
    spellings: dict[str, str] = {}
    for name in names:
        spellings.setdefault(fold_name(name), name.strip())
    if not spellings or "" in spellings:
        raise InvalidInput(
            f"scopes {list(spellings.values())!r:.160} cannot be used: name at least one scope, or"
            " leave it out to open every scope"
        )
    return tuple(spellings.values())


@frozen
class Confinement:
    """The names of the only scopes that exist; letter case does not count."""

    names: tuple[str, ...] = field(converter=_distinct)
    _folded: frozenset[str] = field(init=False, repr=False)

    @_folded.default
    def _fold(self) -> frozenset[str]:
        return frozenset(map(fold_name, self.names))

    @property
    def digest(self) -> str:
        """A digest of the scopes, for the name of a file that belongs to them."""
        return blake2b(self._sorted_names().encode(), digest_size=8).hexdigest()

    def allows(self, scope: str) -> bool:
        """Return whether a scope with the name `scope` may exist."""
        return fold_name(scope) in self._folded

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
        return str(uuid5(NAMESPACE_OID, f"{identity}\n{self._sorted_names()}"))

    def mask_scope(self, scope: Scope) -> Scope:
        """Return `scope` without a parent that is outside."""
        if scope.parent is None or self.allows(scope.parent):
            return scope
        return evolve(scope, parent=None)

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
        action = evolve(entry.action, scopes=steps)
        digest = entry_digest(JournalEnd().digest, entry.number, action.to_text())
        return Entry(number=entry.number, action=action, digest=digest)

    def _sorted_names(self) -> str:
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
