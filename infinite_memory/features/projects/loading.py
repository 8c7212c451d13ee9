"""Load chunks: those of a repository, of a session, and those that are linked to one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Kind, Status
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.browse import load_page
from infinite_memory.engine.services import Services
from infinite_memory.features.projects.chunk import CHUNK_KINDS, Chunk, WorkOutcome, chunk_of

IN_FORCE = frozenset({Status.CURRENT})
KEPT = frozenset({Status.CURRENT, Status.ARCHIVED})
"""The statuses of chunks that are remembered; old work is archived, and still happened."""

CONTRADICTS = "decides the same component in another way"
"""The reason of the link between two decisions that contradict."""

_MOST = 2000
_PAGE = 500
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)
_AROUND = timedelta(days=2)
_MAX_THREAD = 12
_STEPS = 2
_DONE = (WorkOutcome.SUCCESS, WorkOutcome.ABANDONED)


def load_chunks(
    services: Services,
    scopes: Collection[str],
    *,
    kinds: Collection[Kind] = CHUNK_KINDS,
    statuses: Collection[Status] = KEPT,
    since: datetime | None = None,
    until: datetime | None = None,
    most: int = _MOST,
) -> list[Chunk]:
    """Return the newest chunks in the scopes, newest first, `most` at most."""
    if not scopes:
        return []
    criteria = Criteria(
        scopes=frozenset(scopes),
        kinds=frozenset(kinds),
        statuses=frozenset(statuses),
        since=since,
        until=until,
    )
    chunks: list[Chunk] = []
    after: str | None = None
    while len(chunks) < most:
        size = min(_PAGE, most - len(chunks))
        page = load_page(services.storage, criteria, size, after)
        chunks += map(chunk_of, page.memories)
        after = page.next
        if after is None:
            break
    return chunks


def around(first: datetime, last: datetime, margin: timedelta) -> tuple[datetime, datetime]:
    """Return a span of time with a margin, as far as the calendar reaches."""
    return max(first, _EARLIEST + margin) - margin, min(last, _LATEST - margin) + margin


def load_session(services: Services, chunk: Chunk) -> list[Chunk]:
    """Return the chunks of the session of a chunk, in the order of time."""
    if chunk.session is None:
        return [chunk]
    since, until = around(chunk.happened_at, chunk.happened_at, _AROUND)
    near = load_chunks(services, {chunk.scope}, since=since, until=until)
    return [other for other in reversed(near) if other.session == chunk.session]


def load_thread(services: Services, chunk: Chunk) -> list[Chunk]:
    """Return how a piece of work went, in the order of time: problem, investigation, solution.

    The thread of a chunk are the chunks that are linked to it, and those of its session that
    changed or read one of its files; all of its scope.
    """
    thread = {chunk.id: chunk}
    thread.update({other.id: other for other in _load_linked(services, chunk)})
    files = set(chunk.files)
    for other in load_session(services, chunk):
        if files & set(other.files):
            thread.setdefault(other.id, other)
    in_order = sorted(thread.values(), key=lambda item: (item.happened_at, item.id))
    if len(in_order) <= _MAX_THREAD:
        return in_order
    middle = [item.id for item in in_order].index(chunk.id)
    start = max(0, min(middle - _MAX_THREAD // 2, len(in_order) - _MAX_THREAD))
    return in_order[start : start + _MAX_THREAD]


def _load_linked(services: Services, chunk: Chunk) -> Sequence[Chunk]:
    """Return the chunks that links of related work lead to, in both directions."""
    known: dict[str, Chunk] = {chunk.id: chunk}
    border = {chunk.id}
    for _ in range(_STEPS):
        ids = {
            memory_id
            for link in services.storage.links(border)
            if link.type is LinkType.CONTEXT
            for memory_id in (link.source, link.target)
        } - known.keys()
        border = set(sorted(ids)[:_MAX_THREAD])
        if not border:
            break
        for memory in load_memories(services, sorted(border)).values():
            if memory.scope == chunk.scope and memory.status in KEPT and memory.kind in CHUNK_KINDS:
                known[memory.id] = chunk_of(memory)
        border &= known.keys()
    del known[chunk.id]
    return list(known.values())


def find_open(services: Services, chunks: Sequence[Chunk], since: datetime) -> list[Chunk]:
    """Return the unfinished work since a moment, newest first; the chunks come newest first.

    A chunk is unfinished if it failed, is in progress or is an unsolved problem, and nothing that
    was done later on its files, or is linked to it, succeeded or was abandoned.
    """
    unfinished = []
    done: set[str] = set()
    for chunk in chunks:
        if chunk.happened_at < since:
            break
        if chunk.is_open:
            if chunk.status in IN_FORCE and not done & set(chunk.files):
                unfinished.append(chunk)
        elif _is_end(chunk):
            done.update(chunk.files)
    answered = _find_answered(services, unfinished, chunks)
    return [chunk for chunk in unfinished if chunk.id not in answered]


def _is_end(chunk: Chunk) -> bool:
    return chunk.outcome in _DONE or (chunk.kind is Kind.SOLUTION and not chunk.is_open)


def _find_answered(
    services: Services, unfinished: Sequence[Chunk], chunks: Sequence[Chunk]
) -> set[str]:
    """Return the ids of the unfinished chunks to which later work that came to an end is linked."""
    begun = {chunk.id: chunk.happened_at for chunk in unfinished}
    ended = {chunk.id: chunk.happened_at for chunk in chunks if _is_end(chunk) or chunk.is_solved}
    if not begun or not ended:
        return set()
    return {
        one
        for link in services.storage.links(begun)
        if link.type is LinkType.CONTEXT
        for one, other in ((link.source, link.target), (link.target, link.source))
        if one in begun and other in ended and ended[other] >= begun[one]
    }


def find_conflicts(services: Services, chunks: Iterable[Chunk]) -> list[tuple[Chunk, Chunk]]:
    """Return the pairs of decisions in force that contradict, the later one first in each."""
    in_force = {
        chunk.id: chunk
        for chunk in chunks
        if chunk.kind is Kind.DECISION and chunk.status in IN_FORCE
    }
    pairs = [
        (in_force[link.source], in_force[link.target])
        for link in (services.storage.links(in_force) if in_force else ())
        if link.type is LinkType.CONTEXT
        and link.reason == CONTRADICTS
        and {link.source, link.target} <= in_force.keys()
    ]
    return sorted(pairs, key=lambda pair: pair[0].happened_at, reverse=True)
