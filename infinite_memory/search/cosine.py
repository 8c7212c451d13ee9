"""Scores by meaning: cosine similarity over all passages.

The first comparison uses only the `high` bytes of every vector, half of its data, in integer sums.
Such a cosine has an error of 0.0003 on average on real texts. `ranking.rescore_best` compares the
best documents again by both planes, with an error below 0.0001.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise
from typing import Literal

import numpy as np
import simsimd
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.quantization import quantize
from infinite_memory.search.segment import Segment, are_second_alone

ABSENT = np.float32(-2.0)
"""The cosine of a document without a vector; every true cosine is greater."""

# The number of assumed documents whose cosine is the background of the model: the cosines of three
# documents say little about their language.
_PRIOR_COSINES = 5
# Below this share of the rows, gathering the rows is faster than multiplying all rows.
_GATHER_BELOW = 0.125
# The rows per batch: 0.8 MB at 384 dimensions, which fit into the processor cache.
_GATHERED_ROWS = 2048
# From this number of rows per thread on, a further thread saves more than its start costs.
_ROWS_A_THREAD = 32_768
_MOST_THREADS = 8

Scores = NDArray[np.float32]
Bytes = NDArray[np.int8]
Rows = NDArray[np.integer]


@frozen(kw_only=True, eq=False)
class QueryVector:
    """The quantized vector of a question: `high` and `low` planes, int8, (2, dimensions).

    `second_length` is that of the embedder, None for vectors of a single model.
    """

    planes: Bytes
    scale: float
    second_length: float | None = None

    @classmethod
    def of(cls, vector: Scores, second_length: float | None = None) -> QueryVector:
        """Quantize a unit vector, shape (dimensions,)."""
        high, low, (scale,) = quantize(vector[np.newaxis])
        planes = np.concatenate([high, low])
        return cls(planes=planes, scale=float(scale), second_length=second_length)


def approximate_cosines(query: QueryVector, segment: Segment, doc_filter: DocFilter) -> Scores:
    """Return the cosine of `query` and the best passage per selected document: float32, (k,).

    `ABSENT` for a document without a vector. Compares only the high planes.
    """
    return _score_documents(segment, doc_filter.docs, partial(_rough_cosines, segment, query))


def cosines(query: QueryVector, segment: Segment, docs: NDArray[np.int32]) -> Scores:
    """Return the cosines of `docs`, in any order, with an error below 0.0001."""
    return _score_documents(segment, docs, partial(_exact_cosines, segment, query))


def pairwise_cosines(
    high: Bytes, scale: Scores, starts: NDArray[np.intp], wanted: NDArray[np.intp]
) -> Scores:
    """Return the cosines of the texts `wanted` with all texts: float32, shape (w, n).

    The n texts have the passages from each of `starts` to the next, at least one, with the high
    planes `high` and the scales `scale`. The nearest passages of two texts count.
    """
    ends = np.append(starts[1:], len(high))
    sizes = (ends - starts)[wanted]
    offsets = np.cumsum(sizes) - sizes
    rows = np.repeat(starts[wanted] - offsets, sizes) + np.arange(int(sizes.sum()))
    products = _dot_products(high[rows], high, "float64")
    products = products * (scale[rows, np.newaxis] * np.float64(65_536)) * scale
    by_text = np.maximum.reduceat(products, starts, axis=1)
    return np.maximum.reduceat(by_text, offsets, axis=0).astype(np.float32)


def mean_of_greatest(cosines: Scores, number: int, background: float) -> float:
    """Return the mean of the `number` greatest cosines, smoothed by the background of the model.

    `cosines` has shape (n,); documents without a vector do not count.
    """
    present = cosines[cosines > ABSENT]
    if len(present) > number:
        present = np.partition(present, -number)[-number:]
    total = float(present.sum()) + _PRIOR_COSINES * background
    return total / (len(present) + _PRIOR_COSINES)


def means_of_greatest(cosines: Scores, number: int, background: float) -> Scores:
    """Return `mean_of_greatest` of every row of `cosines`, shape (r, n): float32, (r,)."""
    greatest = np.sort(cosines, axis=1)[:, -number:]
    present = greatest > ABSENT
    total = np.where(present, greatest, 0).sum(axis=1, dtype=np.float64)
    means = (total + _PRIOR_COSINES * background) / (present.sum(axis=1) + _PRIOR_COSINES)
    return np.asarray(means, np.float32)


def best_passage(query: QueryVector, segment: Segment, doc: int) -> tuple[int, int] | None:
    """Return the characters of the passage of `doc` nearest to `query`, None without passages."""
    first, behind = segment.passage_start[doc : doc + 2].tolist()
    if first == behind:
        return None
    if behind - first > 1:
        first += int(np.argmax(_products(segment, query, np.arange(first, behind))))
    start, end = segment.spans[first].tolist()
    return start, end


def _score_documents(
    segment: Segment, docs: NDArray[np.int32] | None, score_rows: Callable[[Rows | None], Scores]
) -> Scores:
    """Return the greatest passage value per document, `ABSENT` for documents without passages.

    `score_rows` returns the values of the given passages. None means all passages, and all
    documents.
    """
    if segment.one_passage_each:
        return score_rows(docs)
    if docs is None:
        scores = np.full(len(segment), ABSENT, np.float32)
        owners = segment.embedded_docs
        if len(owners):
            scores[owners] = np.maximum.reduceat(score_rows(None), segment.passage_start[owners])
        return scores
    scores = np.full(len(docs), ABSENT, np.float32)
    starts = segment.passage_start[docs]
    counts = segment.passage_start[docs + 1] - starts
    owners = counts.nonzero()[0]
    if len(owners):
        starts, counts = starts[owners], counts[owners]
        offsets = np.cumsum(counts) - counts
        rows = np.repeat(starts - offsets, counts) + np.arange(int(counts.sum()))
        scores[owners] = np.maximum.reduceat(score_rows(rows), offsets)
    return scores


def _rough_cosines(segment: Segment, query: QueryVector, rows: Rows | None) -> Scores:
    return _compare_second_parts(_rough_products(segment, query, rows), segment, query, rows)


def _exact_cosines(segment: Segment, query: QueryVector, rows: Rows) -> Scores:
    return _compare_second_parts(_products(segment, query, rows), segment, query, rows)


def _compare_second_parts(
    products: Scores, segment: Segment, query: QueryVector, rows: Rows | None
) -> Scores:
    """Return the cosines under the second model alone where the first does not know both texts."""
    if query.second_length is None:
        return products
    are_alone = segment.second_alone if rows is None else are_second_alone(segment.high, rows)
    differ = are_alone != are_second_alone(query.planes[:1])
    return np.where(differ, products / np.float32(query.second_length), products)


def _products(segment: Segment, query: QueryVector, rows: Rows) -> Scores:
    """Return the dot products of `rows` and the question, computed from both planes."""
    products = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _GATHERED_ROWS):
        wanted = rows[start : start + _GATHERED_ROWS]
        high = _dot_products(query.planes, segment.high[wanted], "float64")
        low = _dot_products(query.planes, segment.low_of(wanted), "float64")
        whole = 65_536 * high[0] + 256 * (high[1] + low[0]) + low[1]
        products[start : start + len(wanted)] = whole * (segment.scale[wanted] * query.scale)
    return products


def _rough_products(segment: Segment, query: QueryVector, rows: Rows | None) -> Scores:
    """Return the dot products of the high planes, of all rows if `rows` is None."""
    high, unit = query.planes[:1], np.float32(query.scale * 65_536)
    if rows is None:
        return _all_products(segment, high, unit)
    if len(rows) >= _GATHER_BELOW * len(segment.high):
        # Five times as fast as an index: no row is out of range.
        return _all_products(segment, high, unit).take(rows, mode="clip")
    products = np.empty(len(rows), np.float32)
    buffer = np.empty((min(_GATHERED_ROWS, len(rows)), segment.high.shape[1]), np.int8)
    for start in range(0, len(rows), _GATHERED_ROWS):
        wanted = rows[start : start + _GATHERED_ROWS]
        # Every mode except "raise" writes directly into the buffer; no row is out of range.
        gathered = np.take(segment.high, wanted, axis=0, out=buffer[: len(wanted)], mode="clip")
        _multiply(
            gathered, segment.scale[wanted], high, unit, products[start : start + len(wanted)]
        )
    return products


def _all_products(segment: Segment, query: Bytes, unit: np.float32) -> Scores:
    high, scale = segment.high, segment.scale
    products = np.empty(len(high), np.float32)
    threads = max(1, min(len(high) // _ROWS_A_THREAD, os.cpu_count() or 1, _MOST_THREADS))
    cuts = [len(high) * number // threads for number in range(threads + 1)]
    first, *further = [
        partial(_multiply, high[a:b], scale[a:b], query, unit, products[a:b])
        for a, b in pairwise(cuts)
    ]
    futures = [_pool().submit(task) for task in further]
    first()
    for future in futures:
        future.result()
    return products


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads that help the searching thread of this process."""
    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    return ThreadPoolExecutor(threads, thread_name_prefix="infinite-memory-products")


if hasattr(os, "register_at_fork"):
    # A forked child has no copy of the threads and would wait for them forever.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def _multiply(high: Bytes, scale: Scores, query: Bytes, unit: np.float32, products: Scores) -> None:
    """Write `high @ query`, multiplied by the scale of the row and `unit`, into `products`."""
    if len(high):
        np.multiply(_dot_products(query, high, "float32")[0], scale, out=products)
        products *= unit


def _dot_products(
    queries: Bytes, rows: Bytes, dtype: Literal["float32", "float64"]
) -> NDArray[np.floating]:
    """Return `queries @ rows.T`, summed in integers, as `dtype`."""
    # Without `out`: with it, simsimd 6.5 drops a reference to None at every call, and Python 3.11
    # aborts when no reference is left.
    return np.asarray(simsimd.cdist(queries, rows, "dot", out_dtype=dtype, threads=1))
