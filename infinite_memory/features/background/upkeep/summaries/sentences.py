"""How much a sentence says, and what its terms are worth."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.question_terms import has_subject
from infinite_memory.search.text.relative_time import is_relative
from infinite_memory.search.text.word_lists import cue_words
from infinite_memory.times import find_range

# A name: a word with a capital inside a sentence, or several; an identifier or a path.
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][\w'-]+|\b[A-Z][\w'-]+ [A-Z][\w'-]+|\w+[_./]\w+|`[^`]+`")
_NUMBER = re.compile(r"\d")
_QUESTION = re.compile(r"[?？]\s*$")

_MICROSECOND = timedelta(microseconds=1)
_CUE_BONUS = 1.0
_NUMBER_BONUS = 0.5
_NAME_BONUS = 0.4
_QUESTION_SHARE = 0.4
_FEW_TERMS = 3
_FEW_TERMS_SHARE = 0.3
_WEEKDAY = re.compile(
    r"\b(?:mon|tues?|wed|thu|fri|sat|sun)(?:\b|\w*day)|[周週期拜][一二三四五六日末天]",
    re.IGNORECASE,
)
_WAY = re.compile(
    r"\b(?:last|next|this|past|previous|coming|upcoming|following|ago)\b|[上下这這本]",
    re.IGNORECASE,
)


@frozen(kw_only=True)
class Sentence:
    """A sentence of the source with this number; `quote` is how a summary writes it."""

    source: int
    text: str
    quote: str


def resolve_dates(text: str, happened_at: datetime, zone: str | None) -> str:
    """Return a sentence with the days that its relative time means, as "yesterday [2024-03-03]".

    The name of a weekday alone stays as it is: "on Friday" may be the last one or the next.
    """
    if not is_relative(text):
        return text
    reading = find_range(text, now=happened_at, zone=zone)
    if reading is None or not is_relative(reading.words) or _may_be_either_way(reading.words):
        return text
    start, end = reading.range.start, reading.range.end
    if start is None or end is None:
        return text
    first = in_zone(start, zone).date()
    last = in_zone(end - _MICROSECOND, zone).date()
    days = f"{first}" if first == last else f"{first} to {last}"
    after = reading.span[1]
    return f"{text[:after]} [{days}]{text[after:]}"


def _may_be_either_way(words: str) -> bool:
    """Return whether words of time name a weekday, and not whether it has been or is to come."""
    return bool(_WEEKDAY.search(words)) and not _WAY.search(words)


def weigh(sentence: Sentence, names: frozenset[str]) -> float:
    """Return the weight of a sentence by its words and signs; 0 if it says nothing.

    A decision or a conclusion, a number or a date, and a name add to it; a question, and a sentence
    of a few words, have a share of it. The terms `names`, those of the speakers, are no names here:
    "Thanks, Melanie" says nothing of Melanie.
    """
    text = sentence.text
    if not has_subject(text):
        return 0.0
    found = frozenset(terms(text)) - names
    weight = 1.0
    if not _cue_terms().isdisjoint(found):
        weight += _CUE_BONUS
    if _NUMBER.search(text) or is_relative(text):
        weight += _NUMBER_BONUS
    if any(not names.issuperset(terms(name)) for name in _NAME.findall(text)):
        weight += _NAME_BONUS
    if _QUESTION.search(text):
        weight *= _QUESTION_SHARE
    if len(found) < _FEW_TERMS:
        weight *= _FEW_TERMS_SHARE
    return weight


def term_values(sentences: Sequence[Sentence], names: frozenset[str]) -> NDArray[np.float64]:
    """Return what each term of a sentence is worth, shape (sentences, terms); 0 where it is not.

    A term is worth ln(1 + sentences / those with the term) (Spärck Jones, 1972), times
    1 + ln(those with the term). The terms `names`, those of the speakers, are worth nothing.
    """
    found = [frozenset(terms(sentence.text)) - names for sentence in sentences]
    holding = Counter(term for one in found for term in one)
    columns = {term: column for column, term in enumerate(sorted(holding))}
    values = np.zeros((len(sentences), max(1, len(columns))))
    for row, held in enumerate(found):
        for term in held:
            rarity = np.log(1 + len(sentences) / holding[term])
            values[row, columns[term]] = rarity * (1 + np.log(holding[term]))
    return values


@cache
def _cue_terms() -> frozenset[str]:
    return frozenset(terms(cue_words()))
