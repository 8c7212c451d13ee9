"""Which documents are the best, and which of them say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.search.scoring import SegmentScores

__all__ = ["Group", "Place", "best", "place_of", "rank_of", "select_best_groups"]

# Differences in the seventh place come from the order of additions and must not decide a rank.
_PLACES = 6
_MARGIN = 2e-6
_BLOCK = 1024
# So many of the best are looked through for those that say the same, and twice the limit.
_WINDOW = 128

Scores = NDArray[np.float32]
Place = tuple[SegmentScores, int]
"""A document: the segment with its scores, and its place among the selected ones."""
_Twin = tuple[int, int, int]


@frozen(kw_only=True)
class Group:
    """Documents that say the same: the newest, the others from new to old, and the best total."""

    lead: Place
    twins: tuple[Place, ...]
    total: float


def select_best_groups(scores: Sequence[SegmentScores], limit: int, least: float) -> list[Group]:
    """Return the best groups from the total `least` on, at most `limit`, best first.

    Which memories make a group does not depend on `limit`.
    """
    first = _first_of_groups(scores, limit, least)
    members: dict[_Twin, list[Place]] = {twin: [] for twin in first}
    for s in scores:
        places, twins = _members(s, first)
        totals = s.total[places]
        matching = (totals >= least) & (totals > 0)
        for place, twin, matches in zip(places.tolist(), twins, matching.tolist(), strict=True):
            if matches:
                members[twin].append((s, place))
    return [_group(first[twin], found) for twin, found in members.items()]


def _first_of_groups(
    scores: Sequence[SegmentScores], limit: int, least: float
) -> dict[_Twin, Place]:
    """Return the best document of each of the best groups, at most `limit`, best first."""
    window = max(_WINDOW, 2 * limit)
    groups: dict[_Twin, Place] = {}
    totals = [s.total for s in scores]
    while True:
        candidates = best(scores, window, least, totals)
        for candidate in candidates:
            if len(groups) == limit:
                break
            groups.setdefault(_group_key(candidate), candidate)
        if len(groups) == limit or len(candidates) < window:
            return groups
        # Where many say the same, there may be too few others among the first ones.
        totals = [_totals_without(s, groups) for s in scores]
        window *= 4


def _totals_without(s: SegmentScores, groups: Mapping[_Twin, Place]) -> Scores:
    total = s.total.copy()
    total[_members(s, groups)[0]] = 0
    return total


def _members(
    s: SegmentScores, groups: Mapping[_Twin, Place]
) -> tuple[NDArray[np.integer], list[_Twin]]:
    """Return the places of the documents that belong to `groups`, and the group of each place."""
    docs = s.segment.saying(np.array(sorted({twin for twin, _, _ in groups}), np.uint64))
    docs = docs[s.selection.among(docs)]
    twins = list(zip(*(column[docs].tolist() for column in _group_columns(s)), strict=True))
    belongs = np.fromiter(map(groups.__contains__, twins), np.bool_, len(twins))
    return s.selection.places(docs[belongs]), list(compress(twins, belongs))


def _group_key(candidate: Place) -> _Twin:
    s, place = candidate
    doc = s.selection.doc(place)
    twin, status, held_to = (int(column[doc]) for column in _group_columns(s))
    return twin, status, held_to


def _group_columns(s: SegmentScores) -> Sequence[NDArray[np.integer]]:
    """Return the columns that are equal within a group.

    Status and end are among them: a fact that is over must not stand for one that holds now.
    """
    return s.segment.twin, s.segment.status, s.segment.held_to


def _group(best_one: Place, members: Sequence[Place]) -> Group:
    newest, *others = sorted(members, key=_age)
    s, place = best_one
    return Group(lead=newest, twins=tuple(others), total=float(s.total[place]))


def _age(candidate: Place) -> tuple[int, int, str]:
    s, place = candidate
    doc = s.selection.doc(place)
    return -int(s.segment.happened[doc]), -int(s.segment.stored[doc]), s.segment.id_of(doc)


def place_of(scores: Sequence[SegmentScores], memory_id: str) -> Place | None:
    """Return where the memory of that id is, None if it was not selected or matches in no way."""
    for s in scores:
        doc = s.segment.find(memory_id)
        docs = np.array([doc if doc is not None else 0], np.int32)
        if doc is not None and s.selection.among(docs)[0]:
            place = int(s.selection.places(docs)[0])
            return (s, place) if s.total[place] > 0 else None
    return None


def rank_of(scores: Sequence[SegmentScores], one: Place) -> int:
    """Return the rank of a document, counted from 1, in the order of `best`."""
    total, margin = one[0].total[one[1]], np.float32(_MARGIN)
    above = sum(int(np.count_nonzero(s.total > total + margin)) for s in scores)
    near = (
        (s, int(place))
        for s in scores
        for place in np.flatnonzero((s.total >= total - margin) & (s.total <= total + margin))
    )
    key = _rank_key(one)
    return 1 + above + sum(_rank_key(other) < key for other in near)


def _rank_key(candidate: Place) -> tuple[float, int, str]:
    s, place = candidate
    return -float(_round_totals(s.total[place : place + 1])[0]), *_tie_key(candidate)


def _tie_key(candidate: Place) -> tuple[int, str]:
    """Return what orders memories of equal totals: the later one first, then by id."""
    s, place = candidate
    doc = s.selection.doc(place)
    return -int(s.segment.happened[doc]), s.segment.id_of(doc)


def _round_totals(totals: Scores) -> NDArray[np.float64]:
    return totals.astype(np.float64).round(_PLACES)


def best(
    scores: Sequence[SegmentScores],
    limit: int,
    least: float,
    totals_of: Sequence[Scores] | None = None,
) -> list[Place]:
    """Return the places with the highest totals from `least` on, ties in the order of `_tie_key`.

    `totals_of` are other totals, in the order of `scores`.
    """
    found: list[Place] = []
    rounded = [np.empty(0)]
    for s, total in zip(scores, totals_of or [s.total for s in scores], strict=True):
        places = _candidates(total, limit, least)
        found.extend((s, place) for place in places.tolist())
        rounded.append(_round_totals(total[places]))
    totals = np.concatenate(rounded)
    order = np.argsort(-totals, kind="stable")
    ranked = order.tolist()
    totals = totals[order]
    # Each run of equal totals, found by its ends, is put in the order of `_tie_key`.
    ends = np.flatnonzero(np.append(totals[1:] != totals[:-1], True)) + 1
    starts = np.append(0, ends[:-1])
    for start, end in zip(starts[ends - starts > 1], ends[ends - starts > 1], strict=True):
        ranked[start:end] = sorted(ranked[start:end], key=lambda number: _tie_key(found[number]))
    return [found[number] for number in ranked[:limit]]


def _candidates(totals: Scores, limit: int, least: float) -> NDArray[np.intp]:
    """Return the places of the best totals from `least` on: `limit`, and all equal to the last."""
    floor = np.float32(max(least, _estimate_floor(totals, limit)))
    places = np.flatnonzero((totals >= floor) & (totals > 0))
    if len(places) > limit:
        last = np.partition(totals[places], -limit)[-limit : -limit + 1 or None]
        # What could be rounded to the last of the best is rounded; the rest is out already.
        places = places[totals[places] >= last - np.float32(_MARGIN)]
        places = places[_round_totals(totals[places]) >= _round_totals(last)]
    return places


def _estimate_floor(totals: Scores, limit: int) -> float:
    """Return what the best `limit` of the totals reach, rounded, and few others do.

    As many blocks as that have a greatest total that is no less than that of the last of them.
    """
    blocks = len(totals) // _BLOCK
    if blocks <= limit:
        return 0.0
    greatest = totals[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(greatest, -limit)[-limit]) - _MARGIN
