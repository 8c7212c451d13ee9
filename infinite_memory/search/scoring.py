"""The two arms on one scale: what every selected document has by itself.

`meaning` is (cosine - background) / (1 - background), where the background is the cosine that two
unrelated texts have under the model. `words` is the BM25 score as a share of what a document of
mean length gets that holds the words of the question once. `speaker` is 1 where the question names
who said it. All three mean the same for every question, store and model, so that a score can be
compared and held against a threshold; normalising by the best and worst candidate of each question
ranks no better (measured on the development sets) and would call the best of nothing a match.
"""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from infinite_memory.search.cosine import ABSENT
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.segment import Segment
from infinite_memory.search.weights import Weights

__all__ = [
    "Places",
    "SegmentScores",
    "replace_cosines",
    "scale_cosines",
    "scored",
    "without_meaning",
    "without_words",
]

Scores = NDArray[np.float32]
Places = NDArray[np.integer]


@frozen(kw_only=True, eq=False)
class SegmentScores:
    """One segment with the scores of its selected documents, float32, in their order.

    `total` decides; the rest says how it came about. `ideal` is the `bm25` of an ideal document.
    `named` tells which documents were said by one who is named in the question, None where nobody
    is, and `spoken` which of these have anything else to do with it.
    """

    segment: Segment
    selection: DocFilter
    cosine: Scores
    bm25: Scores
    named: NDArray[np.bool_] | None
    spoken: NDArray[np.bool_] | None
    total: Scores
    ideal: float
    background: float

    def meaning(self, places: Places) -> Scores:
        """Return the meaning of the documents at these places of the selection."""
        return scale_cosines(self.cosine[places], self.background)

    def words(self, places: Places) -> Scores:
        """Return the words of the documents at these places of the selection."""
        share: Scores = self.bm25[places] / np.float32(self.ideal or 1.0)
        return share

    def speaker(self, places: Places) -> Scores:
        """Return 1 for each of these places whose document is `spoken` by one who is named."""
        if self.spoken is None:
            return np.zeros(len(places), np.float32)
        return self.spoken[places].astype(np.float32)


def without_meaning(weights: Weights) -> Weights:
    """Return the weights of a search that compares no vectors."""
    return evolve(weights, meaning=0.0, words=1.0 if weights.words else 0.0)


def without_words(weights: Weights) -> Weights:
    """Return the weights of a search that compares no words."""
    return evolve(weights, words=0.0, quoted=0.0)


def scored(
    segment: Segment,
    selection: DocFilter,
    *,
    cosine: Scores | None,
    bm25: Scores,
    ideal: float,
    named: NDArray[np.bool_] | None,
    background: float,
    weights: Weights,
) -> SegmentScores:
    """Return the selected documents with their scores; the arrays have the selection's length.

    `cosine` is None where vectors are not compared, `ideal` the `bm25` of an ideal document,
    `named` tells which were said by one who was named, None where nobody was.
    """
    if cosine is None:
        cosine = np.full(len(selection), ABSENT, np.float32)
    spoken = None if named is None else named.copy()
    return SegmentScores(
        segment=segment,
        selection=selection,
        cosine=cosine,
        bm25=bm25,
        named=named,
        spoken=spoken,
        total=_totals(
            cosine,
            bm25 * np.float32(weights.words / (ideal or 1.0)),
            spoken,
            asks=selection.take(segment.asks),
            important=selection.take(segment.important),
            background=background,
            weights=weights,
        ),
        ideal=ideal,
        background=background,
    )


def replace_cosines(
    one: SegmentScores, docs: NDArray[np.int32], cosine: Scores, weights: Weights
) -> None:
    """Put other cosines, shape (k,), and what follows from them, in the place of those of `docs`.

    `docs` are selected; `weights` are those that `one` was scored with.
    """
    places = one.selection.places(docs)
    spoken = None if one.named is None else one.named[places]
    one.cosine[places] = cosine
    one.total[places] = _totals(
        cosine,
        one.bm25[places] * np.float32(weights.words / (one.ideal or 1.0)),
        spoken,
        asks=one.segment.asks[docs],
        important=one.segment.important[docs],
        background=one.background,
        weights=weights,
    )
    if one.spoken is not None and spoken is not None:
        one.spoken[places] = spoken


def _totals(
    cosine: Scores,
    words: Scores,
    spoken: NDArray[np.bool_] | None,
    *,
    asks: NDArray[np.int8],
    important: NDArray[np.int8],
    background: float,
    weights: Weights,
) -> Scores:
    """Return the totals; who is `spoken` and has nothing to do with the question no longer is."""
    # In place, because at a million memories each new array costs as much as the arithmetic.
    total = scale_cosines(cosine, background)
    total *= np.float32(weights.meaning)
    total += words
    if spoken is not None:
        spoken &= total > 0
        total += np.float32(weights.speaker) * spoken
    if weights.asks:
        total[np.flatnonzero(asks)] *= np.float32(1 - weights.asks)
    if weights.important:
        total[np.flatnonzero(important)] *= np.float32(1 + weights.important)
    # By itself a memory is the best of its conversation.
    total *= np.float32(1 + weights.conversation)
    return total


def scale_cosines(cosine: Scores, background: float) -> Scores:
    """Return the share of the way from the background to 1 that each cosine is, a new array."""
    meaning = cosine - np.float32(background)
    meaning /= np.float32(1 - background)
    return np.clip(meaning, 0, 1, out=meaning)
