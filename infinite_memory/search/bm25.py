"""The arm of words: BM25 over postings."""

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

__all__ = ["QueryTerms", "bm25", "count_terms", "saturate_counts"]

K1 = 1.2
B = 0.75
K3 = 1.0
SPELLED_SHARE = 0.5
_TELLING_TERMS = 10
_MAX_RELATIVE_LENGTH = 4.0
# With this many postings a selected document, each document is looked up among the postings.
_LOOK_UP_FROM = 32

Scores = NDArray[np.float32]
_Postings = tuple[NDArray[np.int32], NDArray[Any], NDArray[np.uint16]]


@frozen(kw_only=True, eq=False)
class QueryTerms:
    """The terms of a question, with what each counts among the documents that were looked at.

    `terms` are their hashes and `weights` float32, of the same length; `mean_length` is that of the
    documents, `ideal` the BM25 score of an ideal one, 0 where there is no term or no document.
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
) -> tuple[list[Scores], QueryTerms]:
    """Return the BM25 score of every selected document, and what it was made with.

    Okapi BM25 with k1 = 1.2, b = 0.75, k3 = 1 and the idf log(1 + (N - n + 0.5) / (n + 0.5)) of
    Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009). N, n and the mean length
    count the selected documents alone, so that what a search may not see does not move its scores.
    One float32 array a segment, of the length of its selection.

    A name that the question may spell, of `spelled`, counts half, and only where a document has it.
    A text counts as at most four times as long as the mean, so that a rare word in a long document
    is still found among short notes.

    The ideal document has the mean length and the terms of the question once each, where the i-th
    of them, most telling first, counts 10 / (10 + i): nothing answers every word of a long
    question, and a text that answers the ten most telling ones is no worse a match for it.
    """
    pairs = list(zip(segments, doc_filters, strict=True))
    scores = [np.zeros(len(doc_filter), np.float32) for doc_filter in doc_filters]
    total = sum(map(len, doc_filters))
    shares = _term_shares(query_terms, spelled)
    if not total or not shares:
        return scores, QueryTerms(
            terms=(), weights=np.zeros(0, np.float32), mean_length=1.0, ideal=0.0
        )
    mean_length = max(sum(_sum_lengths(*pair) for pair in pairs) / total, 1.0)
    saturations = [_saturation_by_length(segment, mean_length) for segment in segments]
    weights: dict[int, float] = {}
    for term, share in shares.items():
        postings = [_filter_postings(segment, term, doc_filter) for segment, doc_filter in pairs]
        doc_count = sum(len(counts) for _, _, counts in postings)
        if not doc_count and share == SPELLED_SHARE:
            continue
        weights[term] = share * float(np.log1p((total - doc_count + 0.5) / (doc_count + 0.5)))
        for segment_postings, segment, saturation, score in zip(
            postings, segments, saturations, scores, strict=True
        ):
            docs = segment_postings[0]
            _add_gains(score, segment_postings, saturation[segment.length[docs]], weights[term])
    ranked = enumerate(sorted(weights.values(), reverse=True))
    return scores, QueryTerms(
        terms=tuple(weights),
        weights=np.array(list(weights.values()), np.float32),
        mean_length=mean_length,
        ideal=sum(weight * _TELLING_TERMS / (_TELLING_TERMS + i) for i, weight in ranked),
    )


def _term_shares(query_terms: Sequence[str], spelled: Sequence[str]) -> dict[int, float]:
    """Return how often each term counts, by its hash; what is only spelled counts `SPELLED`."""
    repeats = Counter(hash_term(term) for term in query_terms)
    # A word that a long question repeats says more, but not as often again.
    shares = {term: times * (K3 + 1) / (times + K3) for term, times in repeats.items()}
    for name in spelled:
        shares.setdefault(hash_term(name), SPELLED_SHARE)
    return shares


def _add_gains(score: Scores, postings: _Postings, saturation: Scores, weight: float) -> None:
    _, positions, counts = postings
    gained = counts.astype(np.float32)
    gained /= gained + saturation
    gained *= np.float32(weight * (K1 + 1))
    score[positions] += gained


def count_terms(segment: Segment, terms: Sequence[int], docs: NDArray[np.int32]) -> Scores:
    """Return how often each of `docs` has each of `terms`: float32, shape (docs, terms)."""
    counts = np.zeros((len(docs), len(terms)), np.float32)
    for column, term in enumerate(terms):
        term_docs, term_counts = segment.postings(term)
        if len(term_docs):
            positions = np.minimum(np.searchsorted(term_docs, docs), len(term_docs) - 1)
            counts[:, column] = np.where(term_docs[positions] == docs, term_counts[positions], 0)
    return counts


def saturate_counts(counts: Scores, lengths: Scores, query: QueryTerms) -> Scores:
    """Return BM25 of texts with these counts of the terms, as a share of the ideal score.

    `counts` has shape (n, terms) and need not be whole, `lengths` has shape (n,).
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
    """Return what BM25 adds to the count of a term in its denominator, by length of a document."""
    lengths = np.arange(segment.longest + 1, dtype=np.float32)
    relative: Scores = np.minimum(
        lengths / np.float32(mean_length), np.float32(_MAX_RELATIVE_LENGTH)
    )
    relative *= np.float32(K1 * B)
    relative += np.float32(K1 * (1 - B))
    return relative


def _filter_postings(segment: Segment, term: int, doc_filter: DocFilter) -> _Postings:
    """Return the selected documents with a term, their places in the selection, and the counts."""
    docs, counts = segment.postings(term)
    if doc_filter.docs is None:
        return docs, docs, counts
    if len(docs) < _LOOK_UP_FROM * len(doc_filter):
        kept = doc_filter.contains(docs)
        docs = docs[kept]
        return docs, doc_filter.positions_of(docs), counts[kept]
    # A few documents and a common term: the time must not depend on how common it is.
    rows = np.searchsorted(docs, doc_filter.docs)
    rows[rows == len(docs)] = 0
    positions = np.flatnonzero(docs[rows] == doc_filter.docs)
    return doc_filter.docs[positions], positions, counts[rows[positions]]
