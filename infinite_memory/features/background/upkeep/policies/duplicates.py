"""Whether two memories are near-duplicates."""

from __future__ import annotations

import re

from infinite_memory.search.text.analyzer import words
from infinite_memory.search.text.highlights import is_dense_script

LOWEST_COSINE = 0.97
_FEWEST_WORDS = 4
_FEWEST_DENSE_CHARS = 8
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def is_long_enough(text: str) -> bool:
    """Return whether a text says enough to be compared: "Thanks!" is no duplicate of "Thanks!"."""
    if is_dense_script(text):
        return len(text.strip()) >= _FEWEST_DENSE_CHARS
    return len(words(text)) >= _FEWEST_WORDS


def are_near_duplicates(first: str, second: str, cosine: float) -> bool:
    """Return whether two texts are near in meaning and have the same numbers in the same order."""
    return cosine >= LOWEST_COSINE and _NUMBER.findall(first) == _NUMBER.findall(second)
