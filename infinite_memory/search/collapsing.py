"""Selects the best documents and groups the documents with the same content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.search.scoring import SegmentScores

# Differences in the seventh decimal come from the order of additions and must not decide a rank.
_PLACES = 6
_MARGIN = 2e-6
# The number of groups of totals, as a multiple of the number of the best.
_GROUPS = 4
_LEAST_TOTAL = float(np.finfo(np.float32).smallest_subnormal)
# The least number of best documents to search for duplicates; at least twice the limit.
_WINDOW = 128

_NO_POSITIONS = np.empty(0, np.intp)

Scores = NDArray[np.float32]
Positions = NDArray[np.intp]
ScoredDoc = tuple[SegmentScores, int]
"""A document: the scores of its segment, and its position among the selected documents."""
_GroupKey = tuple[int, int, int]


@frozen(kw_only=True)
class Group:
    """Documents with the same content: the newest, the older by age, and the best total."""

    lead: ScoredDoc
    twins: tuple[ScoredDoc, ...]
    total: float


def select_best_groups(scores: Sequence[SegmentScores], limit: int, least: float) -> list[Group]:
    """Return at most `limit` groups with a total of at least `least`, best first.

    The members of a group do not depend on `limit`.
    """
    leads = _best_of_groups(scores, limit, least)
    members: dict[_GroupKey, list[ScoredDoc]] = {key: [] for key in leads}
    for segment_scores in scores:
        positions, keys = _group_members(segment_scores, leads)
        totals = segment_scores.total[positions]
        matching = (totals >= least) & (totals > 0)
        for position, key, matches in zip(positions.tolist(), keys, matching.tolist(), strict=True):
            if matches:
                members[key].append((segment_scores, position))
    return [_make_group(leads[key], docs) for key, docs in members.items()]


def narrow_groups(groups: Sequence[Group], least: float) -> list[Group]:
    """Return the groups with a total of at least `least`, without the members that have less."""
    # In the precision of the totals.
    bound = float(np.float32(least))
    return [_narrow(group, bound) for group in groups if group.total >= bound]


def _narrow(group: Group, least: float) -> Group:
    members = (group.lead, *group.twins)
    kept = [member for member in members if member[0].total[member[1]] >= least]
    if len(kept) == len(members):
        return group
    return Group(lead=kept[0], twins=tuple(kept[1:]), total=group.total)


def _best_of_groups(
    scores: Sequence[SegmentScores], limit: int, least: float
) -> dict[_GroupKey, ScoredDoc]:
    """Return the best document of every group, for at most `limit` groups, best first."""
    window = max(_WINDOW, 2 * limit)
    groups: dict[_GroupKey, ScoredDoc] = {}
    totals = [segment_scores.total for segment_scores in scores]
    while True:
        columns, positions = select_best(scores, window, least, totals)
        for column, position in zip(columns.tolist(), positions.tolist(), strict=True):
            if len(groups) == limit:
                break
            candidate = scores[column], position
            groups.setdefault(_group_key(candidate), candidate)
        if len(groups) == limit or len(columns) < window:
            return groups
        # Many duplicates may leave too few groups in the window.
        totals = [_totals_without(segment_scores, groups) for segment_scores in scores]
        window *= 4


def _totals_without(segment_scores: SegmentScores, groups: Mapping[_GroupKey, ScoredDoc]) -> Scores:
    total = segment_scores.total.copy()
    total[_group_members(segment_scores, groups)[0]] = 0
    return total


def _group_members(
    segment_scores: SegmentScores, groups: Mapping[_GroupKey, ScoredDoc]
) -> tuple[NDArray[np.integer], list[_GroupKey]]:
    """Return the positions of the documents that belong to `groups`, and their group keys."""
    docs = segment_scores.segment.find_by_canonical_hash(
        np.array(sorted({canonical_hash for canonical_hash, _, _ in groups}), np.uint64)
    )
    docs = docs[segment_scores.doc_filter.contains(docs)]
    keys = list(
        zip(*(column[docs].tolist() for column in _group_columns(segment_scores)), strict=True)
    )
    belongs = np.fromiter(map(groups.__contains__, keys), np.bool_, len(keys))
    return segment_scores.doc_filter.positions_of(docs[belongs]), list(compress(keys, belongs))


def _group_key(candidate: ScoredDoc) -> _GroupKey:
    segment_scores, position = candidate
    doc = segment_scores.doc_filter.doc_at(position)
    canonical_hash, status, held_to = (
        int(column[doc]) for column in _group_columns(segment_scores)
    )
    return canonical_hash, status, held_to


def _group_columns(segment_scores: SegmentScores) -> Sequence[NDArray[np.integer]]:
    """Return the columns whose values are equal within a group.

    They include status and end of validity: an expired fact must not replace a current fact.
    """
    return (
        segment_scores.segment.canonical_hash,
        segment_scores.segment.status,
        segment_scores.segment.held_to,
    )


def _make_group(best_doc: ScoredDoc, members: Sequence[ScoredDoc]) -> Group:
    newest, *older = sorted(members, key=_age_key)
    segment_scores, position = best_doc
    return Group(lead=newest, twins=tuple(older), total=float(segment_scores.total[position]))


def _age_key(candidate: ScoredDoc) -> tuple[int, int, str]:
    segment_scores, position = candidate
    doc = segment_scores.doc_filter.doc_at(position)
    return (
        -int(segment_scores.segment.happened[doc]),
        -int(segment_scores.segment.stored[doc]),
        segment_scores.segment.id_of(doc),
    )


def find_scored_doc(scores: Sequence[SegmentScores], memory_id: str) -> ScoredDoc | None:
    """Return the document of a memory; None if the filter excludes it or it does not match."""
    scored_doc = find_eligible_doc(scores, memory_id)
    if scored_doc is None or not scored_doc[0].total[scored_doc[1]] > 0:
        return None
    return scored_doc


def find_eligible_doc(scores: Sequence[SegmentScores], memory_id: str) -> ScoredDoc | None:
    """Return the document of a memory, which may match or not; None if the filter excludes it."""
    for segment_scores in scores:
        doc = segment_scores.segment.find(memory_id)
        docs = np.array([doc if doc is not None else 0], np.int32)
        if doc is not None and segment_scores.doc_filter.contains(docs)[0]:
            return segment_scores, int(segment_scores.doc_filter.positions_of(docs)[0])
    return None


def rank_of(scores: Sequence[SegmentScores], scored_doc: ScoredDoc) -> int:
    """Return the rank of a document from 1, in the order of `select_best`."""
    total, margin = scored_doc[0].total[scored_doc[1]], np.float32(_MARGIN)
    above = sum(
        int(np.count_nonzero(segment_scores.total > total + margin)) for segment_scores in scores
    )
    near_ties = (
        (segment_scores, position)
        for segment_scores in scores
        for position in np.flatnonzero(
            (segment_scores.total >= total - margin) & (segment_scores.total <= total + margin)
        ).tolist()
    )
    key = _rank_key(scored_doc)
    return 1 + above + sum(_rank_key(candidate) < key for candidate in near_ties)


def _rank_key(candidate: ScoredDoc) -> tuple[float, int, str]:
    segment_scores, position = candidate
    return -float(_round_totals(segment_scores.total[position : position + 1])[0]), *_tie_key(
        candidate
    )


def _tie_key(candidate: ScoredDoc) -> tuple[int, str]:
    """Return the sort key of memories with equal totals: newest first, then by id."""
    segment_scores, position = candidate
    doc = segment_scores.doc_filter.doc_at(position)
    return -int(segment_scores.segment.happened[doc]), segment_scores.segment.id_of(doc)


def _round_totals(totals: Scores) -> NDArray[np.float64]:
    return totals.astype(np.float64).round(_PLACES)


def select_best_docs(scores: Sequence[SegmentScores], limit: int, least: float) -> list[ScoredDoc]:
    """Return the documents of `select_best`, in its order."""
    columns, positions = select_best(scores, limit, least)
    return [
        (scores[column], position)
        for column, position in zip(columns.tolist(), positions.tolist(), strict=True)
    ]


def select_best(
    scores: Sequence[SegmentScores],
    limit: int,
    least: float,
    totals_of: Sequence[Scores] | None = None,
) -> tuple[Positions, Positions]:
    """Return the documents with the highest totals from `least` on, ties in order of `_tie_key`.

    They are given by the places of their columns in `scores`, and by their positions there: both
    (b,). `totals_of` replaces the totals of `scores`, in the same order.
    """
    totals_of = totals_of or [column.total for column in scores]
    found = [_candidate_positions(total, limit, least) for total in totals_of]
    rounded = [_round_totals(total[at]) for total, at in zip(totals_of, found, strict=True)]
    columns = np.arange(len(scores)).repeat(list(map(len, found)))
    positions = np.concatenate([_NO_POSITIONS, *found])
    totals = np.concatenate([np.empty(0), *rounded])
    order = (-totals).argsort(kind="stable")
    for start, end in _find_runs(totals[order]):
        order[start:end] = sorted(
            order[start:end].tolist(),
            key=lambda number: _tie_key((scores[int(columns[number])], int(positions[number]))),
        )
    best = order[:limit]
    return columns[best], positions[best]


def _find_runs(totals: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the half-open ranges of equal totals, which are in order."""
    equal = totals[1:] == totals[:-1]
    if not equal.any():
        return []
    ends = np.append(~equal, True).nonzero()[0] + 1
    starts = np.append(0, ends[:-1])
    long = ends - starts > 1
    return list(zip(starts[long].tolist(), ends[long].tolist(), strict=True))


def _candidate_positions(totals: Scores, limit: int, least: float) -> NDArray[np.intp]:
    """Return the positions of the best `limit` totals from `least` on, with ties of the last."""
    floor = np.float32(max(least, _estimate_floor(totals, limit), _LEAST_TOTAL))
    positions = (totals >= floor).nonzero()[0]
    if len(positions) > limit:
        last = np.partition(totals[positions], -limit)[-limit : -limit + 1 or None]
        # Round only the totals that could equal the last; lower totals are out already.
        positions = positions[totals[positions] >= last - np.float32(_MARGIN)]
        positions = positions[_round_totals(totals[positions]) >= _round_totals(last)]
    return positions


def _estimate_floor(totals: Scores, limit: int) -> float:
    """Return a lower bound of the best `limit` totals, rounded, that few further totals reach.

    It is the `limit`-th greatest of the maxima of several times as many groups of totals, so at
    least `limit` totals reach it.
    """
    size = len(totals) // (_GROUPS * limit)
    if size < 2:
        return 0.0
    count = len(totals) // size
    # Totals at equal distances form a group, which numpy compares fastest.
    greatest = totals[: size * count].reshape(size, count).max(axis=0)
    return float(np.partition(greatest, -limit)[-limit]) - _MARGIN
