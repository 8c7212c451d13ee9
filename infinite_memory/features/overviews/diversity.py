"""Diversity: which memories together tell most, each relevant and unlike those before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.values.memory import Memory
from infinite_memory.search.text.analyzer import terms

Matrix = NDArray[np.float64]
_MOST_PASSAGES = 4
_MOST_CHARS = 4000
# The share of the closeness in time: enough to spread equal memories over time.
_TIME = 0.15
# What an overview shows is chosen by the maximal marginal relevance of J. Carbonell and
# J. Goldstein ("The use of MMR, diversity-based reranking for reordering documents and producing
# summaries", SIGIR 1998): the next has the greatest λ · relevance - (1 - λ) · likeness to the
# most alike of those that are chosen already. λ was chosen on the sets of `benchmarks.overview`.
_LAMBDA = 0.7


def choose_diverse(
    relevance: NDArray[np.float64],
    likeness: NDArray[np.float64],
    told: NDArray[np.float64],
    limit: int,
) -> list[int]:
    """Return the numbers of at most `limit` memories in the order in which they are chosen.

    `relevance` in [0, 1] has the shape (n,); `likeness` is symmetric and in [0, 1], shape (n, n).
    `told` in [0, 1], shape (n,), says how much of each memory is told already. Of equal memories
    the first is chosen.
    """
    told = told.copy()
    chosen: list[int] = []
    is_open = np.ones(len(relevance), np.bool_)
    while len(chosen) < limit and is_open.any():
        marginal = _LAMBDA * relevance - (1 - _LAMBDA) * told
        best = int(np.argmax(np.where(is_open, marginal, -np.inf)))
        chosen.append(best)
        is_open[best] = False
        told = np.maximum(told, likeness[:, best])
    return chosen


def measure_likeness(
    memories: Sequence[Memory], vectors: Sequence[NDArray[np.float32] | None]
) -> Matrix:
    """Return how alike the memories are in pairs: symmetric, in [0, 1], shape (n, n), 1 to itself.

    `vectors` are the unit vectors of the passages of each memory, None or none where they mean
    nothing. Memories are alike in meaning by the cosine of their nearest passages, above the mean
    of all pairs, so that what they share as memories about the topic does not count. A pair without
    vectors is alike by its words, weighed by how few of the memories have them. What happened at
    about the same time, as the order of the moments tells, is more alike.
    """
    alike = _compare_words(memories)
    meaning = _compare_meaning(vectors)
    alike = np.where(np.isnan(meaning), alike, meaning)
    likeness = (1 - _TIME) * alike + _TIME * _compare_times(memories)
    np.fill_diagonal(likeness, 1.0)
    return likeness


def _compare_meaning(vectors: Sequence[NDArray[np.float32] | None]) -> Matrix:
    """Return the cosines above their mean, in [0, 1], NaN for pairs without vectors."""
    number = len(vectors)
    cosines = np.full((number, number), np.nan)
    able = [n for n, rows in enumerate(vectors) if rows is not None and len(rows)]
    if len(able) < 2:
        return cosines
    passages = [rows[:_MOST_PASSAGES] for n in able if (rows := vectors[n]) is not None]
    starts = np.cumsum([0, *map(len, passages[:-1])])
    stacked = np.concatenate(passages).astype(np.float64)
    nearest = np.maximum.reduceat(stacked @ stacked.T, starts, axis=0)
    nearest = np.maximum.reduceat(nearest, starts, axis=1)
    mean = float(nearest[~np.eye(len(able), dtype=np.bool_)].mean())
    cosines[np.ix_(able, able)] = np.clip((nearest - mean) / max(1 - mean, 1e-6), 0, 1)
    return cosines


def _compare_words(memories: Sequence[Memory]) -> Matrix:
    """Return the cosines of the memories as sets of terms, weighed by their rarity."""
    term_sets = [frozenset(terms(memory.text[:_MOST_CHARS])) for memory in memories]
    counts = Counter(term for term_set in term_sets for term in term_set)
    number = len(memories)
    # A term of a single memory makes none alike, and one of all memories tells nothing.
    columns = {term: n for n, term in enumerate(t for t, count in counts.items() if count > 1)}
    weights = np.zeros((number, len(columns)))
    lengths = np.zeros(number)
    for row, term_set in enumerate(term_sets):
        for term in term_set:
            weight = log((number + 1) / counts[term])
            lengths[row] += weight**2
            if term in columns:
                weights[row, columns[term]] = weight
    weights /= np.sqrt(np.maximum(lengths, 1e-12))[:, np.newaxis]
    return np.clip(weights @ weights.T, 0, 1)


def _compare_times(memories: Sequence[Memory]) -> Matrix:
    """Return how near the memories stand in the order of their moments, 1 for the same moment."""
    moments = np.array([memory.happened_at.timestamp() for memory in memories])
    places = np.unique(moments, return_inverse=True)[1].astype(np.float64)
    most = float(places.max(initial=0)) or 1.0
    return np.asarray(1 - np.abs(places[:, np.newaxis] - places) / most, np.float64)
