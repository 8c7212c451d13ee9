"""Converts a total into a score that is comparable across questions, stores and models."""

from __future__ import annotations

import math

from attrs import frozen

from infinite_memory.search.scoring import Weights

__all__ = ["Calibration", "choose_calibration"]

# Scores are rounded: differences in the seventh decimal come from the order of additions.
_PLACES = 6


@frozen(kw_only=True)
class Calibration:
    """A logistic curve: the share of questions with an answer, by the total of the best memory.

    At the total `middle` half of the questions have an answer and the score is 0.5. `width` is the
    scale of the curve. It was fitted by logistic regression on development sets, where a store with
    the answer and a store without the answer received every question.
    """

    middle: float
    width: float

    def score(self, total: float) -> float:
        """Return the score of a total, in [0, 1]; 0 if nothing matches."""
        if total <= 0:
            return 0.0
        return round(1 / (1 + math.exp((self.middle - total) / self.width)), _PLACES)

    def total(self, score: float) -> float:
        """Return the least total with at least this score; infinite for a score of 1."""
        if score <= 0:
            return 0.0
        if score >= 1:
            return math.inf
        return max(0.0, self.middle + self.width * math.log(score / (1 - score)))


_BOTH = Calibration(middle=0.75, width=0.1)
_MEANING_ALONE = Calibration(middle=0.45, width=0.05)
# A chance overlap in words says little: the curve is flat, and no match scores below 0.02. It fits
# Chinese, which is searched by words alone, better than English, whose middle would be 0.8.
_WORDS_ALONE = Calibration(middle=0.42, width=0.12)


def choose_calibration(weights: Weights) -> Calibration:
    """Return the curve for a search by meaning and words, by meaning alone, or by words alone."""
    if not weights.meaning:
        return _WORDS_ALONE
    return _BOTH if weights.words else _MEANING_ALONE
