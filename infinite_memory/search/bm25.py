"""Scores by words: BM25 over the postings of the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import hash_term
from infinite_memory.search.segment import Segment

K1 = 1.2
B = 0.75
K3 = 1.0
SPELLED_SHARE = 0.5
MINOR_SHARE = 0.2
_MAX_RELATIVE_LENGTH = 8.0
# From this number of postings per selected document, each document is looked up in the postings.
_LOOK_UP_FROM = 32

Scores = NDArray[np.float32]
_Postings = tuple[NDArray[np.int32], NDArray[Any], NDArray[np.uint16]]


@frozen(kw_only=True, eq=False)
class QueryTerms:
    """The terms of a question, with the weight of every term among the selected documents.

    `terms` are hashes and `weights` float32, of the same length. `mean_length` is the mean length
    of the selected documents. `ideal` is the BM25 score of an ideal document, 0 without any term or
    document.
    """

    terms: tuple[int, ...]
    weights: Scores
    mean_length: float
    ideal: float


def bm25(
    query_terms: Sequence[str],
    segments: Sequence[Segment],
    doc_filters: Sequence[DocFilter],
    *,
    spelled: Sequence[str] = (),
    minor: Sequence[str] = (),
) -> tuple[list[Scores], QueryTerms]:
    """Return the BM25 scores of the selected documents, float32 by segment, and the query terms.

    Okapi BM25 with k1 = 1.2, b = 0.75, k3 = 1 and the idf log(1 + (N - n + 0.5) / (n + 0.5)) of
    Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009). N, n and the mean length
    count only the selected documents, so that hidden documents do not change the scores.

    The names in `spelled`, which the question may spell out, have half the weight, and only if a
    document contains them. The terms in `minor`, such as function words, have a fifth of the
    weight. A text counts as at most eight times as long as the mean, so that a search still finds a
    rare word in a long document among short notes.

    The ideal document has the mean length and contains every term of the question once, so that
    its score is the sum of the weights. No text has every word of a long question, which is
    compared by meaning more than by words.
    """
    pairs = list(zip(segments, doc_filters, strict=True))
    scores = [np.zeros(len(doc_filter), np.float32) for doc_filter in doc_filters]
    total = sum(map(len, doc_filters))
    shares = _term_shares(query_terms, spelled, minor)
    if not total or not shares:
        return scores, QueryTerms(
            terms=(), weights=np.zeros(0, np.float32), mean_length=1.0, ideal=0.0
        )
    mean_length = max(sum(_sum_lengths(*pair) for pair in pairs) / total, 1.0)
    saturations = [_saturation_by_length(segment, mean_length) for segment in segments]
    weights: dict[int, float] = {}
    for term, share in shares.items():
        postings = [_filter_postings(term, *pair) for pair in pairs]
        doc_count = sum(len(counts) for _, _, counts in postings)
        if not doc_count and share == SPELLED_SHARE:
            continue
        weights[term] = share * float(np.log1p((total - doc_count + 0.5) / (doc_count + 0.5)))
        for segment_postings, segment, saturation, score in zip(
            postings, segments, saturations, scores, strict=True
        ):
            _add_gains(score, segment_postings, saturation, segment.length, weights[term])
    return scores, QueryTerms(
        terms=tuple(weights),
        weights=np.array(list(weights.values()), np.float32),
        mean_length=mean_length,
        ideal=sum(weights.values()),
    )


def _term_shares(
    query_terms: Sequence[str], spelled: Sequence[str], minor: Sequence[str]
) -> dict[int, float]:
    """Return the share of the weight of every term, by its hash."""
    repeats = Counter(hash_term(term) for term in query_terms)
    # A repeated word of a long question counts more, but less than in proportion.
    shares = {term: times * (K3 + 1) / (times + K3) for term, times in repeats.items()}
    for name in spelled:
        shares.setdefault(hash_term(name), SPELLED_SHARE)
    for term in minor:
        shares.setdefault(hash_term(term), MINOR_SHARE)
    return shares


def _add_gains(
    score: Scores,
    postings: _Postings,
    saturation: Scores,
    lengths: NDArray[np.int32],
    weight: float,
) -> None:
    docs, positions, counts = postings
    gained = counts.astype(np.float32)
    gained /= gained + saturation[lengths[docs]]
    gained *= np.float32(weight * (K1 + 1))
    score[positions] += gained


def count_terms(segment: Segment, terms: Sequence[int], docs: NDArray[np.int32]) -> Scores:
    """Return the counts of `terms` in `docs`: float32, shape (docs, terms)."""
    counts = np.zeros((len(docs), len(terms)), np.float32)
    for column, term in enumerate(terms):
        term_docs, term_counts = segment.postings(term)
        if len(term_docs):
            positions = np.minimum(np.searchsorted(term_docs, docs), len(term_docs) - 1)
            counts[:, column] = np.where(term_docs[positions] == docs, term_counts[positions], 0)
    return counts


def saturate_counts(counts: Scores, lengths: Scores, query: QueryTerms) -> Scores:
    """Return the BM25 scores of texts with the given term counts, as shares of the ideal score.

    `counts` has shape (n, terms) and may hold fractions, `lengths` has shape (n,).
    """
    relative = np.minimum(lengths / np.float32(query.mean_length), np.float32(_MAX_RELATIVE_LENGTH))
    saturation = np.float32(K1) * (np.float32(1 - B) + np.float32(B) * relative)
    gained = counts / (counts + saturation[:, np.newaxis])
    share: Scores = gained @ query.weights
    share *= np.float32((K1 + 1) / (query.ideal or 1.0))
    return share


def _sum_lengths(segment: Segment, doc_filter: DocFilter) -> float:
    if doc_filter.docs is None:
        return float(segment.total_length)
    return float(doc_filter.take(segment.length).sum())


def _saturation_by_length(segment: Segment, mean_length: float) -> Scores:
    """Return the addend in the BM25 denominator, indexed by the length of a document."""
    lengths = np.arange(segment.longest + 1, dtype=np.float32)
    relative: Scores = np.minimum(
        lengths / np.float32(mean_length), np.float32(_MAX_RELATIVE_LENGTH)
    )
    relative *= np.float32(K1 * B)
    relative += np.float32(K1 * (1 - B))
    return relative


def _filter_postings(term: int, segment: Segment, doc_filter: DocFilter) -> _Postings:
    """Return the selected documents with a term, their positions in the filter, and the counts."""
    docs, counts = segment.postings(term)
    if doc_filter.docs is None:
        return docs, docs, counts
    if len(docs) < _LOOK_UP_FROM * len(doc_filter):
        kept = doc_filter.contains(docs)
        docs = docs[kept]
        return docs, doc_filter.positions_of(docs), counts[kept]
    # Few documents and a common term: the time must not depend on the number of postings.
    rows = np.searchsorted(docs, doc_filter.docs)
    rows[rows == len(docs)] = 0
    positions = (docs[rows] == doc_filter.docs).nonzero()[0]
    return doc_filter.docs[positions], positions, counts[rows[positions]]
