"""The arm of meaning: exact cosine over passages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.segment import Segment

__all__ = ["ABSENT", "best_passage", "cosines"]

ABSENT = np.float32(-2.0)
"""Stands for the cosine of a document that has no vector; every true cosine is greater."""

# Below this share of eligible passages it is quicker to gather their rows than to multiply all.
_GATHER_BELOW = 0.125


def cosines(
    query: NDArray[np.float32], segment: Segment, mask: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return the cosine of each document's best passage with `query`, float32, shape (n,).

    `query` is a unit vector, shape (dimensions,). `ABSENT` where a document is not eligible or has
    no vector.
    """
    scores = np.full(len(segment), ABSENT, np.float32)
    starts = segment.passage_start
    docs = np.flatnonzero(mask & (np.diff(starts) > 0))
    if not len(docs):
        return scores
    counts = starts[docs + 1] - starts[docs]
    total = int(counts.sum())
    if total < _GATHER_BELOW * len(segment.vectors):
        offsets = np.cumsum(counts) - counts
        rows = np.repeat(starts[docs] - offsets, counts) + np.arange(total)
        similar = segment.vectors[rows] @ query
        scores[docs] = np.maximum.reduceat(similar, offsets)
    else:
        similar = segment.vectors @ query
        owners = np.flatnonzero(np.diff(starts) > 0)
        best = (
            similar if len(owners) == len(similar) else np.maximum.reduceat(similar, starts[owners])
        )
        scores[owners] = best
        scores[~mask] = ABSENT
    # Vectors are checked when they come in; a snapshot whose file was damaged may hold others.
    scores[~np.isfinite(scores)] = ABSENT
    return scores


def best_passage(query: NDArray[np.float32], segment: Segment, doc: int) -> tuple[int, int] | None:
    """Return the character range of the passage of `doc` nearest to `query`, None without one."""
    cut = slice(int(segment.passage_start[doc]), int(segment.passage_start[doc + 1]))
    if cut.start == cut.stop:
        return None
    start, end = segment.spans[cut][int(np.argmax(segment.vectors[cut] @ query))]
    return int(start), int(end)
