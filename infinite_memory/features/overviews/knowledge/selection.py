"""Choose memories that tell much about a topic, and each something else, one after another.

It is the maximal marginal relevance of J. Carbonell and J. Goldstein ("The use of MMR,
diversity-based reranking for reordering documents and producing summaries", SIGIR 1998): the next
memory has the greatest λ · relevance - (1 - λ) · likeness to the most alike of those that are
chosen already. λ = 0.7 was chosen on the sets of `benchmarks.overview`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
