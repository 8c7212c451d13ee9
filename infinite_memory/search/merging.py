"""Merges several segments into a single segment, without deleted documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.search.segment import Segment, cumulate_sizes, sort_order

Bools = NDArray[np.bool_]

_COLUMNS = (
    *("kind", "status", "happened", "stored", "held_from", "held_to"),
    *("is_question", "important", "canonical_hash", "length"),
)

_PASSAGE_COLUMNS = ("high", "low", "scale", "spans")


def merge(segments: Sequence[tuple[Segment, Bools]]) -> Segment:
    """Return a segment with the live documents of `segments`, in order.

    `segments` has at least one segment, with its mask of live documents, shape (n,).
    """
    names: dict[str, int] = {}
    lookups = [
        np.array([names.setdefault(n, len(names)) for n in segment.names], np.int32)
        for segment, _ in segments
    ]
    named: dict[str, Any] = {
        name: _concatenate(
            lookup[getattr(segment, name)[live_docs]]
            for lookup, (segment, live_docs) in zip(lookups, segments, strict=True)
        )
        for name in ("scope", "speaker", "conversation")
    }
    columns: dict[str, Any] = {
        name: _concatenate(getattr(segment, name)[live_docs] for segment, live_docs in segments)
        for name in _COLUMNS
    }
    passages: dict[str, Any] = {
        name: _concatenate(
            _select_rows(getattr(segment, name), segment.passage_start, live_docs)
            for segment, live_docs in segments
        )
        for name in _PASSAGE_COLUMNS
    }
    id_hash = _concatenate(segment.id_hash[live_docs] for segment, live_docs in segments)
    return Segment(
        names=tuple(names),
        id_hash=id_hash,
        id_order=sort_order(id_hash),
        canonical_order=sort_order(columns["canonical_hash"]),
        conversation_order=sort_order(named["conversation"]),
        id_bytes=_concatenate(
            _select_rows(segment.id_bytes, segment.id_start, live_docs)
            for segment, live_docs in segments
        ),
        id_start=_merge_starts("id_start", segments),
        passage_start=_merge_starts("passage_start", segments),
        **passages,
        **named,
        **columns,
        **_merge_postings(segments),
    )


@frozen(kw_only=True, eq=False)
class _LivePostings:
    """The postings of the live documents of a segment, under their new numbers.

    `rows` are the positions of the segment's terms among the terms of all segments, `sizes` the
    numbers of live postings per term.
    """

    rows: NDArray[np.intp]
    sizes: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.uint16]


def _merge_postings(segments: Sequence[tuple[Segment, Bools]]) -> dict[str, Any]:
    """Return the arrays of postings of the merged segment.

    The terms of a segment and the documents of a term are sorted already. The position of every
    posting can therefore be computed, and only the terms are sorted.
    """
    terms = np.unique(_concatenate(segment.term_hash for segment, _ in segments))
    live_postings: list[_LivePostings] = []
    first = 0
    for segment, live_docs in segments:
        live_postings.append(_remap_postings(segment, live_docs, terms, first))
        first += int(np.count_nonzero(live_docs))
    sizes = np.zeros(len(terms), np.int64)
    for postings in live_postings:
        sizes[postings.rows] += postings.sizes
    starts = cumulate_sizes(sizes)
    docs, counts = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint16)
    free = starts[:-1].copy()
    for postings in live_postings:
        before = np.cumsum(postings.sizes) - postings.sizes
        position = np.repeat(free[postings.rows] - before, postings.sizes)
        position += np.arange(len(position))
        docs[position] = postings.docs
        counts[position] = postings.counts
        free[postings.rows] += postings.sizes
    left = sizes > 0
    return {
        "term_hash": terms[left],
        "term_start": np.append(starts[:-1][left], starts[-1]),
        "posting_doc": docs,
        "posting_count": counts,
    }


def _remap_postings(
    segment: Segment, live_docs: Bools, terms: NDArray[np.uint64], first: int
) -> _LivePostings:
    """Return the live postings of a segment whose first live document gets the number `first`."""
    rows, sizes = np.searchsorted(terms, segment.term_hash), np.diff(segment.term_start)
    if live_docs.all():
        docs = segment.posting_doc + np.int32(first)
        return _LivePostings(rows=rows, sizes=sizes, docs=docs, counts=segment.posting_count)
    number = np.cumsum(live_docs, dtype=np.int32) + np.int32(first - 1)
    kept = live_docs[segment.posting_doc]
    return _LivePostings(
        rows=rows,
        sizes=np.diff(cumulate_sizes(kept.view(np.int8))[segment.term_start]),
        docs=number[segment.posting_doc[kept]],
        counts=segment.posting_count[kept],
    )


def _select_rows(values: NDArray[Any], starts: NDArray[np.int64], live_docs: Bools) -> NDArray[Any]:
    """Return the slices of `values` that belong to live documents, concatenated."""
    values = np.asarray(values)
    return values if live_docs.all() else values[np.repeat(live_docs, np.diff(starts))]


def _merge_starts(name: str, segments: Sequence[tuple[Segment, Bools]]) -> NDArray[np.int64]:
    """Return the starts of the slices of live documents, and the end of the last slice."""
    sizes = (np.diff(getattr(segment, name))[live_docs] for segment, live_docs in segments)
    return cumulate_sizes(_concatenate(sizes))


def _concatenate(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(arrays))
