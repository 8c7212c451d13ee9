"""Choose of an archive what belongs to one scope, such as that of a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from infinite_memory.core.errors import UnknownScope
from infinite_memory.core.values.access.scope_pattern import ScopePattern, check_scope_pattern
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import GLOBAL, Memory
from infinite_memory.core.values.messages import suggest_name
from infinite_memory.core.values.record import Embedding
from infinite_memory.core.values.scope import Scope, visible_from
from infinite_memory.features.archive.transfer.records import MemoryUsage, Record

Sized: TypeAlias = tuple[Record, int]
"""A record, and its length in bytes."""


def pick_scope(records: Iterable[Sized], name: str) -> Iterator[Sized]:
    """Yield what belongs to the scopes that a name or a pattern names, and to those within them.

    `records` are in the order of an archive. A memory is where its last revision is, and comes with
    its whole history. A link belongs to the scopes if both of its memories do. Access keys, erased
    ids and the journal belong to none.

    Raises:
        UnknownScope: there is no such scope.
        InvalidInput: the pattern cannot be used.
    """
    pattern = ScopePattern(check_scope_pattern(name))
    scopes: dict[str, Scope] = {}
    chosen: Mapping[str, Scope] | None = None
    ids: set[str] = set()
    waiting: list[Sized] = []  # the revisions and embeddings of one memory
    for record, size in records:
        if isinstance(record, Scope):
            scopes[record.name] = record
            continue
        if chosen is None and isinstance(record, Memory):
            chosen = _choose_scopes(scopes, pattern)
            yield from ((scope, 0) for scope in chosen.values())
        if not (isinstance(record, Embedding) or _is_next_revision(waiting, record)):
            yield from _settle(waiting, chosen or {}, ids)
            waiting = []
        if isinstance(record, Memory | Embedding):
            waiting.append((record, size))
        elif isinstance(record, Link):
            if {record.source, record.target} <= ids:
                yield record, size
        elif isinstance(record, MemoryUsage) and record.id in ids:
            yield record, size
    if chosen is None:
        chosen = _choose_scopes(scopes, pattern)
        yield from ((scope, 0) for scope in chosen.values())
    yield from _settle(waiting, chosen, ids)


def _choose_scopes(scopes: Mapping[str, Scope], pattern: ScopePattern) -> dict[str, Scope]:
    named = {name for name, scope in scopes.items() if pattern.matches(scope.folded_name)}
    if not named:
        raise UnknownScope(
            f"the backup has no scope {pattern.text!r}: the nearest is"
            f" {suggest_name(pattern.text, scopes or [GLOBAL])!r}; nothing was changed"
        )
    above = named - {GLOBAL}
    return {
        name: scope
        for name, scope in scopes.items()
        if name in named or above.intersection(visible_from(name, scopes))
    }


def _is_next_revision(waiting: list[Sized], record: Record) -> bool:
    first = waiting[0][0] if waiting else None
    return isinstance(first, Memory) and isinstance(record, Memory) and first.id == record.id


def _settle(waiting: list[Sized], chosen: Mapping[str, Scope], ids: set[str]) -> Iterator[Sized]:
    """Yield the records of one memory if it is in a chosen scope, and note its id."""
    revisions = [record for record, _ in waiting if isinstance(record, Memory)]
    if revisions and revisions[-1].scope in chosen:
        ids.add(revisions[-1].id)
        yield from waiting
