"""Search: the memories that answer a question, best first."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from infinite_memory.model.hits import Hit, Hits
from infinite_memory.model.question import Question, Ranking
from infinite_memory.model.search_options import Depth, Mode
from infinite_memory.operations.load_memories import load_memories
from infinite_memory.operations.retrieval.overview import overview
from infinite_memory.operations.retrieval.predecessors import load_predecessors
from infinite_memory.operations.retrieval.search_request import Asking, question_of
from infinite_memory.operations.services import Services

__all__ = ["search"]


def search(services: Services, asking: Asking) -> Hits:
    """Return the memories that answer a question best, as they are now in every process.

    Raises:
        InvalidInput: the question is empty, or a value cannot be used.
        UnknownScope: a scope was asked for that does not exist.
    """
    question = question_of(services, asking)
    if question.depth is not Depth.OVERVIEW:
        ranking = services.models.search(question)
        return _hits(question, ranking, _found(services, question, ranking))
    # The best passage is part of the explanation.
    ranking = services.models.search(evolve(question, explain=True))
    found = overview(services, question, _found(services, question, ranking))
    if not question.explain:
        found = [evolve(hit, explanation=None) for hit in found]
    return _hits(question, ranking, found)


def _found(services: Services, question: Question, ranking: Ranking) -> list[Hit]:
    memories = load_memories(services, [candidate.id for candidate in ranking.candidates])
    criteria, tense = question.criteria, question.criteria.tense
    strict = tense is not None and tense.mode is Mode.STRICT
    superseded = {} if strict else load_predecessors(services, list(memories), criteria)
    return [
        Hit(
            memory=memories[candidate.id],
            score=candidate.score,
            explanation=candidate.explanation,
            twins=candidate.twins,
            ended=tense is not None and memories[candidate.id].ended_by(tense.now),
            supersedes=superseded.get(candidate.id, ()),
        )
        for candidate in ranking.candidates
        # Another process may have changed or erased one since the index was read.
        if candidate.id in memories and criteria.admit(memories[candidate.id])
    ]


def _hits(question: Question, ranking: Ranking, found: Sequence[Hit]) -> Hits:
    scopes, tense = question.criteria.scopes, question.criteria.tense
    return Hits(
        items=tuple(found),
        scopes=None if scopes is None else tuple(sorted(scopes)),
        eligible=ranking.eligible,
        more=ranking.more,
        below=ranking.below,
        pending=ranking.pending,
        note=ranking.note,
        depth=question.depth,
        matches=ranking.matches,
        offset=question.offset,
        next=question.offset + len(ranking.candidates) if ranking.further else None,
        best=ranking.best,
        when=question.criteria.when,
        mode=Mode.CURRENT if tense is None else tense.mode,
        as_of=None if tense is None else tense.as_of,
        opened=question.criteria.opened,
        unopened=question.criteria.unopened,
    )
