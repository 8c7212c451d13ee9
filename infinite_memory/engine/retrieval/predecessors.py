"""Load the memories that hits have superseded, and the ids that have superseded a memory."""

from __future__ import annotations

from collections.abc import Sequence

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.hits import Predecessor
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.services import Services

MOST_SHOWN = 3
"""The most predecessors that are shown beside a hit."""

_TEXT_CHARS = 300
_SHOWN = frozenset({Status.SUPERSEDED, Status.ARCHIVED})


def load_predecessors(
    services: Services, ids: Sequence[str], criteria: Criteria
) -> dict[str, tuple[Predecessor, ...]]:
    """Map the ids of memories to the memories that they have superseded, the latest first.

    Forgotten memories, and memories in scopes that `criteria` do not open, are omitted; so are ids
    without predecessors. It takes one read of links, and at most one of memories.
    """
    links = [
        link
        for link in (services.storage.links(ids) if ids else ())
        if link.type is LinkType.SUPERSEDES and link.source in set(ids)
    ]
    memories = load_memories(services, [link.target for link in links]) if links else {}
    by_source: dict[str, list[Predecessor]] = {}
    for link in links:
        memory = memories.get(link.target)
        if memory is not None and _may_be_shown(memory, criteria):
            by_source.setdefault(link.source, []).append(_summarize(memory, link))
    return {
        source: tuple(sorted(group, key=lambda p: (p.ended_at, p.id), reverse=True)[:MOST_SHOWN])
        for source, group in by_source.items()
    }


def successor_ids(services: Services, memory_id: str) -> list[str]:
    """Return the ids of the memories that have superseded this memory, the latest first."""
    links = [
        link
        for link in services.storage.links([memory_id])
        if link.type is LinkType.SUPERSEDES and link.target == memory_id
    ]
    return [link.source for link in sorted(links, key=lambda link: link.made_at, reverse=True)]


def _may_be_shown(memory: Memory, criteria: Criteria) -> bool:
    return memory.status in _SHOWN and (criteria.scopes is None or memory.scope in criteria.scopes)


def _summarize(memory: Memory, link: Link) -> Predecessor:
    text = memory.text
    if len(text) > _TEXT_CHARS:
        text = f"{text[: _TEXT_CHARS - 1].rstrip()}…"
    ended_at = link.made_at if memory.valid_to is None else memory.valid_to
    return Predecessor(id=memory.id, text=text, ended_at=ended_at, sources=memory.sources)
