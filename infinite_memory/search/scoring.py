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
from attrs import evolve, field, frozen, validators
from numpy.typing import NDArray

from infinite_memory.search.cosine import ABSENT
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.segment import Segment

__all__ = [
    "DEFAULT_WEIGHTS",
    "Positions",
    "SegmentScores",
    "Weights",
    "replace_cosines",
    "scale_cosines",
    "score_segment",
    "without_meaning",
    "without_words",
]

Scores = NDArray[np.float32]
Positions = NDArray[np.integer]

_SHARE = validators.and_(validators.ge(0.0), validators.le(10.0))


@frozen(kw_only=True)
class Weights:
    """The steps of the ranking and how much each counts; 0 leaves a step out.

    `meaning` and `words` weigh the two arms, `speaker` a memory whose speaker the question names.
    `parts` is the share of the meaning that comes from the sentence nearest to the memory, in a
    question of several sentences. `around` is the share of the meaning that comes from the previous
    memory of the conversation, and again from the next; `before` and `after` are the shares of
    their words that count as the memory's own. `conversation` weighs the three best memories of the
    conversation. A memory that ends with a question loses the share `asks`. `quoted` weighs the
    quoted parts of the question that the memory holds word for word. An important memory gains the
    share `important`, which is small, so that it decides between near equals only.
    No weight depends on the embedding model.
    """

    meaning: float = field(default=1.0, validator=_SHARE)
    words: float = field(default=0.5, validator=_SHARE)
    speaker: float = field(default=0.25, validator=_SHARE)
    parts: float = field(default=0.5, validator=validators.and_(validators.ge(0), validators.le(1)))
    around: float = field(default=0.2, validator=_SHARE)
    before: float = field(default=0.5, validator=_SHARE)
    after: float = field(default=0.2, validator=_SHARE)
    conversation: float = field(default=0.2, validator=_SHARE)
    asks: float = field(default=0.1, validator=_SHARE)
    quoted: float = field(default=0.3, validator=_SHARE)
    important: float = field(default=0.05, validator=_SHARE)


DEFAULT_WEIGHTS = Weights()
"""Chosen on conversations, questions to paragraphs, and scientific claims: one for all."""


@frozen(kw_only=True, eq=False)
class SegmentScores:
    """One segment with the scores of its selected documents, float32, in their order.

    `total` decides; the rest says how it came about. `ideal` is the `bm25` of an ideal document.
    `named` tells which documents were said by one who is named in the question, None where nobody
    is, and `spoken` which of these have anything else to do with it.
    """

    segment: Segment
    doc_filter: DocFilter
    cosine: Scores
    bm25: Scores
    named: NDArray[np.bool_] | None
    spoken: NDArray[np.bool_] | None
    total: Scores
    ideal: float
    background: float

    def meaning(self, positions: Positions) -> Scores:
        """Return the meaning of the documents at these places of the selection."""
        return scale_cosines(self.cosine[positions], self.background)

    def words(self, positions: Positions) -> Scores:
        """Return the words of the documents at these places of the selection."""
        share: Scores = self.bm25[positions] / np.float32(self.ideal or 1.0)
        return share

    def speaker(self, positions: Positions) -> Scores:
        """Return 1 for each of these places whose document is `spoken` by one who is named."""
        if self.spoken is None:
            return np.zeros(len(positions), np.float32)
        return self.spoken[positions].astype(np.float32)


def without_meaning(weights: Weights) -> Weights:
    """Return the weights of a search that compares no vectors."""
    return evolve(weights, meaning=0.0, words=1.0 if weights.words else 0.0)


def without_words(weights: Weights) -> Weights:
    """Return the weights of a search that compares no words."""
    return evolve(weights, words=0.0, quoted=0.0)


def score_segment(
    segment: Segment,
    doc_filter: DocFilter,
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
        cosine = np.full(len(doc_filter), ABSENT, np.float32)
    spoken = None if named is None else named.copy()
    return SegmentScores(
        segment=segment,
        doc_filter=doc_filter,
        cosine=cosine,
        bm25=bm25,
        named=named,
        spoken=spoken,
        total=_compute_totals(
            cosine,
            bm25 * np.float32(weights.words / (ideal or 1.0)),
            spoken,
            asks=doc_filter.take(segment.asks),
            important=doc_filter.take(segment.important),
            background=background,
            weights=weights,
        ),
        ideal=ideal,
        background=background,
    )


def replace_cosines(
    segment_scores: SegmentScores, docs: NDArray[np.int32], cosine: Scores, weights: Weights
) -> None:
    """Put other cosines, shape (k,), and what follows from them, in the place of those of `docs`.

    `docs` are selected; `weights` are those that `segment_scores` was made with.
    """
    positions = segment_scores.doc_filter.positions_of(docs)
    spoken = None if segment_scores.named is None else segment_scores.named[positions]
    segment_scores.cosine[positions] = cosine
    segment_scores.total[positions] = _compute_totals(
        cosine,
        segment_scores.bm25[positions] * np.float32(weights.words / (segment_scores.ideal or 1.0)),
        spoken,
        asks=segment_scores.segment.asks[docs],
        important=segment_scores.segment.important[docs],
        background=segment_scores.background,
        weights=weights,
    )
    if segment_scores.spoken is not None and spoken is not None:
        segment_scores.spoken[positions] = spoken


def _compute_totals(
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
