"""From a total to a score that means the same for every question, store and model."""

from __future__ import annotations

import math

from attrs import frozen

from infinite_memory.search.scoring import Weights

__all__ = ["Calibration", "choose_calibration"]

# A score is rounded, since differences in the seventh place come from the order of additions.
_PLACES = 6


@frozen(kw_only=True)
class Calibration:
    """A logistic curve: of the questions whose best memory has this total, how many have an answer.

    As many have one as have none at `middle`, where the score is 0.5. Fitted by logistic regression
    on development sets, each question put to the store with its answer and to one without.
    """

    middle: float
    width: float

    def score(self, total: float) -> float:
        """Return the score of a total, in [0, 1]; 0 for no match at all."""
        if total <= 0:
            return 0.0
        return round(1 / (1 + math.exp((self.middle - total) / self.width)), _PLACES)

    def total(self, score: float) -> float:
        """Return the least total that has at least this score; infinite for a score of 1."""
        if score <= 0:
            return 0.0
        if score >= 1:
            return math.inf
        return max(0.0, self.middle + self.width * math.log(score / (1 - score)))


_BOTH = Calibration(middle=0.75, width=0.1)
_MEANING_ALONE = Calibration(middle=0.45, width=0.05)
# Words that happen to be shared say little: the curve is flat, and no match falls under 0.02. Fits
# Chinese, which is searched by words alone, better than English, whose middle would be 0.8.
_WORDS_ALONE = Calibration(middle=0.42, width=0.12)


def choose_calibration(weights: Weights) -> Calibration:
    """Return the curve for a search by both arms, or by one of them alone."""
    if not weights.meaning:
        return _WORDS_ALONE
    return _BOTH if weights.words else _MEANING_ALONE
