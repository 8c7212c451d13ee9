"""Whether a later memory tells that something to be done is over: two logistic regressions.

One says whether both are about the same thing, by closeness and by terms in common. The other says
whether the later text tells an end, as "Paid the rent" and "The trip is off" do and "Still have to
pay the rent" does not, by the directions of both stored vectors. Who names another one
in the same place, as "the water bill" for "the electricity bill", means another thing.
`python -m benchmarks.reminders` fits them and writes `completion.json`. They belong to one pair of
models, and judge no others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from math import inf
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.core.files.regular import read_regular
from infinite_memory.search.judge import DIMENSIONS, Columns, Told, compare_vectors, measure_texts
from infinite_memory.search.text.analyzer import terms, word_spans
from infinite_memory.search.text.question_terms import find_subject

WEIGHTS = Path(__file__).parent / "completion.json"
"""The file with the weights; also its `labelled`, a digest of what they were fitted on."""

# What both texts are about takes so much away from what tells an end.
_OF_REMINDER = 0.5
_SHARES = slice(2, 4)  # the shares of terms in common, among what `measure_texts` returns


TextVector = tuple[str, NDArray[np.float32]]
"""A text and its stored vector."""


@frozen(kw_only=True, eq=False)
class Completion:
    """The fitted weights of the models `model`, and the bars of both logarithms of the odds."""

    model: str
    same_intercept: float
    same: Columns
    same_bar: float
    over_intercept: float
    over: Columns
    over_bar: float

    def find_end(self, reminder: TextVector, later: Sequence[TextVector]) -> int | None:
        """Return the position of what tells most surely that `reminder` is over, if anything."""
        first, *rest = (Told(text=text, vector=vector) for text, vector in (reminder, *later))
        totals = [self._compare(first, told) for told in rest]
        best = max(range(len(later)), key=totals.__getitem__, default=None)
        return None if best is None or totals[best] < self.same_bar else best

    def _compare(self, reminder: Told, told: Told) -> float:
        """Return how surely a text is about the same thing, minus infinity if it tells no end."""
        is_end = describe_end(reminder, told) @ self.over + self.over_intercept >= self.over_bar
        if not is_end or names_another(reminder.text, told.text):
            return -inf
        return float(describe_sameness(reminder, told) @ self.same) + self.same_intercept


@cache
def load_completion() -> Completion:
    """Read the weights of this package."""
    data = json.loads(read_regular(WEIGHTS))
    del data["labelled"]
    return Completion(**{**data, "same": np.array(data["same"]), "over": np.array(data["over"])})


def describe_sameness(reminder: Told, later: Told) -> Columns:
    """Return what tells whether two texts are about one thing, shape (5,)."""
    shares = measure_texts(reminder.text, later.text)[_SHARES]
    return np.array([*compare_vectors(reminder, later), *shares])


def describe_end(reminder: Told, later: Told) -> Columns:
    """Return the directions of a text beyond those of its reminder, shape (2 * DIMENSIONS,)."""
    return _find_directions(later) - _OF_REMINDER * _find_directions(reminder)


def _find_directions(told: Told) -> Columns:
    parts = (told.vector[:DIMENSIONS], told.vector[DIMENSIONS:])
    return np.concatenate([part / (np.linalg.norm(part) or 1.0) for part in parts]).astype(float)


def names_another(first: str, second: str) -> bool:
    """Return whether one word of a text is another one in the other, between the same words.

    At the end of a text, where verbs stand as well, it is a name or a number.
    """
    subjects = [find_subject(text) for text in (first, second)]
    places = [
        _find_places(text, own - other)
        for text, own, other in zip((first, second), subjects, reversed(subjects), strict=True)
    ]
    return not places[0].isdisjoint(places[1])


def _find_places(text: str, terms_alone: frozenset[str]) -> set[tuple[str, str]]:
    """Return the words before and after each word that has one of `terms_alone`."""
    spans = [*word_spans(text), ("", len(text), len(text))]
    return {
        (before, after)
        for (before, _, _), (word, start, _), (after, _, _) in zip(
            spans, spans[1:], spans[2:], strict=False
        )
        if not terms_alone.isdisjoint(terms(word)) and (after or not text[start].islower())
    }
