"""The arm of words: BM25 over postings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.document import hash_term
from infinite_memory.search.segment import Segment
from infinite_memory.search.selection import Selection

__all__ = ["bm25"]

K1 = 1.2
B = 0.75
_TELLING = 10
_LONGEST = 4.0
# With this many postings a selected document, each document is looked up among the postings.
_LOOK_UP_FROM = 32

Scores = NDArray[np.float32]


def bm25(
    query_terms: Sequence[str], segments: Sequence[Segment], selections: Sequence[Selection]
) -> tuple[list[Scores], float]:
    """Return the BM25 score of every selected document, and that of an ideal one.

    Okapi BM25 with k1 = 1.2, b = 0.75 and the idf log(1 + (N - n + 0.5) / (n + 0.5)) of Robertson
    and Zaragoza, "The Probabilistic Relevance Framework" (2009). N, n and the mean length count the
    selected documents alone, so that what a search may not see does not move its scores. One
    float32 array a segment, of the length of its selection.

    A text counts as at most four times as long as the mean, so that a rare word in a long document
    is still found among short notes.

    The ideal document has the mean length and the terms of the question once each, where the i-th
    of them, most telling first, counts 10 / (10 + i): nothing answers every word of a long
    question, and a text that answers the ten most telling ones is no worse a match for it.
    """
    pairs = list(zip(segments, selections, strict=True))
    scores = [np.zeros(len(selection), np.float32) for selection in selections]
    total = sum(map(len, selections))
    if not total:
        return scores, 0.0
    mean_length = max(sum(_lengths(*pair) for pair in pairs) / total, 1.0)
    saturations = [_saturations(segment, mean_length) for segment in segments]
    weights: list[float] = []
    for term, repeats in Counter(hash_term(term) for term in query_terms).items():
        found = [_selected_postings(segment, term, selection) for segment, selection in pairs]
        holding = sum(len(counts) for _, _, counts in found)
        idf = float(np.log1p((total - holding + 0.5) / (holding + 0.5)))
        weights.extend([idf] * repeats)
        weight = np.float32(repeats * idf * (K1 + 1))
        for (docs, places, counts), segment, saturation, score in zip(
            found, segments, saturations, scores, strict=True
        ):
            gained = counts.astype(np.float32)
            gained /= gained + saturation[segment.length[docs]]
            gained *= weight
            score[places] += gained
    weights.sort(reverse=True)
    return scores, sum(w * _TELLING / (_TELLING + i) for i, w in enumerate(weights))


def _lengths(segment: Segment, selection: Selection) -> float:
    if selection.docs is None:
        return float(segment.total_length)
    return float(selection.take(segment.length).sum())


def _saturations(segment: Segment, mean_length: float) -> Scores:
    """Return what BM25 adds to the count of a term in its denominator, by length of a document."""
    lengths = np.arange(segment.longest + 1, dtype=np.float32)
    relative: Scores = np.minimum(lengths / np.float32(mean_length), np.float32(_LONGEST))
    relative *= np.float32(K1 * B)
    relative += np.float32(K1 * (1 - B))
    return relative


def _selected_postings(
    segment: Segment, term: int, selection: Selection
) -> tuple[NDArray[np.int32], NDArray[Any], NDArray[np.uint16]]:
    """Return the selected documents with a term, their places in the selection, and the counts."""
    docs, counts = segment.postings(term)
    if selection.docs is None:
        return docs, docs, counts
    if len(docs) < _LOOK_UP_FROM * len(selection):
        kept = selection.among(docs)
        docs = docs[kept]
        return docs, selection.places(docs), counts[kept]
    # A few documents and a common term: the time must not depend on how common it is.
    found = np.searchsorted(docs, selection.docs)
    found[found == len(docs)] = 0
    places = np.flatnonzero(docs[found] == selection.docs)
    return selection.docs[places], places, counts[found[places]]
