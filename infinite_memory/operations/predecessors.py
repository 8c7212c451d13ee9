"""What the hits of a search have superseded, and what has superseded a memory."""

from __future__ import annotations

from collections.abc import Sequence

from infinite_memory.model.criteria import Criteria
from infinite_memory.model.hits import Predecessor
from infinite_memory.model.link import Link, LinkType
from infinite_memory.model.memory import Memory, Status
from infinite_memory.operations.load_memories import sound_memories
from infinite_memory.operations.services import Services

__all__ = ["MOST_SHOWN", "predecessors", "successors"]

MOST_SHOWN = 3
"""Of so many memories at most that a hit has superseded a search speaks."""

_TEXT_CHARS = 300
_SHOWN = frozenset({Status.SUPERSEDED, Status.ARCHIVED})


def predecessors(
    services: Services, ids: Sequence[str], criteria: Criteria
) -> dict[str, tuple[Predecessor, ...]]:
    """Return what each of these memories has superseded, the latest first; left out where nothing.

    What is forgotten, or in a scope that `criteria` do not open, is not shown. One read of links,
    and one of memories where there are any.
    """
    links = [
        link
        for link in (services.storage.links(ids) if ids else ())
        if link.type is LinkType.SUPERSEDES and link.source in set(ids)
    ]
    memories = sound_memories(services, [link.target for link in links]) if links else {}
    found: dict[str, list[Predecessor]] = {}
    for link in links:
        memory = memories.get(link.target)
        if memory is not None and _may_be_shown(memory, criteria):
            found.setdefault(link.source, []).append(_predecessor(memory, link))
    return {
        source: tuple(sorted(each, key=lambda p: (p.ended_at, p.id), reverse=True)[:MOST_SHOWN])
        for source, each in found.items()
    }


def successors(services: Services, memory_id: str) -> list[str]:
    """Return the ids of the memories that have superseded this one, the latest first."""
    links = [
        link
        for link in services.storage.links([memory_id])
        if link.type is LinkType.SUPERSEDES and link.target == memory_id
    ]
    return [link.source for link in sorted(links, key=lambda link: link.made_at, reverse=True)]


def _may_be_shown(memory: Memory, criteria: Criteria) -> bool:
    return memory.status in _SHOWN and (criteria.scopes is None or memory.scope in criteria.scopes)


def _predecessor(memory: Memory, link: Link) -> Predecessor:
    text = memory.text
    if len(text) > _TEXT_CHARS:
        text = f"{text[: _TEXT_CHARS - 1].rstrip()}…"
    ended_at = link.made_at if memory.valid_to is None else memory.valid_to
    return Predecessor(id=memory.id, text=text, ended_at=ended_at)
