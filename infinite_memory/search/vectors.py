"""The arm of meaning: cosine over all passages.

The vectors of the index are in half precision, whose products are summed up in single precision: a
cosine differs from that of the stored vectors by 0.00001 on average, by 0.001 at the very most
(twice the rounding of a half, 2 ** -11), and half as much is read.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np
import simsimd
from numpy.typing import NDArray

from infinite_memory.search.segment import Segment
from infinite_memory.search.selection import Selection

__all__ = ["ABSENT", "best_passage", "cosines", "cosines_of"]

ABSENT = np.float32(-2.0)
"""Stands for the cosine of a document that has no vector; every true cosine is greater."""

# Its products in half precision are summed up in half precision as well, which loses two digits.
simsimd.disable_capability("sapphire")

# Below this share of the rows it is quicker to gather them than to multiply all.
_GATHER_BELOW = 0.125
# Rows gathered at a time: 0.8 MB of 384 dimensions, so that they are multiplied from the cache.
_GATHERED_ROWS = 1024
# From so many rows on, a second thread saves more than it costs to start it.
_ROWS_A_THREAD = 16_384
_MOST_THREADS = 8

Scores = NDArray[np.float32]
Halves = NDArray[np.float16]


def cosines(query: Scores, segment: Segment, selection: Selection) -> Scores:
    """Return the cosine of each selected document's best passage with `query`, float32, shape (k,).

    `query` is a unit vector, shape (dimensions,). `ABSENT` where a document has no vector.
    """
    return cosines_of(query, segment, selection.docs)


def cosines_of(query: Scores, segment: Segment, docs: NDArray[np.int32] | None) -> Scores:
    """Return what `cosines` does for these documents, in any order; None stands for all."""
    # Vectors are checked when they come in; a snapshot whose file was damaged may hold others.
    with np.errstate(invalid="ignore", over="ignore"):
        if segment.one_passage_each:
            scores = _products(segment.vectors, query, docs)
        elif docs is None:
            scores = _best_of_all(query, segment)
        else:
            scores = _best_of(query, segment, docs)
        if not np.isfinite(scores.sum()):
            scores[~np.isfinite(scores)] = ABSENT
    return scores


def best_passage(query: Scores, segment: Segment, doc: int) -> tuple[int, int] | None:
    """Return the character range of the passage of `doc` nearest to `query`, None without one."""
    cut = slice(int(segment.passage_start[doc]), int(segment.passage_start[doc + 1]))
    if cut.start == cut.stop:
        return None
    start, end = segment.spans[cut][int(np.argmax(_products(segment.vectors[cut], query, None)))]
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


def _products(vectors: Halves, query: Scores, rows: NDArray[np.integer] | None) -> Scores:
    """Return `vectors[rows] @ query`, without a copy of more rows than fit into the cache."""
    half = query.astype(np.float16)
    # A plain array: of a mapped one, every result would be of the slower class `memmap`.
    vectors = np.asarray(vectors)
    if rows is None:
        return _all_products(vectors, half)
    if len(rows) >= _GATHER_BELOW * len(vectors):
        everything: Scores = _all_products(vectors, half)[rows]
        return everything
    products = np.empty(len(rows), np.float32)
    buffer = np.empty((min(_GATHERED_ROWS, len(rows)), vectors.shape[1]), np.float16)
    for start in range(0, len(rows), _GATHERED_ROWS):
        wanted = rows[start : start + _GATHERED_ROWS]
        # Any other mode than "raise" writes into the buffer directly; no row is out of range.
        gathered = np.take(vectors, wanted, axis=0, out=buffer[: len(wanted)], mode="clip")
        _multiply(gathered, half, products[start : start + len(wanted)])
    return products


def _all_products(vectors: Halves, query: Halves) -> Scores:
    products = np.empty(len(vectors), np.float32)
    threads = min(len(vectors) // _ROWS_A_THREAD, os.cpu_count() or 1, _MOST_THREADS)
    if threads < 2:
        _multiply(vectors, query, products)
        return products
    cuts = [len(vectors) * number // threads for number in range(threads + 1)]
    others = [
        _pool().submit(_multiply, vectors[start:end], query, products[start:end])
        for start, end in pairwise(cuts[1:])
    ]
    _multiply(vectors[: cuts[1]], query, products[: cuts[1]])
    for other in others:
        other.result()
    return products


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads of this process beside the one that searches."""
    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    return ThreadPoolExecutor(threads, thread_name_prefix="infinite-memory-products")


if hasattr(os, "register_at_fork"):
    # The threads are not there in a child, which would wait for them for ever.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _multiply(vectors: Halves, query: Halves, products: Scores) -> None:
    """Write `vectors @ query` into `products`."""
    if len(vectors):
        # Not with `out`: then simsimd 6.5 takes a reference of None away at each call, and Python
        # 3.11 ends when there are none left.
        made = simsimd.cdist(query[np.newaxis], vectors, "dot", out_dtype="float32", threads=1)
        products[:] = np.asarray(made)[0]
