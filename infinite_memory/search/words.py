"""The arm of words: BM25 over postings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.document import hash_term
from infinite_memory.search.segment import Segment

__all__ = ["bm25"]

K1 = 1.2
B = 0.75
_TELLING = 10
_LONGEST = 4.0

Scores = NDArray[np.float32]


def bm25(
    query_terms: Sequence[str],
    segments: Sequence[Segment],
    eligible: Sequence[NDArray[np.bool_]],
) -> tuple[list[Scores], float]:
    """Return the BM25 score of every document, and that of an ideal one.

    Okapi BM25 with k1 = 1.2, b = 0.75 and the idf log(1 + (N - n + 0.5) / (n + 0.5)) of Robertson
    and Zaragoza, "The Probabilistic Relevance Framework" (2009). N, n and the mean length count the
    eligible documents alone, so that what a search may not see does not move its scores. One
    float32 array of shape (n,) a segment, 0 where not eligible.

    A text counts as at most four times as long as the mean, so that a rare word in a long document
    is still found among short notes.

    The ideal document has the mean length and the terms of the question once each, where the i-th
    of them, most telling first, counts 10 / (10 + i): nothing answers every word of a long
    question, and a text that answers the ten most telling ones is no worse a match for it.
    """
    scores = [np.zeros(len(segment), np.float32) for segment in segments]
    total = sum(int(np.count_nonzero(mask)) for mask in eligible)
    if not total:
        return scores, 0.0
    lengths = sum(float(s.length[mask].sum()) for s, mask in zip(segments, eligible, strict=True))
    mean_length = max(lengths / total, 1.0)
    weights: list[float] = []
    for term, repeats in Counter(hash_term(term) for term in query_terms).items():
        found = [
            _eligible_postings(s, term, mask) for s, mask in zip(segments, eligible, strict=True)
        ]
        holding = sum(len(docs) for docs, _ in found)
        idf = float(np.log1p((total - holding + 0.5) / (holding + 0.5)))
        weights.extend([idf] * repeats)
        for segment, (docs, counts), score in zip(segments, found, scores, strict=True):
            relative = np.minimum(segment.length[docs] / np.float32(mean_length), _LONGEST)
            saturation = K1 * (1 - B + B * relative)
            score[docs] += np.float32(repeats * idf * (K1 + 1)) * (counts / (counts + saturation))
    weights.sort(reverse=True)
    return scores, sum(w * _TELLING / (_TELLING + i) for i, w in enumerate(weights))


def _eligible_postings(
    segment: Segment, term: int, mask: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], Scores]:
    docs, counts = segment.postings(term)
    kept = mask[docs]
    return docs[kept], counts[kept].astype(np.float32)
