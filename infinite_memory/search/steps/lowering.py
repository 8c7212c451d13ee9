"""Lower the totals of memories that somebody marked as not useful for such a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve

from infinite_memory.search.collapsing import find_scored_doc
from infinite_memory.search.scoring import Explain, SegmentScores, add_step


def lower_totals(
    scores: Sequence[SegmentScores], explain: Explain, lowered: Mapping[str, float]
) -> tuple[Sequence[SegmentScores], Explain]:
    """Return `scores` with the totals of the memories in `lowered` multiplied by their shares.

    `lowered` maps the ids of memories to shares in (0, 1); `explain` explains the totals of
    `scores`, and the second value explains the new ones. A memory that does not match, or does not
    meet the criteria, is passed over.
    """
    found = {
        memory_id: scored_doc
        for memory_id in lowered
        if (scored_doc := find_scored_doc(scores, memory_id)) is not None
    }
    if not found:
        return scores, explain
    totals = {id(segment_scores): segment_scores.total.copy() for segment_scores in scores}
    for memory_id, (segment_scores, position) in found.items():
        totals[id(segment_scores)][position] *= np.float32(lowered[memory_id])
    after = [evolve(segment_scores, total=totals[id(segment_scores)]) for segment_scores in scores]
    return after, add_step(
        explain,
        lambda steps, gain, total: evolve(steps, not_useful=gain, total=total),
        scores,
        after,
    )
