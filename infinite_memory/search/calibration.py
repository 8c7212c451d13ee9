"""Converts a total into a score that is comparable across questions, stores and models.

The same total means less in a large store than in a small one, and less in a language whose texts
all have high cosines with each other. The middle of the curve therefore depends on the question:

    middle = base + near * b + dense * max(0, b - 0.2) + memories * ln(n) + words * ln(1 + w)

b is the mean of the top tenth of the cosines of the question with the searched memories, of 50
cosines at least, on the scale of `meaning`; n counts the searched memories; w counts the words of
the question. A memory that asks what is asked counts in b by what it says beyond that, see
`find_echoes`. As b is measured on the searched memories themselves, no language and no model needs
a parameter of its own. The order of the memories does not depend on the curve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen

from infinite_memory.search.cosine import mean_of_greatest
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.scoring import Scores, Weights, find_echoes, scale_cosines
from infinite_memory.search.segment import Segment

Compared = tuple[Segment, DocFilter, Scores]
"""Memories of a segment, with their cosines with the question, shape (k,)."""

# Scores are rounded: differences in the seventh decimal come from the order of additions.
_PLACES = 6
_HIGHEST = 1 - 1e-6
# `math.exp` overflows above 709.
_MOST_EXPONENT = 700.0
_NEAREST = 50
_NEAREST_SHARE = 10
# At most so many cosines are sampled: the mean of all of them differs only in the third decimal.
_SAMPLE = 16_384
# In English b is lower than this for most questions that have no answer.
_DENSE = 0.2


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
        """Return the score of a total, at least 0 and less than 1; 0 if nothing matches."""
        if total <= 0:
            return 0.0
        share = 1 / (1 + math.exp(min((self.middle - total) / self.width, _MOST_EXPONENT)))
        return min(round(share, _PLACES), _HIGHEST)

    def total(self, score: float) -> float:
        """Return the least total with at least this score; infinite for a score of 1."""
        if score <= 0:
            return 0.0
        if score >= 1:
            return math.inf
        return max(0.0, self.middle + self.width * math.log(score / (1 - score)))


@frozen(kw_only=True)
class _Fit:
    """The parameters of the curves for a choice of arms, as in the formula of the module."""

    base: float
    width: float
    near: float = 0.0
    dense: float = 0.0
    memories: float = 0.0
    words: float = 0.0


# Fitted on the sets of `benchmarks.calibration` together with samples of 5 and 20 notes.
_BOTH = _Fit(base=0.26, width=0.085, near=0.6, dense=1.5, memories=0.04)
_MEANING_ALONE = _Fit(base=0.34, width=0.067, near=0.63)
_WORDS_ALONE = _Fit(base=0.3, width=0.1, memories=0.04, words=-0.09)


def calibrate(
    compared: Sequence[Compared], memories: int, background: float, weights: Weights, words: int
) -> Calibration:
    """Return the curve for a question with `words` words that was put to `memories` memories.

    `compared` are these memories or a sample of them. `background` is that of the model.
    """
    fit = _choose_fit(weights)
    near = _measure_nearness(compared, background, weights) if fit.near else 0.0
    middle = (
        fit.base
        + fit.near * near
        + fit.dense * max(0.0, near - _DENSE)
        + fit.memories * math.log(max(1, memories))
        + fit.words * math.log1p(words)
    )
    return Calibration(middle=max(0.0, middle), width=fit.width)


def _measure_nearness(compared: Sequence[Compared], background: float, weights: Weights) -> float:
    """Return b of the formula: 0 where the nearest memories are as far as unrelated texts."""
    if not compared:
        return 0.0
    step = max(1, sum(len(cosine) for _, _, cosine in compared) // _SAMPLE)
    # Sampled from all in one row, so that it does not count how they lie in segments.
    cosines = np.concatenate([cosine for _, _, cosine in compared])[::step]
    asking = [doc_filter.take(segment.is_question) for segment, doc_filter, _ in compared]
    repeats = np.concatenate(asking)[::step].nonzero()[0]
    meaning = scale_cosines(cosines[repeats], background)
    cosines[repeats] -= (
        find_echoes(meaning, meaning, weights) * meaning * np.float32(1 - background)
    )
    mean = mean_of_greatest(cosines, max(_NEAREST, len(cosines) // _NEAREST_SHARE), background)
    return max(0.0, (mean - background) / (1 - background))


def _choose_fit(weights: Weights) -> _Fit:
    """Return the parameters for a search by meaning and words, by meaning alone, or words alone."""
    if not weights.meaning:
        return _WORDS_ALONE
    return _BOTH if weights.words else _MEANING_ALONE
