"""In an exhaustive search, a memory to which links lead from a better match ranks behind it.

Its score is at least half of the score of the match, times the weight of the links: what belongs to
a memory that probably answers is worth a look before all that probably does not. The share is a
choice, not fitted: no labelled set has links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from infinite_memory.core.values.hits import Explanation, Reached
from infinite_memory.core.values.question import Ranking
from infinite_memory.search.calibration import Calibration
from infinite_memory.search.collapsing import find_eligible_doc, find_scored_doc
from infinite_memory.search.scoring import Explain, SegmentScores, add_step

_SHARE = 0.5


def raise_linked(
    scores: Sequence[SegmentScores],
    explain: Explain,
    reached: Mapping[str, Reached],
    curve: Calibration,
) -> tuple[Sequence[SegmentScores], Explain, frozenset[str]]:
    """Return `scores` with the totals of linked memories raised, their explanation, and the ids.

    `explain` explains `scores`, `curve` turns totals into scores, and the ids are those of the
    memories whose totals were raised. A memory that the search leaves out is not raised.
    """
    after, raised = list(scores), set()
    for memory_id, way in reached.items():
        linked, match = find_eligible_doc(scores, memory_id), find_scored_doc(scores, way.match)
        if linked is None or match is None:
            continue
        segment_scores, position = linked
        score = curve.score(float(match[0].total[match[1]]))
        least = curve.total(_SHARE * way.weight * score)
        if segment_scores.total[position] >= least:
            continue
        index = next(n for n, column in enumerate(scores) if column is segment_scores)
        if after[index] is segment_scores:
            after[index] = evolve(segment_scores, total=segment_scores.total.copy())
        after[index].total[position] = least
        raised.add(memory_id)
    if not raised:
        return scores, explain, frozenset()
    return after, add_step(explain, _record, scores, after), frozenset(raised)


def mark_reached(
    ranking: Ranking, reached: Mapping[str, Reached], raised: frozenset[str]
) -> Ranking:
    """Return `ranking` with the ways to the candidates whose ids are in `raised`."""
    if not raised:
        return ranking
    return evolve(
        ranking,
        candidates=tuple(
            evolve(candidate, reached=reached[candidate.id])
            if candidate.id in raised
            else candidate
            for candidate in ranking.candidates
        ),
    )


def _record(steps: Explanation, gain: float, total: float) -> Explanation:
    return evolve(steps, linked=gain, total=total)
