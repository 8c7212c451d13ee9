"""The cut of a search: how many of its matches are shown."""

from __future__ import annotations

from itertools import islice

from attrs import evolve

from infinite_memory.core.values.criteria import Cut, Depth
from infinite_memory.core.values.hits import MAY_ANSWER, SURE, Hit, Hits
from infinite_memory.core.values.question import Question
from infinite_memory.engine.retrieval.trust import may_be_pushed

# A further hit that may answer has at least this share of the best total.
_LEAST_OF_BEST = 0.5
_MOST_PUSHED = 3
_MOST_NEAREST = 2


def cut_hits(question: Question, hits: Hits) -> Hits:
    """Return `hits`, which have explanations, with those alone that the cut of `question` shows.

    The bars were chosen on a month of memories and on six smaller stores in six languages; see
    `docs/measurements/retrieval.md`.
    """
    if question.cut is Cut.WIDE or question.depth is not Depth.NORMAL or not hits:
        return hits
    kept = _select_shown(question.cut, hits) if hits.likely else []
    if len(kept) == len(hits):
        return hits
    # The first page alone tells whether anything may answer.
    is_unanswered = not kept and question.cut is Cut.ASKED and not question.offset
    dropped = [hit for hit in hits if hit not in kept]
    return evolve(
        hits,
        items=tuple(kept),
        is_cut=True,
        nearest=hits.items[:_MOST_NEAREST] if is_unanswered else (),
        more=hits.more + sum(1 + len(hit.twins) for hit in dropped),
        next=None,
    )


def _select_shown(cut: Cut, hits: Hits) -> list[Hit]:
    if cut is Cut.PUSHED:
        sure = (hit for hit in hits if hit.score >= SURE and may_be_pushed(hit.memory))
        return list(islice(sure, _MOST_PUSHED))
    least = _LEAST_OF_BEST * max(map(_total_of, hits))
    return [hit for hit in hits if hit.score >= MAY_ANSWER and _total_of(hit) >= least]


def _total_of(hit: Hit) -> float:
    return 0.0 if hit.explanation is None else hit.explanation.total
