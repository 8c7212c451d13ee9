"""Whether a text commands a model, as an injected prompt does: a regression over its words.

It is a logistic regression. The features of a text are the beginnings of its words, pairs of those
in a row, and marks such as `<|`; each counts once. A long text is judged by stretches of words, the
worst of which counts.
`python -m benchmarks.injections --fit` fits the weights on labelled texts in six languages, prints
how many it finds, and writes `injection.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from math import sqrt
from pathlib import Path

from attrs import frozen

from infinite_memory.core.files.regular import read_regular

WEIGHTS = Path(__file__).parent / "injection.json"
"""The file with the weights; also its `labelled`, a digest of what they were fitted on."""

_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\d_]+|\d+|<\||\|>|[<>\[\]{}#:!*`\"«»“„/=@]")
_WORD_CHARS = 6
_STRETCH = 60
# Only the beginning of a long text is judged, which limits the time.
_MOST_CHARS = 20_000


@frozen(kw_only=True, eq=False)
class Injection:
    """The fitted weight of each feature, and the least logarithm of the odds that is taken."""

    intercept: float
    bar: float
    weights: Mapping[str, float]

    def measure_odds(self, features: set[str]) -> float:
        """Return the logarithm of the odds that what has these features commands a model."""
        known = [self.weights[name] for name in features if name in self.weights]
        return self.intercept + sum(known) / sqrt(max(len(known), 1))


def commands_model(text: str) -> bool:
    """Return whether a text is likely to command the model that reads it."""
    injection = _load_injection()
    return any(injection.measure_odds(each) >= injection.bar for each in list_features(text))


def list_features(text: str) -> Iterator[set[str]]:
    """Yield the features of each stretch of a text."""
    tokens = [word[:_WORD_CHARS] for word in _TOKEN.findall(text[:_MOST_CHARS].casefold())]
    for start in range(0, max(len(tokens), 1), _STRETCH):
        stretch = ["^", *tokens[start : start + _STRETCH], "$"]
        yield {*stretch, *map(" ".join, pairwise(stretch))}


@cache
def _load_injection() -> Injection:
    data = json.loads(read_regular(WEIGHTS))
    del data["labelled"]
    return Injection(**data)
