"""Whether a later memory replaces an earlier one that is similar to it: a logistic regression.

The closeness of two memories does not tell: what adds to a fact is as near to it as what replaces
it. What tells is the direction of both vectors: the earlier text states something that may change,
the later one tells a change. The weights are two vectors for the multilingual part of the stored
vectors, and a number for each of `FEATURES`. `python -m benchmarks.judge` fits them, prints the
cross-validation and writes `judge.json`. They belong to one pair of models, and judge no others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.core.files.regular import read_regular
from infinite_memory.core.values.memory import Kind
from infinite_memory.search.text.question_terms import split_terms

FEATURES = (
    "multilingual cosine",
    "English cosine",
    "both in English",
    "closeness",
    "lead",
    "another number",
    "a number in common",
    "share of terms in common",
    "the same of the shorter text",
    "length of the earlier",
    "length of the later",
)
"""What is measured of a pair, beside the directions of its vectors."""

DIMENSIONS = 384
"""The length of the part of each model in a vector; the English part comes first."""

LASTING = frozenset(
    {
        *(Kind.NOTE, Kind.FACT, Kind.DECISION, Kind.REMINDER, Kind.DISCUSSION, Kind.ATTACHMENT),
        *(Kind.INSTRUCTION, Kind.CONCLUSION),
    }
)
"""The kinds that replace and are replaced; the others record what was said, or what happened."""

WEIGHTS = Path(__file__).parent / "judge.json"
"""The file with the weights; also its `labelled`, a digest of what they were fitted on."""

Columns = NDArray[np.float64]
_NUMBER = re.compile(r"\d[\d.,:]*")
# Scores of 0 and 1 have no finite logarithm of the odds.
_LEAST_SHARE = 1e-6
# What `find_similar` returns is at most so far behind the nearest, as a logarithm of the odds.
_MOST_LEAD = 0.57
# Only the beginning of a long text is compared, which limits the time.
_MOST_CHARS = 1_000


@frozen(kw_only=True, eq=False)
class Told:
    """A text and its stored vector, float32, shape (2 * DIMENSIONS,)."""

    text: str
    vector: NDArray[np.float32]


@frozen(kw_only=True, eq=False)
class Judge:
    """The fitted weights of the models `model`, and the least probability that is worth saying."""

    model: str
    least: float
    intercept: float
    features: Columns
    earlier: Columns
    later: Columns

    def judge(self, later: Told, earlier: Sequence[Told], scores: Sequence[float]) -> Columns:
        """Return for each of the `earlier` memories how probably `later` replaces it: (n,).

        `scores` are those of `find_similar`.
        """
        first = np.array([multilingual(told) for told in earlier])
        total = describe_pairs(later, earlier, scores) @ self.features + first @ self.earlier
        total += multilingual(later) @ self.later + self.intercept
        probability: Columns = 1 / (1 + np.exp(-total))
        return probability


@cache
def load_judge() -> Judge:
    """Read the weights of this package."""
    data = json.loads(read_regular(WEIGHTS))
    return Judge(
        model=data["model"],
        least=data["least"],
        intercept=data["intercept"],
        features=np.array(data["features"]),
        earlier=np.array(data["earlier"]),
        later=np.array(data["later"]),
    )


def describe_pairs(later: Told, earlier: Sequence[Told], scores: Sequence[float]) -> Columns:
    """Return the `FEATURES` of the pairs, shape (n, features)."""
    shares = np.clip(scores, _LEAST_SHARE, 1 - _LEAST_SHARE)
    closeness = np.log(shares / (1 - shares))
    others = [np.delete(closeness, n).max(initial=-np.inf) for n in range(len(earlier))]
    lead = np.clip(closeness - others, -_MOST_LEAD, _MOST_LEAD)
    return np.array(
        [
            (*compare_vectors(told, later), near, ahead, *measure_texts(told.text, later.text))
            for told, near, ahead in zip(earlier, closeness, lead, strict=True)
        ]
    )


def multilingual(told: Told) -> Columns:
    """Return the direction of the multilingual part of a vector: a unit vector, (DIMENSIONS,)."""
    return _direction(told.vector[DIMENSIONS:])


def compare_vectors(earlier: Told, later: Told) -> tuple[float, float, float]:
    """Return the multilingual and the English cosine, and whether both texts are in English."""
    english = [_direction(told.vector[:DIMENSIONS]) for told in (earlier, later)]
    is_english = all(part.any() for part in english)
    return (
        float(multilingual(earlier) @ multilingual(later)),
        float(english[0] @ english[1]),
        float(is_english),
    )


def measure_texts(earlier: str, later: str) -> tuple[float, ...]:
    """Return what the numbers, the terms and the lengths of two texts tell: see `FEATURES`."""
    earlier, later = earlier[:_MOST_CHARS], later[:_MOST_CHARS]
    numbers = [{found.rstrip(".,:") for found in _NUMBER.findall(t)} for t in (earlier, later)]
    words = [set(split_terms(text)[0]) for text in (earlier, later)]
    sizes = sorted(max(1, len(each)) for each in words)
    common = len(words[0] & words[1])
    return (
        float(all(numbers) and numbers[0] != numbers[1]),
        float(bool(numbers[0] & numbers[1])),
        common / (sizes[0] * sizes[1]) ** 0.5,
        common / sizes[0],
        float(np.log(len(earlier) + 5)),
        float(np.log(len(later) + 5)),
    )


def _direction(part: NDArray[np.float32]) -> Columns:
    length = float(np.linalg.norm(part))
    return part.astype(np.float64) / (length or 1.0)
