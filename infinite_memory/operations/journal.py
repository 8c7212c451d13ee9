"""The journal: the entry that goes with the writes of a commit, and the entries that were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infinite_memory.model.checks import check_count
from infinite_memory.model.entry import (
    Action,
    Entry,
    LinkStep,
    MemoryStep,
    Operation,
    ScopeStep,
)
from infinite_memory.model.ids import check_id
from infinite_memory.model.link import Link
from infinite_memory.model.record import (
    Erase,
    EraseLink,
    EraseScope,
    ExpectScopes,
    Log,
    Put,
    PutLink,
    PutScope,
    Write,
)
from infinite_memory.model.scope import Scope
from infinite_memory.operations.services import Services

__all__ = ["log", "with_entry"]


def with_entry(
    services: Services,
    operation: Operation,
    writes: Sequence[Write],
    *,
    links: Iterable[Link] = (),
    undoes: int | None = None,
    reason: str = "",
    number: int | None = None,
) -> list[Write]:
    """Return `writes` with the entry that says what they do.

    What scopes and links were before is taken from an `ExpectScopes` among the writes, and from
    `links`, those that are there. With `number`, the commit is refused unless that becomes the
    number of the entry.
    """
    action = Action(
        at=services.clock(),
        actor=services.actor,
        operation=operation,
        memories=tuple(_memory_steps(writes)),
        scopes=tuple(_scope_steps(writes)),
        links=tuple(
            _link_steps(writes, {(each.source, each.target, each.type): each for each in links})
        ),
        undoes=undoes,
        reason=reason,
    )
    return [*writes, Log(action=action, number=number)]


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
    named = None if memory_id is None else check_id(memory_id)
    return services.storage.journal(before=before, limit=limit, memory_id=named)


def _memory_steps(writes: Sequence[Write]) -> Iterable[MemoryStep]:
    """Return a step for each memory; one that is written twice has its first and last revision."""
    steps: dict[str, MemoryStep] = {}
    for write in writes:
        if isinstance(write, Put):
            memory_id, before, after = write.memory.id, write.expected, write.memory.revision
        elif isinstance(write, Erase):
            memory_id, before, after = write.id, write.expected or 0, 0
        else:
            continue
        first = steps.get(memory_id)
        if first is not None:
            before = first.before
        steps[memory_id] = MemoryStep(id=memory_id, before=before, after=after)
    return steps.values()


def _scope_steps(writes: Sequence[Write]) -> Iterable[ScopeStep]:
    seen: dict[str, Scope | None] = {}
    for write in writes:
        if isinstance(write, ExpectScopes):
            seen |= write.scopes
        elif isinstance(write, PutScope):
            yield ScopeStep(before=seen.get(write.scope.name), after=write.scope)
        elif isinstance(write, EraseScope):
            yield ScopeStep(before=seen.get(write.name), after=None)


def _link_steps(
    writes: Sequence[Write], there: dict[tuple[str, str, str], Link]
) -> Iterable[LinkStep]:
    for write in writes:
        if isinstance(write, PutLink):
            link = write.link
            yield LinkStep(before=there.get((link.source, link.target, link.type)), after=link)
        elif isinstance(write, EraseLink):
            before = there.get((write.source, write.target, write.type))
            if before is not None:
                yield LinkStep(before=before, after=None)
