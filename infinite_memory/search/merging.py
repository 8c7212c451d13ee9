"""Several segments become one, without the dead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.search.segment import Segment, order_of, starts_of

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
        name: _joined(
            lookup[getattr(s, name)[alive]]
            for lookup, (s, alive) in zip(lookups, parts, strict=True)
        )
        for name in ("scope", "speaker", "conversation")
    }
    columns: dict[str, Any] = {
        name: _joined(getattr(s, name)[alive] for s, alive in parts) for name in _COLUMNS
    }
    passages: dict[str, Any] = {
        name: _joined(_stretches(getattr(s, name), s.passage_start, alive) for s, alive in parts)
        for name in _OF_PASSAGES
    }
    id_hash = _joined(s.id_hash[alive] for s, alive in parts)
    return Segment(
        names=tuple(names),
        id_hash=id_hash,
        id_order=order_of(id_hash),
        twin_order=order_of(columns["twin"]),
        conversation_order=order_of(named["conversation"]),
        id_bytes=_joined(_stretches(s.id_bytes, s.id_start, alive) for s, alive in parts),
        id_start=starts_of(_joined(np.diff(s.id_start)[alive] for s, alive in parts)),
        passage_start=starts_of(_joined(np.diff(s.passage_start)[alive] for s, alive in parts)),
        **passages,
        **named,
        **columns,
        **_merged_postings(parts),
    )


@frozen(kw_only=True, eq=False)
class _Living:
    """The postings of one part that are about living documents, under their new numbers.

    `rows` are the places of the part's terms among the terms of all parts, `sizes` how many
    postings of each are left.
    """

    rows: NDArray[np.intp]
    sizes: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.uint16]


def _merged_postings(parts: Sequence[tuple[Segment, Bools]]) -> dict[str, Any]:
    """Return the arrays of postings of the merged segment.

    Every part has its terms in order and the documents of each in order already, so that the place
    of each posting can be counted and nothing has to be sorted but the terms.
    """
    terms = np.unique(_joined(s.term_hash for s, _ in parts))
    living: list[_Living] = []
    first = 0
    for segment, alive in parts:
        living.append(_living(segment, alive, terms, first))
        first += int(np.count_nonzero(alive))
    sizes = np.zeros(len(terms), np.int64)
    for part in living:
        sizes[part.rows] += part.sizes
    starts = starts_of(sizes)
    docs, counts = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint16)
    free = starts[:-1].copy()
    for part in living:
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


def _living(segment: Segment, alive: Bools, terms: NDArray[np.uint64], first: int) -> _Living:
    """Return the living postings of a part whose first living document gets the number `first`."""
    rows, sizes = np.searchsorted(terms, segment.term_hash), np.diff(segment.term_start)
    if alive.all():
        docs = segment.posting_doc + np.int32(first)
        return _Living(rows=rows, sizes=sizes, docs=docs, counts=segment.posting_count)
    number = np.cumsum(alive, dtype=np.int32) + np.int32(first - 1)
    kept = alive[segment.posting_doc]
    return _Living(
        rows=rows,
        sizes=np.diff(starts_of(kept.view(np.int8))[segment.term_start]),
        docs=number[segment.posting_doc[kept]],
        counts=segment.posting_count[kept],
    )


def _stretches(values: NDArray[Any], starts: NDArray[np.int64], alive: Bools) -> NDArray[Any]:
    """Return the stretches of `values`, one a document, that belong to living documents."""
    values = np.asarray(values)
    return values if alive.all() else values[np.repeat(alive, np.diff(starts))]


def _joined(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(arrays))
