"""The counts of all selected memories, of which a ranking of candidates sees few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from infinite_memory.core.protocols.candidates import Counts
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.search.bm25 import SPELLED_SHARE, QueryTerms, count_terms, saturate_counts
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.segment import Segment


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
    weights: dict[int, float] = {}
    for term, share in shares.items() if counts.memories else ():
        number = counts.documents.get(term, 0)
        if number or share != SPELLED_SHARE:
            rarity = float(np.log1p((counts.memories - number + 0.5) / (number + 0.5)))
            weights[term] = share * rarity
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


def round_criteria(criteria: Criteria) -> Criteria:
    """Return `criteria` without what differs at every question, and moments by the minute."""
    begun, unended = (
        moment and moment.replace(second=0, microsecond=0)
        for moment in (criteria.begun_at, criteria.unended_at)
    )
    plain = evolve(criteria, tense=None, when=None, missing=(), leading=None)
    return evolve(plain, active=frozenset(), named=frozenset(), begun_at=begun, unended_at=unended)
