"""The counts of all selected memories, of which a ranking of candidates sees few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.search.bm25 import SPELLED_SHARE, QueryTerms, count_terms, saturate_counts
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.segment import Segment


@frozen(kw_only=True)
class Counts:
    """How many memories are selected, and have each term; see `WordMatches`."""

    memories: int = 0
    pending: int = 0
    length: int = 0
    documents: Mapping[int, int] = {}


def count_selected(
    counts: Counts, parts: Sequence[tuple[Segment, DocFilter]], terms: Mapping[int, float]
) -> Counts:
    """Return `counts` with the selected documents of `parts` added."""
    documents = {
        term: counts.documents.get(term, 0)
        + sum(int(np.count_nonzero(f.contains(s.postings(term)[0]))) for s, f in parts)
        for term in terms
    }
    return Counts(
        memories=counts.memories + sum(len(f) for _, f in parts),
        pending=counts.pending
        + sum(int(np.count_nonzero(f.contains(s.unembedded_docs))) for s, f in parts),
        length=counts.length + sum(int(f.take(s.length).sum()) for s, f in parts),
        documents=documents,
    )


def weigh_terms(shares: Mapping[int, float], counts: Counts) -> QueryTerms:
    """Return the terms of a question with the weights that `bm25` gives them by these counts."""
    weights = {
        term: share
        * float(
            np.log1p(
                (counts.memories - counts.documents.get(term, 0) + 0.5)
                / (counts.documents.get(term, 0) + 0.5)
            )
        )
        for term, share in shares.items()
        if counts.memories and (counts.documents.get(term) or share != SPELLED_SHARE)
    }
    return QueryTerms(
        terms=tuple(weights),
        weights=np.array(list(weights.values()), np.float32),
        mean_length=max(counts.length / (counts.memories or 1), 1.0),
        ideal=sum(weights.values()),
    )


def score_words(query: QueryTerms, segment: Segment, doc_filter: DocFilter) -> NDArray[np.float32]:
    """Return the BM25 scores of the selected documents, shape (k,)."""
    docs = doc_filter.docs_at(np.arange(len(doc_filter)))
    lengths = doc_filter.take(segment.length).astype(np.float32)
    shares = saturate_counts(count_terms(segment, query.terms, docs), lengths, query)
    return np.asarray(shares * np.float32(query.ideal), np.float32)
