"""The exact cosines of the memories that an approximate one may have among the best.

The search compares all vectors by their high bytes. Whatever could be one of the best for all that
is known of the errors is then compared by both planes, and so is what comes into the results where
these lose in their conversations: none is missed and none stands in a place that rounding gave it.
Those further down keep their approximate cosines.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.collapsing import best, reached_by_groups
from infinite_memory.search.cosine import QueryVector, cosines, error_of, greatest_error
from infinite_memory.search.neighbours import Surroundings
from infinite_memory.search.scoring import Scored, put_cosines
from infinite_memory.search.weights import Weights

__all__ = ["Settling"]

Docs = NDArray[np.int32]
Rows = NDArray[np.intp]
Totals = NDArray[np.float32]


class Settling:
    """Puts exact cosines and totals into `scores`, of each document once.

    `query` is what they were compared with, `weights` are those of `scores`.
    """

    def __init__(self, scores: Sequence[Scored], query: QueryVector, weights: Weights) -> None:
        self._scores = scores
        self._query = query
        self._weights = weights
        self._settled = [np.empty(0, np.int32) for _ in scores]
        self._least = float("inf")

    def best(self, number: int) -> None:
        """Settle the best `number` by their totals, so that they are those of exact cosines."""
        # So many have at least this; what cannot reach it is none of the best.
        least = self._reached(number)
        self._settle_down_to(least)

    def near(self, near: Surroundings) -> None:
        """Settle every document of `near`."""
        for part in range(len(self._scores)):
            self._settle(part, near.doc[near.part == part].astype(np.int32))

    def shown(self, number: int, near: Surroundings, total: Totals, raised: float) -> None:
        """Settle the best `number` groups, now that memories of `near` have other totals.

        `total` are those, shape (rows of `near`,). Where they have become less, others come before
        them, which need not be among the best by themselves. What a total is still multiplied by
        is at most `raised`.
        """
        certain = near.wanted[total[near.wanted] >= raised * self._least]
        if self._told_apart(certain, near) >= number:
            return
        while (least := reached_by_groups(self._scores, number) / raised) < self._least:
            self._settle_down_to(least)

    def _told_apart(self, rows: Rows, near: Surroundings) -> int:
        """Return how many of these rows do not say the same, or fewer."""
        twins = [
            s.segment.twin[near.doc[rows[near.part[rows] == part]]]
            for part, s in enumerate(self._scores)
        ]
        return len(np.unique(np.concatenate(twins)))

    def _settle_down_to(self, least: float) -> None:
        """Settle all that may have this total, or more."""
        for part, s in enumerate(self._scores):
            self._settle(part, self._within_reach(s, least))
        self._least = least

    def _reached(self, number: int) -> float:
        """Settle `number` documents, and return what all of them reach, 0 where there are fewer.

        Each loses little by it but for those that are related to the question by rounding alone:
        where their speaker counted for them, others come before them.
        """
        while True:
            first = best(self._scores, number, 0.0)
            lost = False
            for part, s in enumerate(self._scores):
                places = np.array([place for other, place in first if other is s], np.intp)
                spoken = int(s.speaker(places).sum())
                self._settle(part, s.selection.docs_at(places))
                lost = lost or int(s.speaker(places).sum()) < spoken
            if not lost:
                break
        if len(first) < number:
            return 0.0
        return min(float(s.total[place]) for s, place in first)

    def _within_reach(self, s: Scored, least: float) -> Docs:
        """Return the documents whose total may be `least` with the exact cosine."""
        weights = self._weights
        factor = (1 + weights.important) * (1 + weights.conversation)
        share = factor * weights.meaning / (1 - s.background)
        widest = greatest_error(self._query, s.segment)
        # What lies further below the background has nothing to do with the question either way.
        may_be = s.cosine > np.float32(s.background - widest)
        within = s.total >= np.float32(least - share * widest)
        gained = np.float32(0)
        if s.named is not None:
            # One that is related after all has its speaker counted for it.
            within |= s.named & (s.total <= 0)
            gained = np.float32(factor * weights.speaker)
        places = np.flatnonzero(within & may_be)
        docs, total = s.selection.docs_at(places), s.total[places]
        most = total + np.float32(share) * error_of(self._query, s.segment, docs)
        return docs[most + gained * (total <= 0) >= least]

    def _settle(self, part: int, docs: Docs) -> None:
        new = np.setdiff1d(docs, self._settled[part])
        if len(new):
            s = self._scores[part]
            put_cosines(s, new, cosines(self._query, s.segment, new), self._weights)
            self._settled[part] = np.concatenate([self._settled[part], new])
