"""Metrics of retrieval, with binary gains, and their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

NAMES = ("R@5", "R@10", "MRR@10", "nDCG@10")


def measure(found: Sequence[str], relevant: frozenset[str]) -> tuple[float, float, float, float]:
    """Return recall@5, recall@10, MRR@10 and nDCG@10 of one ranking, each in [0, 1].

    Recall is the share of the relevant documents among the first k, not whether any is.
    """
    gains = [document in relevant for document in found[:10]]
    first = next((rank for rank, gain in enumerate(gains, 1) if gain), 0)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(relevant), 10) + 1))
    gained = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
    return (
        sum(gains[:5]) / len(relevant),
        sum(gains) / len(relevant),
        1 / first if first else 0.0,
        gained / ideal,
    )


def interval(values: Sequence[float], *, draws: int = 2000, seed: int = 0) -> tuple[float, float]:
    """Return the 95 % interval of the mean, by a bootstrap over the questions."""
    data = np.asarray(values)
    picks = np.random.default_rng(seed).integers(0, len(data), (draws, len(data)))
    low, high = np.percentile(data[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
