"""Load the memories that hits have superseded, and the ids that have superseded a memory."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.hits import Predecessor
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.question import Question
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.custom_search import search_models
from infinite_memory.engine.services import Services

MOST_SHOWN = 3
"""The most predecessors that are shown beside a hit."""

_TEXT_CHARS = 300
_SHOWN = frozenset({Status.SUPERSEDED, Status.ARCHIVED})
_CURRENT, _SUPERSEDED = frozenset({Status.CURRENT}), frozenset({Status.SUPERSEDED})
# The best superseded matches, and how often in a row a fact may have been replaced since.
_MOST_FORMER = 10
_MOST_STEPS = 4


def add_former_totals(services: Services, question: Question) -> Question:
    """Return `question` with the totals of superseded memories that match, for their successors.

    So the old wording of a fact finds the new one. Only for what holds now: a search that covers
    superseded memories finds them itself.
    """
    criteria = question.criteria
    if criteria.statuses != _CURRENT or criteria.tense is None or criteria.as_of is not None:
        return question
    past = evolve(
        criteria, statuses=_SUPERSEDED, unended_at=None, begun_at=None, leading=None, tense=None
    )
    ranking = search_models(
        services.models,
        evolve(
            question,
            criteria=past,
            limit=_MOST_FORMER,
            offset=0,
            about=None,
            spared=0,
            explain=True,
        ),
    )
    totals = {
        candidate.id: candidate.explanation.total
        for candidate in ranking.candidates
        if candidate.explanation is not None
    }
    former: dict[str, float] = {}
    for _ in range(_MOST_STEPS):
        links = services.storage.links(totals) if totals else ()
        totals = {
            link.source: totals[link.target]
            for link in sorted(links, key=lambda link: totals.get(link.target, 0.0))
            if link.type is LinkType.SUPERSEDES and link.target in totals
        }
        former |= {key: max(total, former.get(key, 0.0)) for key, total in totals.items()}
    return evolve(question, former=former) if former else question


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
    return Predecessor(id=memory.id, text=text, ended_at=ended_at)
