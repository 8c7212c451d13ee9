"""Names of speakers in a question.

A sentence model puts a name close to every greeting that holds it, so a question that names a
speaker is compared without the name, and the name counts as a signal of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.segment import Segment
from infinite_memory.text.stopwords import STOP_WORDS
from infinite_memory.text.tokens import words

__all__ = ["named_speakers", "spoken_by", "without_names"]

# Who speaks by a role is not meant by the word: "which user reported it?"
_ROLES = frozenset({"assistant", "bot", "human", "may", "model", "system", "tool", "user"})

Masks = Sequence[NDArray[np.bool_]]


def named_speakers(question: str, segments: Sequence[Segment], eligible: Masks) -> frozenset[str]:
    """Return the speakers of eligible documents whose whole or first name is in `question`."""
    asked = set(words(question))
    return frozenset(name for name in _speakers(segments, eligible) if _is_named(name, asked))


def spoken_by(names: frozenset[str], segment: Segment) -> NDArray[np.bool_]:
    """Return which documents were said by one of `names`: bool, shape (n,)."""
    if not names:
        return np.zeros(len(segment), np.bool_)
    return np.array([name in names for name in segment.names])[segment.speaker]


def without_names(question: str, names: Iterable[str]) -> str:
    """Return `question` without these names; unchanged where nothing else would be left."""
    parts = {part for name in names for part in words(name)}
    if not parts:
        return question
    any_part = "|".join(re.escape(part) for part in sorted(parts, key=len, reverse=True))
    rest = re.sub(rf"\b(?:{any_part})\b(?:['’]s)?", " ", question, flags=re.IGNORECASE)
    return " ".join(rest.split()) if words(rest) else question


def _is_named(name: str, asked: set[str]) -> bool:
    """Tell whether the words `asked` hold the name; one that is a common word must be whole."""
    parts = words(name)
    telling = bool(parts) and parts[0] not in STOP_WORDS and parts[0] not in _ROLES
    whole = len(parts) > 1 and set(parts) <= asked
    return whole or (telling and parts[0] in asked)


def _speakers(segments: Sequence[Segment], eligible: Masks) -> set[str]:
    found: set[str] = set()
    for segment, mask in zip(segments, eligible, strict=True):
        counts = np.bincount(segment.speaker[mask], minlength=1)
        found.update(segment.names[code] for code in np.flatnonzero(counts))
    return found - {""}
