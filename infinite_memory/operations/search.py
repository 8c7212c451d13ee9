"""Search: the memories that answer a question, best first."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

from attrs import evolve

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.depth import Depth
from infinite_memory.model.hits import Hit, Hits
from infinite_memory.model.record import Record
from infinite_memory.operations.asking import Asking, question_of
from infinite_memory.operations.overview import overview
from infinite_memory.operations.services import Services
from infinite_memory.search.query import Question, Ranking

__all__ = ["search"]

_log = logging.getLogger(__name__)


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
    records = _records(services, [candidate.id for candidate in ranking.candidates])
    return [
        Hit(
            memory=records[candidate.id].memory,
            score=candidate.score,
            explanation=candidate.explanation,
            twins=candidate.twins,
        )
        for candidate in ranking.candidates
        # Another process may have changed or erased one since the index was read.
        if candidate.id in records and question.criteria.admit(records[candidate.id].memory)
    ]


def _hits(question: Question, ranking: Ranking, found: Sequence[Hit]) -> Hits:
    scopes = question.criteria.scopes
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
    )


def _records(services: Services, ids: Sequence[str]) -> dict[str, Record]:
    """Return the records of these ids; one that was damaged since it was indexed is left out."""
    try:
        return services.storage.get(ids, models=())
    except StoreDamaged as error:
        _log.error("%s", error)
    records: dict[str, Record] = {}
    for memory_id in ids:
        with suppress(StoreDamaged):
            records.update(services.storage.get([memory_id], models=()))
    return records
