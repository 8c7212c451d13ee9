"""The arm of meaning: exact cosine over passages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.segment import Segment
from infinite_memory.search.selection import Selection

__all__ = ["ABSENT", "best_passage", "cosines"]

ABSENT = np.float32(-2.0)
"""Stands for the cosine of a document that has no vector; every true cosine is greater."""

# Below this share of the rows it is quicker to gather them than to multiply all.
_GATHER_BELOW = 0.125
# Rows gathered at a time: 1.5 MB of 384 dimensions, so that they are multiplied from the cache.
_GATHERED_ROWS = 1024

Scores = NDArray[np.float32]


def cosines(query: Scores, segment: Segment, selection: Selection) -> Scores:
    """Return the cosine of each selected document's best passage with `query`, float32, shape (k,).

    `query` is a unit vector, shape (dimensions,). `ABSENT` where a document has no vector.
    """
    # Vectors are checked when they come in; a snapshot whose file was damaged may hold others.
    with np.errstate(invalid="ignore", over="ignore"):
        if segment.one_passage_each:
            scores = _products(segment.vectors, query, selection.docs)
        elif selection.docs is None:
            scores = _best_of_all(query, segment)
        else:
            scores = _best_of(query, segment, selection.docs)
        if not np.isfinite(scores.sum()):
            scores[~np.isfinite(scores)] = ABSENT
    return scores


def best_passage(query: Scores, segment: Segment, doc: int) -> tuple[int, int] | None:
    """Return the character range of the passage of `doc` nearest to `query`, None without one."""
    cut = slice(int(segment.passage_start[doc]), int(segment.passage_start[doc + 1]))
    if cut.start == cut.stop:
        return None
    start, end = segment.spans[cut][int(np.argmax(segment.vectors[cut] @ query))]
    return int(start), int(end)


def _best_of_all(query: Scores, segment: Segment) -> Scores:
    scores = np.full(len(segment), ABSENT, np.float32)
    owners = segment.embedded
    if len(owners):
        products = _products(segment.vectors, query, None)
        scores[owners] = np.maximum.reduceat(products, segment.passage_start[owners])
    return scores


def _best_of(query: Scores, segment: Segment, docs: NDArray[np.int32]) -> Scores:
    scores = np.full(len(docs), ABSENT, np.float32)
    starts = segment.passage_start[docs]
    counts = segment.passage_start[docs + 1] - starts
    owners = np.flatnonzero(counts)
    if len(owners):
        starts, counts = starts[owners], counts[owners]
        offsets = np.cumsum(counts) - counts
        rows = np.repeat(starts - offsets, counts) + np.arange(int(counts.sum()))
        products = _products(segment.vectors, query, rows)
        scores[owners] = np.maximum.reduceat(products, offsets)
    return scores


def _products(vectors: Scores, query: Scores, rows: NDArray[np.integer] | None) -> Scores:
    """Return `vectors[rows] @ query`, without a copy of more rows than fit into the cache."""
    # A plain array: of a mapped one, every result would be of the slower class `memmap`.
    vectors = np.asarray(vectors)
    if rows is None:
        return vectors @ query
    if len(rows) >= _GATHER_BELOW * len(vectors):
        everything: Scores = (vectors @ query)[rows]
        return everything
    products = np.empty(len(rows), np.float32)
    buffer = np.empty((min(_GATHERED_ROWS, len(rows)), vectors.shape[1]), np.float32)
    for start in range(0, len(rows), _GATHERED_ROWS):
        wanted = rows[start : start + _GATHERED_ROWS]
        # Any other mode than "raise" writes into the buffer directly; no row is out of range.
        gathered = np.take(vectors, wanted, axis=0, out=buffer[: len(wanted)], mode="clip")
        np.matmul(gathered, query, out=products[start : start + len(wanted)])
    return products
