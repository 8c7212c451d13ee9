"""The journal: add the entry that describes a commit, and list entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import evolve

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.entry import (
    Action,
    Entry,
    LinkStep,
    MemoryStep,
    Operation,
    ScopeStep,
)
from infinite_memory.core.values.ids import check_id
from infinite_memory.core.values.link import Link, LinkKey
from infinite_memory.engine.services import Services
from infinite_memory.storage.hash_chain import EntryDamaged


def with_entry(
    services: Services,
    operation: Operation,
    commit: Commit,
    *,
    links: Iterable[Link] = (),
    undoes: int | None = None,
    reason: str = "",
    access_key: str | None = None,
) -> Commit:
    """Return `commit` with the journal entry that describes it.

    The entry takes the earlier scopes from `commit.expect`, and the earlier links from `links`,
    which exist now.
    """
    action = Action(
        at=services.clock(),
        actor=services.actor,
        operation=operation,
        memories=tuple(_make_memory_steps(commit)),
        scopes=tuple(_make_scope_steps(commit)),
        links=tuple(_make_link_steps(commit, {link.key: link for link in links})),
        undoes=undoes,
        reason=reason,
        access_key=access_key,
    )
    return evolve(commit, entry=action)


def log(
    services: Services, *, limit: int, before: int | None, memory_id: str | None
) -> list[Entry]:
    """Return entries of the journal, newest first; see `Journal.entries`.

    Raises:
        InvalidInput: a value cannot be used.
    """
    check_count(limit, "limit", low=1, high=10_000)
    if before is not None:
        check_count(before, "before", low=1, high=2**62)
    checked_id = None if memory_id is None else check_id(memory_id)
    return services.storage.journal(before=before, limit=limit, memory_id=checked_id)


def iter_sound_entries(storage: Storage, *, page: int = 500) -> Iterator[Entry]:
    """Yield the entries of the journal, newest first, and pass over damaged ones.

    `page` is how many are read at once.
    """
    before: int | None = None
    while entries := _read_sound(storage, before, page):
        yield from entries
        before = entries[-1].number


def _read_sound(storage: Storage, before: int | None, page: int) -> Sequence[Entry]:
    """Return the next sound entries, none at the beginning of the journal."""
    try:
        return storage.journal(before=before, limit=page)
    except EntryDamaged:
        pass
    while True:
        try:
            return storage.journal(before=before, limit=1)
        except EntryDamaged as error:
            before = error.number


def _make_memory_steps(commit: Commit) -> Iterable[MemoryStep]:
    """Return a step for every memory, from its first to its last revision in the commit."""
    steps: dict[str, MemoryStep] = {}
    for memory_id, expected, revision in commit.revisions():
        first = steps.get(memory_id)
        before = expected or 0 if first is None else first.before
        steps[memory_id] = MemoryStep(id=memory_id, before=before, after=revision)
    return steps.values()


def _make_scope_steps(commit: Commit) -> Iterable[ScopeStep]:
    seen = commit.expect.scopes
    for scope in commit.scopes:
        yield ScopeStep(before=seen.get(scope.name), after=scope)
    for name in commit.erased_scopes:
        yield ScopeStep(before=seen.get(name), after=None)


def _make_link_steps(commit: Commit, present: Mapping[LinkKey, Link]) -> Iterable[LinkStep]:
    for link in commit.links:
        yield LinkStep(before=present.get(link.key), after=link)
    for key in commit.erased_links:
        if key in present:
            yield LinkStep(before=present[key], after=None)
