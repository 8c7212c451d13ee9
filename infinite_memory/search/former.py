"""A current memory has at least the match of what it superseded.

So the old wording of a fact finds the new one. A search that covers superseded memories finds them
itself, and nothing is inherited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import LinkType
from infinite_memory.core.values.memory import Status
from infinite_memory.search.collapsing import find_eligible_doc, select_best_docs
from infinite_memory.search.scoring import Explain, SegmentScores, add_step

_CURRENT, _SUPERSEDED = frozenset({Status.CURRENT}), frozenset({Status.SUPERSEDED})
# The best superseded matches, and how often in a row a fact may have been replaced since.
_MOST = 10
_MOST_STEPS = 4


def cover_superseded(criteria: Criteria) -> Criteria | None:
    """Return the criteria of what memories that meet `criteria` superseded, None for nothing."""
    if criteria.statuses != _CURRENT or criteria.as_of is not None:
        return None
    return evolve(criteria, statuses=_SUPERSEDED, unended_at=None, begun_at=None)


def find_inherited_totals(storage: Storage, scores: Sequence[SegmentScores]) -> dict[str, float]:
    """Return the best totals in `scores`, those of superseded memories, by the ids that have them.

    A memory that superseded one in several steps has its total too.
    """
    best = select_best_docs(scores, _MOST, 0.0)
    totals = {
        segment_scores.segment.id_of(segment_scores.doc_filter.doc_at(position)): float(
            segment_scores.total[position]
        )
        for segment_scores, position in best
    }
    inherited: dict[str, float] = {}
    for _ in range(_MOST_STEPS):
        found: dict[str, float] = {}
        for link in storage.links(totals) if totals else ():
            if link.type is LinkType.SUPERSEDES and link.target in totals:
                found[link.source] = max(totals[link.target], found.get(link.source, 0.0))
        totals = {key: total for key, total in found.items() if total > inherited.get(key, 0.0)}
        inherited |= totals
    return inherited


def raise_successors(
    scores: Sequence[SegmentScores], explain: Explain, inherited: Mapping[str, float]
) -> tuple[Sequence[SegmentScores], Explain]:
    """Return `scores` in which the memories in `inherited` have at least the totals there.

    `explain` explains `scores`, and the second value explains the new ones.
    """
    after = list(scores)
    for memory_id, total in inherited.items():
        found = find_eligible_doc(after, memory_id)
        if found is None or found[0].total[found[1]] >= total:
            continue
        number = next(n for n, column in enumerate(after) if column is found[0])
        if after[number] is scores[number]:
            after[number] = evolve(found[0], total=found[0].total.copy())
        after[number].total[found[1]] = total
    return after, add_step(
        explain, lambda steps, gain, total: evolve(steps, former=gain, total=total), scores, after
    )
