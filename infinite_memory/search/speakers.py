"""Finds the speakers that a question names.

The vector of a question with a name is near to every greeting that contains the name. The question
is therefore embedded without the name, and the memories of the named speaker gain a weight instead.
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

# A role is a common word, too: "which user reported it?" does not name the speaker "user".
_ROLES = frozenset({"assistant", "bot", "human", "may", "model", "system", "tool", "user"})


def find_named_speakers(
    question: str, segments: Sequence[Segment], doc_filters: Sequence[DocFilter]
) -> frozenset[str]:
    """Return the speakers of selected documents whose whole or first name is in `question`."""
    question_words = frozenset(words(question))
    return frozenset(
        segment.names[code]
        for segment, doc_filter in zip(segments, doc_filters, strict=True)
        for code in segment.speaker_codes
        if _is_named(segment.names[code], question_words)
        and (doc_filter.take(segment.speaker) == code).any()
    )


def mask_speakers(
    names: frozenset[str], segment: Segment, doc_filter: DocFilter
) -> NDArray[np.bool_]:
    """Return which selected documents have a speaker in `names`: bool, shape (k,)."""
    mask = np.zeros(len(doc_filter), np.bool_)
    codes = [segment.code_of[name] for name in names if name in segment.code_of]
    if codes:
        speakers = doc_filter.take(segment.speaker)
        for code in codes:
            mask |= speakers == code
    return mask


def remove_names(question: str, names: Iterable[str]) -> str:
    """Return `question` without `names`, unchanged if it has no further words."""
    parts = {part for name in names for part in words(name)}
    if not parts:
        return question
    any_part = "|".join(re.escape(part) for part in sorted(parts, key=len, reverse=True))
    text = re.sub(rf"\b(?:{any_part})\b(?:['’]s)?", " ", question, flags=re.IGNORECASE)
    return " ".join(text.split()) if words(text) else question


def _is_named(name: str, question_words: frozenset[str]) -> bool:
    """Return whether the question has the whole name, or a first name that is not a stop word."""
    parts = _split_name(name)
    telling = bool(parts) and parts[0] not in stop_words() and parts[0] not in _ROLES
    whole = len(parts) > 1 and question_words.issuperset(parts)
    return whole or (telling and parts[0] in question_words)


@lru_cache(maxsize=65_536)
def _split_name(name: str) -> tuple[str, ...]:
    return tuple(words(name))
