"""How a candidate came to its score, step by step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from infinite_memory.model.hits import Explanation
from infinite_memory.search.conversation_scoring import ConversationScores
from infinite_memory.search.cosine import ABSENT, QueryVector, best_passage
from infinite_memory.search.scoring import Places, SegmentScores
from infinite_memory.search.weights import Weights

__all__ = ["explain"]

Scores = NDArray[np.float32]
_IN_CONTEXT = ("parts", "around", "quoted", "asks", "important", "conversation")


def explain(
    scores: Sequence[SegmentScores],
    one: SegmentScores,
    place: int,
    *,
    context: ConversationScores | None,
    weights: Weights,
    query: QueryVector | None,
) -> Explanation:
    """Return how the document at `place` of `one`, one of `scores`, came to its total.

    `query` is the vector of the whole question, None where vectors were not compared.
    """
    doc = one.selection.doc(place)
    at = np.array([place])
    cosine, found = one.cosine[place], one.bm25[place]
    return Explanation(
        cosine=float(cosine) if cosine > ABSENT else None,
        bm25=float(found),
        meaning_rank=(
            _rank_of(cosine, [other.cosine for other in scores]) if one.meaning(at)[0] > 0 else None
        ),
        words_rank=_rank_of(found, [other.bm25 for other in scores]) if found > 0 else None,
        passage=best_passage(query, one.segment, doc) if query is not None else None,
        **_steps(one, at, _row_of(scores, one, doc, context), context, weights),
    )


def _steps(
    one: SegmentScores,
    at: Places,
    row: int | None,
    context: ConversationScores | None,
    weights: Weights,
) -> dict[str, float]:
    """Return what each step gave; they add up to the total."""
    steps = {
        "meaning": weights.meaning * float(one.meaning(at)[0]),
        "words": weights.words * float(one.words(at)[0]),
        "speaker": weights.speaker * float(one.speaker(at)[0]),
    }
    total = float(one.total[at][0])
    if context is not None and row is not None:
        for step in _IN_CONTEXT:
            steps[step] = float(getattr(context, step)[row])
    else:
        own = sum(steps.values())
        steps.update(dict.fromkeys(_IN_CONTEXT, 0.0))
        alone = total / (1 + weights.conversation)
        if one.segment.important[one.selection.doc(int(at[0]))]:
            steps["important"] = alone - alone / (1 + weights.important)
        steps["asks"] = alone - own - steps["important"]
        steps["conversation"] = total - alone
    return {**steps, "total": total}


def _row_of(
    scores: Sequence[SegmentScores],
    one: SegmentScores,
    doc: int,
    context: ConversationScores | None,
) -> int | None:
    if context is None:
        return None
    part = next(number for number, other in enumerate(scores) if other is one)
    near = context.near
    rows = near.wanted[(near.part[near.wanted] == part) & (near.doc[near.wanted] == doc)]
    return int(rows[0]) if len(rows) else None


def _rank_of(value: np.float32, scores: Sequence[Scores]) -> int:
    return 1 + sum(int(np.count_nonzero(s > value)) for s in scores)
