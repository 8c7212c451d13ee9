"""What the depth of a search changes in its ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from attrs import evolve

from infinite_memory.model.hits import Explanation
from infinite_memory.model.memory import Kind
from infinite_memory.model.question import Question
from infinite_memory.model.search_options import Depth
from infinite_memory.search.collapsing import Group, best, select_best_groups
from infinite_memory.search.document import KINDS
from infinite_memory.search.scoring import SegmentScores

__all__ = ["Reasons", "groups_of", "nudged", "reasons_of"]

# A summary that fits nearly as well as its parts takes a place among the first; what fits clearly
# better keeps its own. As much as a memory loses that is a question itself.
_SUMMARY_GAINS = np.float32(0.1)
_SUMMARY = KINDS.index(Kind.SUMMARY)

Reasons = Callable[[SegmentScores, int], Explanation]
"""Explains the document at a place of one of the scored segments."""


def nudged(scores: Sequence[SegmentScores], depth: Depth) -> Sequence[SegmentScores]:
    """Return `scores` with what each summary gains where an overview is asked for."""
    if depth is not Depth.OVERVIEW:
        return scores
    return [_with_summaries_raised(one) for one in scores]


def reasons_of(
    reasons: Reasons, before: Sequence[SegmentScores], after: Sequence[SegmentScores]
) -> Reasons:
    """Return the explanations of `after`, which `nudged` made of `before`, from those of it."""
    if before is after:
        return reasons
    origin = {id(new): old for old, new in zip(before, after, strict=True)}

    def with_the_nudge(one: SegmentScores, place: int) -> Explanation:
        explanation = reasons(origin[id(one)], place)
        total = float(one.total[place])
        return evolve(explanation, summary=total - explanation.total, total=total)

    return with_the_nudge


def groups_of(scores: Sequence[SegmentScores], question: Question, least: float) -> list[Group]:
    """Return the best groups from the total `least` on: passed over, shown, and one more.

    An exhaustive search shows each memory by itself: twins may differ in all but their text.
    """
    # One more than is shown, which tells whether there are others to go on to.
    number = question.offset + question.limit + 1
    if question.depth is not Depth.EXHAUSTIVE:
        return select_best_groups(scores, number, least)
    return [
        Group(lead=(one, place), twins=(), total=float(one.total[place]))
        for one, place in best(scores, number, least)
    ]


def _with_summaries_raised(one: SegmentScores) -> SegmentScores:
    summaries = np.flatnonzero(one.selection.take(one.segment.kind) == _SUMMARY)
    total = one.total.copy()
    total[summaries] *= 1 + _SUMMARY_GAINS
    return evolve(one, total=total)
