"""Which documents are the best, and which of them say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.search.arms import Scored

__all__ = ["Group", "Place", "best", "best_groups", "place_of", "rank_of"]

# Differences in the seventh place come from the order of additions and must not decide a rank.
_PLACES = 6
_BLOCK = 1024
# So many of the best are looked through for those that say the same, and twice the limit.
_WINDOW = 128

Scores = NDArray[np.float32]
Place = tuple[Scored, int]
"""A document: the segment with its scores, and its place among the selected ones."""


@frozen(kw_only=True)
class Group:
    """Documents that say the same: the newest, the others from new to old, and the best total."""

    lead: Place
    twins: tuple[Place, ...]
    total: float


def best_groups(scores: Sequence[Scored], limit: int, least: float) -> list[Group]:
    """Return the best groups from the total `least` on, at most `limit`, best first.

    Which memories make a group does not depend on `limit`.
    """
    window = max(_WINDOW, 2 * limit)
    while True:
        found = best(scores, window, least)
        groups: dict[tuple[int, int], Place] = {}
        for one in found:
            twin = _twin_of(one)
            if twin in groups or len(groups) < limit:
                groups.setdefault(twin, one)
        # Where many say the same, there may be too few others among the first ones.
        if len(groups) == limit or len(found) < window:
            return _with_members(scores, groups, least)
        window *= 4


def _twin_of(one: Place) -> tuple[int, int]:
    """Return what is the same for twins: what was replaced must not stand for what holds now."""
    s, place = one
    doc = s.selection.doc(place)
    return int(s.segment.twin[doc]), int(s.segment.status[doc])


def _with_members(
    scores: Sequence[Scored], groups: Mapping[tuple[int, int], Place], least: float
) -> list[Group]:
    """Return the groups with all their members from the total `least` on, of any rank."""
    members: dict[tuple[int, int], list[Place]] = {twin: [] for twin in groups}
    wanted = np.array(sorted({twin for twin, _ in groups}), np.uint64)
    for s in scores:
        alike = np.isin(s.selection.take(s.segment.twin), wanted)
        for place in np.flatnonzero(alike & (s.total >= least) & (s.total > 0)):
            one = (s, int(place))
            twin = _twin_of(one)
            if twin in members:
                members[twin].append(one)
    return [_group(groups[twin], found) for twin, found in members.items()]


def _group(best_one: Place, members: Sequence[Place]) -> Group:
    newest, *others = sorted(members, key=_age)
    s, place = best_one
    return Group(lead=newest, twins=tuple(others), total=float(s.total[place]))


def _age(one: Place) -> tuple[int, int, str]:
    s, place = one
    doc = s.selection.doc(place)
    return -int(s.segment.happened[doc]), -int(s.segment.stored[doc]), s.segment.id_of(doc)


def place_of(scores: Sequence[Scored], memory_id: str) -> Place | None:
    """Return where the memory of that id is, None if it was not selected or matches in no way."""
    for s in scores:
        doc = s.segment.find(memory_id)
        docs = np.array([doc if doc is not None else 0], np.int32)
        if doc is not None and s.selection.among(docs)[0]:
            place = int(s.selection.places(docs)[0])
            return (s, place) if s.total[place] > 0 else None
    return None


def rank_of(scores: Sequence[Scored], one: Place) -> int:
    """Return the rank of a document, counted from 1, in the order of `best`."""
    total, margin = one[0].total[one[1]], np.float32(2 * 10**-_PLACES)
    above = sum(int(np.count_nonzero(s.total > total + margin)) for s in scores)
    near = (
        (s, int(place))
        for s in scores
        for place in np.flatnonzero((s.total >= total - margin) & (s.total <= total + margin))
    )
    key = _order(one)
    return 1 + above + sum(_order(other) < key for other in near)


def _order(one: Place) -> tuple[float, str]:
    s, place = one
    return -round(float(s.total[place]), _PLACES), s.segment.id_of(s.selection.doc(place))


def best(scores: Sequence[Scored], limit: int, least: float) -> list[Place]:
    """Return the places with the highest totals from `least` on, ties in the order of their ids."""
    rows: list[tuple[float, str, Scored, int]] = []
    for s in scores:
        floor = np.float32(max(least, _reached(s.total, limit)))
        found = np.flatnonzero((s.total >= floor) & (s.total > 0))
        if len(found) > limit:
            totals = s.total[found]
            # What could be rounded to the last of the best is rounded; the rest is out already.
            last = np.partition(totals, -limit)[-limit]
            found = found[totals >= last - np.float32(2 * 10**-_PLACES)]
            totals = np.round(s.total[found], _PLACES)
            found = found[totals >= np.round(last, _PLACES)]
        rows.extend((*_order((s, int(place))), s, int(place)) for place in found)
    rows.sort(key=lambda row: row[:2])
    return [(s, place) for _, _, s, place in rows[:limit]]


def _reached(totals: Scores, limit: int) -> float:
    """Return what the best `limit` of the totals reach, rounded, and few others do.

    As many blocks as that have a greatest total that is no less than that of the last of them.
    """
    blocks = len(totals) // _BLOCK
    if blocks <= limit:
        return 0.0
    greatest = totals[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(greatest, -limit)[-limit]) - 2 * 0.1**_PLACES
