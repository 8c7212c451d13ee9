"""The exact cosines of the memories that an approximate one may have among the best.

The search compares all vectors by their high bytes. Whatever could be one of the best for all that
is known of the errors is then compared by both planes, so that none of the best is missed and none
stands in a place that rounding gave it. Those further down keep their approximate cosines.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.arms import Scored, put_cosines
from infinite_memory.search.choosing import best
from infinite_memory.search.neighbours import Surroundings
from infinite_memory.search.vectors import QueryVector, cosines, error_of, greatest_error
from infinite_memory.search.weights import Weights

__all__ = ["Settling"]

Docs = NDArray[np.int32]


class Settling:
    """Puts exact cosines and totals into `scores`, of each document once.

    `query` is what they were compared with, `weights` are those of `scores`.
    """

    def __init__(self, scores: Sequence[Scored], query: QueryVector, weights: Weights) -> None:
        self._scores = scores
        self._query = query
        self._weights = weights
        self._settled = [np.empty(0, np.int32) for _ in scores]

    def best(self, number: int) -> None:
        """Settle the best `number` by their totals, so that they are those of exact cosines."""
        first = best(self._scores, number, 0.0)
        for part, s in enumerate(self._scores):
            docs = [s.selection.doc(place) for other, place in first if other is s]
            self._settle(part, np.array(docs, np.int32))
        if len(first) < number:
            return
        # As many have at least this; what cannot reach it is none of the best.
        least = min(float(s.total[place]) for s, place in first)
        for part, s in enumerate(self._scores):
            self._settle(part, self._within_reach(s, least))

    def near(self, near: Surroundings) -> None:
        """Settle every document of `near`."""
        for part in range(len(self._scores)):
            self._settle(part, near.doc[near.part == part].astype(np.int32))

    def _within_reach(self, s: Scored, least: float) -> Docs:
        """Return the documents whose total may be `least` with the exact cosine."""
        weights = self._weights
        share = weights.meaning * (1 + weights.important) * (1 + weights.conversation)
        share /= 1 - s.background
        widest = greatest_error(self._query, s.segment)
        places = np.flatnonzero((s.total >= np.float32(least - share * widest)) & (s.total > 0))
        docs = (places if s.selection.docs is None else s.selection.docs[places]).astype(np.int32)
        error = np.float32(share) * error_of(self._query, s.segment, docs)
        return docs[s.total[places] + error >= least]

    def _settle(self, part: int, docs: Docs) -> None:
        new = np.setdiff1d(docs, self._settled[part])
        if len(new):
            s = self._scores[part]
            put_cosines(s, new, cosines(self._query, s.segment, new), self._weights)
            self._settled[part] = np.concatenate([self._settled[part], new])
