"""Several segments become one, without the dead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.search.segment import Segment, cumulate_sizes, sort_order

__all__ = ["merge"]

Bools = NDArray[np.bool_]

_COLUMNS = (
    *("kind", "status", "happened", "stored", "held_from", "held_to"),
    *("asks", "important", "twin", "length"),
)

_OF_PASSAGES = ("high", "low", "scale", "spans")


def merge(parts: Sequence[tuple[Segment, Bools]]) -> Segment:
    """Return one segment with the documents of `parts` that are alive, in order.

    `parts` are segments, each with a mask of shape (n,); at least one.
    """
    names: dict[str, int] = {}
    lookups = [
        np.array([names.setdefault(n, len(names)) for n in s.names], np.int32) for s, _ in parts
    ]
    named: dict[str, Any] = {
        name: _concatenate(
            lookup[getattr(s, name)[live_docs]]
            for lookup, (s, live_docs) in zip(lookups, parts, strict=True)
        )
        for name in ("scope", "speaker", "conversation")
    }
    columns: dict[str, Any] = {
        name: _concatenate(getattr(s, name)[live_docs] for s, live_docs in parts)
        for name in _COLUMNS
    }
    passages: dict[str, Any] = {
        name: _concatenate(
            _select_rows(getattr(s, name), s.passage_start, live_docs) for s, live_docs in parts
        )
        for name in _OF_PASSAGES
    }
    id_hash = _concatenate(s.id_hash[live_docs] for s, live_docs in parts)
    return Segment(
        names=tuple(names),
        id_hash=id_hash,
        id_order=sort_order(id_hash),
        twin_order=sort_order(columns["twin"]),
        conversation_order=sort_order(named["conversation"]),
        id_bytes=_concatenate(
            _select_rows(s.id_bytes, s.id_start, live_docs) for s, live_docs in parts
        ),
        id_start=cumulate_sizes(
            _concatenate(np.diff(s.id_start)[live_docs] for s, live_docs in parts)
        ),
        passage_start=cumulate_sizes(
            _concatenate(np.diff(s.passage_start)[live_docs] for s, live_docs in parts)
        ),
        **passages,
        **named,
        **columns,
        **_merge_postings(parts),
    )


@frozen(kw_only=True, eq=False)
class _LivePostings:
    """The postings of one part that are about living documents, under their new numbers.

    `rows` are the places of the part's terms among the terms of all parts, `sizes` how many
    postings of each are left.
    """

    rows: NDArray[np.intp]
    sizes: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.uint16]


def _merge_postings(parts: Sequence[tuple[Segment, Bools]]) -> dict[str, Any]:
    """Return the arrays of postings of the merged segment.

    Every part has its terms in order and the documents of each in order already, so that the place
    of each posting can be counted and nothing has to be sorted but the terms.
    """
    terms = np.unique(_concatenate(s.term_hash for s, _ in parts))
    live_count: list[_LivePostings] = []
    first = 0
    for segment, live_docs in parts:
        live_count.append(_remap_postings(segment, live_docs, terms, first))
        first += int(np.count_nonzero(live_docs))
    sizes = np.zeros(len(terms), np.int64)
    for part in live_count:
        sizes[part.rows] += part.sizes
    starts = cumulate_sizes(sizes)
    docs, counts = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint16)
    free = starts[:-1].copy()
    for part in live_count:
        before = np.cumsum(part.sizes) - part.sizes
        place = np.repeat(free[part.rows] - before, part.sizes)
        place += np.arange(len(place))
        docs[place] = part.docs
        counts[place] = part.counts
        free[part.rows] += part.sizes
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
    """Return the living postings of a part whose first living document gets the number `first`."""
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
    """Return the stretches of `values`, one a document, that belong to living documents."""
    values = np.asarray(values)
    return values if live_docs.all() else values[np.repeat(live_docs, np.diff(starts))]


def _concatenate(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(arrays))
