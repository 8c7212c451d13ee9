"""Names of speakers in a question.

A sentence model puts a name close to every greeting that holds it, so a question that names a
speaker is compared without the name, and the name counts as a signal of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.segment import Segment
from infinite_memory.text.analyzer import words
from infinite_memory.text.word_lists import stop_words

__all__ = ["find_named_speakers", "mask_speakers", "remove_names"]

# Who speaks by a role is not meant by the word: "which user reported it?"
_ROLES = frozenset({"assistant", "bot", "human", "may", "model", "system", "tool", "user"})


def find_named_speakers(
    question: str, segments: Sequence[Segment], selections: Sequence[DocFilter]
) -> frozenset[str]:
    """Return the speakers of selected documents whose whole or first name is in `question`."""
    asked = frozenset(words(question))
    return frozenset(
        segment.names[code]
        for segment, selection in zip(segments, selections, strict=True)
        for code in segment.held_speakers
        if _is_named(segment.names[code], asked) and (selection.take(segment.speaker) == code).any()
    )


def mask_speakers(
    names: frozenset[str], segment: Segment, selection: DocFilter
) -> NDArray[np.bool_]:
    """Return which selected documents were said by one of `names`: bool, shape (k,)."""
    spoken = np.zeros(len(selection), np.bool_)
    codes = [segment.code_of[name] for name in names if name in segment.code_of]
    if codes:
        speakers = selection.take(segment.speaker)
        for code in codes:
            spoken |= speakers == code
    return spoken


def remove_names(question: str, names: Iterable[str]) -> str:
    """Return `question` without these names; unchanged where nothing else would be left."""
    parts = {part for name in names for part in words(name)}
    if not parts:
        return question
    any_part = "|".join(re.escape(part) for part in sorted(parts, key=len, reverse=True))
    rest = re.sub(rf"\b(?:{any_part})\b(?:['’]s)?", " ", question, flags=re.IGNORECASE)
    return " ".join(rest.split()) if words(rest) else question


def _is_named(name: str, asked: frozenset[str]) -> bool:
    """Tell whether the words `asked` hold the name; one that is a common word must be whole."""
    parts = _parts(name)
    telling = bool(parts) and parts[0] not in stop_words() and parts[0] not in _ROLES
    whole = len(parts) > 1 and asked.issuperset(parts)
    return whole or (telling and parts[0] in asked)


@lru_cache(maxsize=65_536)
def _parts(name: str) -> tuple[str, ...]:
    return tuple(words(name))
