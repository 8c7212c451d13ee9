"""Explains how a total came about, alone and in its conversation, or gives its outline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.values.hits import Explanation
from infinite_memory.search.conversation.scoring import ConversationScores
from infinite_memory.search.cosine import ABSENT, QueryVector, best_passage
from infinite_memory.search.scoring import Explain, Positions, SegmentScores, Weights

_IN_CONTEXT = ("sentences", "around", "quoted", "is_question", "important", "conversation")

Scores = NDArray[np.float32]


def make_explain(
    scores: Sequence[SegmentScores],
    context: ConversationScores | None,
    weights: Weights,
    query: QueryVector | None,
    *,
    is_outline: bool,
) -> Explain:
    """Return what explains the totals of `scores`, or gives their outlines.

    An outline has the total and the best passage, and no step that led to the total. `query` is the
    vector of the whole question, None if the search compared no vectors.
    """
    if is_outline:
        return partial(_outline, query=query)
    return partial(_explain, scores, context=context, weights=weights, query=query)


def _outline(
    segment_scores: SegmentScores, position: int, *, query: QueryVector | None
) -> Explanation:
    doc = segment_scores.doc_filter.doc_at(position)
    passage = None if query is None else best_passage(query, segment_scores.segment, doc)
    return Explanation(passage=passage, total=float(segment_scores.total[position]))


def _explain(
    scores: Sequence[SegmentScores],
    segment_scores: SegmentScores,
    position: int,
    *,
    context: ConversationScores | None,
    weights: Weights,
    query: QueryVector | None,
) -> Explanation:
    """Explain the total of the document at `position` of `segment_scores`, an item of `scores`."""
    doc = segment_scores.doc_filter.doc_at(position)
    positions = np.array([position])
    cosine, bm25 = segment_scores.cosine[position], segment_scores.bm25[position]
    return Explanation(
        cosine=float(cosine) if cosine > ABSENT else None,
        bm25=float(bm25),
        meaning_rank=(
            _find_rank(cosine, [candidate.cosine for candidate in scores])
            if segment_scores.meaning(positions)[0] > 0
            else None
        ),
        words_rank=_find_rank(bm25, [candidate.bm25 for candidate in scores]) if bm25 > 0 else None,
        passage=best_passage(query, segment_scores.segment, doc) if query is not None else None,
        **_list_steps(
            segment_scores,
            positions,
            _find_row(scores, segment_scores, doc, context),
            context,
            weights,
        ),
    )


def _list_steps(
    segment_scores: SegmentScores,
    positions: Positions,
    row: int | None,
    context: ConversationScores | None,
    weights: Weights,
) -> dict[str, float]:
    """Return the contribution of every step; the contributions sum to the total."""
    steps = {
        "meaning": weights.meaning * float(segment_scores.meaning(positions)[0]),
        "words": weights.words * float(segment_scores.words(positions)[0]),
        "speaker": weights.speaker * float(segment_scores.speaker(positions)[0]),
    }
    total = float(segment_scores.total[positions][0])
    if context is not None and row is not None:
        for step in _IN_CONTEXT:
            steps[step] = float(getattr(context, step)[row])
    else:
        own = sum(steps.values())
        steps.update(dict.fromkeys(_IN_CONTEXT, 0.0))
        alone = total / (1 + weights.conversation)
        doc = segment_scores.doc_filter.doc_at(int(positions[0]))
        mark = int(segment_scores.segment.important[doc])
        steps["important"] = alone - alone / (1 + weights.important * mark)
        steps["is_question"] = alone - own - steps["important"]
        steps["conversation"] = total - alone
    return {**steps, "total": total}


def _find_row(
    scores: Sequence[SegmentScores],
    segment_scores: SegmentScores,
    doc: int,
    context: ConversationScores | None,
) -> int | None:
    if context is None:
        return None
    number = next(number for number, candidate in enumerate(scores) if candidate is segment_scores)
    turns = context.turns
    rows = turns.wanted[
        (turns.segment_index[turns.wanted] == number) & (turns.doc[turns.wanted] == doc)
    ]
    return int(rows[0]) if len(rows) else None


def _find_rank(value: np.float32, scores: Sequence[Scores]) -> int:
    return 1 + sum(int(np.count_nonzero(cosines > value)) for cosines in scores)
