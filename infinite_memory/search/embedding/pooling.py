"""The pooling of token vectors to a text vector, as in sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


def _root_mean(tokens: Array) -> Array:
    pooled: Array = tokens.sum(axis=0) / np.float32(np.sqrt(len(tokens)))
    return pooled


def _weighted_mean(tokens: Array) -> Array:
    """Count the n-th token n times."""
    weights = np.arange(1, len(tokens) + 1, dtype=np.float32)
    pooled: Array = weights @ tokens / weights.sum()
    return pooled


POOLING: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "cls": lambda tokens: tokens[0],
        "mean": lambda tokens: tokens.mean(axis=0),
        "max": lambda tokens: tokens.max(axis=0),
        "mean_sqrt_len": _root_mean,
        "weightedmean": _weighted_mean,
        "lasttoken": lambda tokens: tokens[-1],
    }
)
"""From the tokens of one text, shape (tokens, dimensions), to its vector, shape (dimensions,)."""


def unit(vector: NDArray[Any]) -> Array:
    """Return `vector` in float32 and of length 1; a zero vector becomes not finite."""
    vector = vector.astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled: Array = vector / np.linalg.norm(vector)
    return scaled
