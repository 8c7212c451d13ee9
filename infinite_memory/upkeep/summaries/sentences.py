"""How much a sentence says, and how alike two sentences are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.text.analyzer import terms
from infinite_memory.text.question_terms import has_subject
from infinite_memory.text.word_lists import cue_words

__all__ = ["Sentence", "weigh", "weighted_terms"]

# A name: a word with a capital inside a sentence, or several; an identifier or a path.
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][\w'-]+|\b[A-Z][\w'-]+ [A-Z][\w'-]+|\w+[_./]\w+|`[^`]+`")
_NUMBER = re.compile(r"\d")
_QUESTION = re.compile(r"[?？]\s*$")

_CUE_BONUS = 1.0
_NUMBER_BONUS = 0.5
_NAME_BONUS = 0.4
_QUESTION_SHARE = 0.4
_FEW_TERMS = 3
_FEW_TERMS_SHARE = 0.3


@frozen(kw_only=True)
class Sentence:
    """A sentence of the source with this number."""

    source: int
    text: str


def weigh(sentence: Sentence) -> float:
    """Return the weight of a sentence by what stands in it; 0 for one that says nothing.

    A decision or a conclusion, a number or a date, and a name add to it; a question, and a sentence
    of a few words, have a share of it.
    """
    text = sentence.text
    if not has_subject(text):
        return 0.0
    found = terms(text)
    weight = 1.0
    if not _cue_terms().isdisjoint(found):
        weight += _CUE_BONUS
    if _NUMBER.search(text):
        weight += _NUMBER_BONUS
    if _NAME.search(text):
        weight += _NAME_BONUS
    if _QUESTION.search(text):
        weight *= _QUESTION_SHARE
    if len(set(found)) < _FEW_TERMS:
        weight *= _FEW_TERMS_SHARE
    return weight


def weighted_terms(sentences: Sequence[Sentence]) -> NDArray[np.float64]:
    """Return unit vectors of the terms, shape (sentences, terms).

    A term weighs 1 + ln(its number in the sentence), times ln(1 + sentences / those with the term)
    (Spärck Jones, 1972).
    """
    counts = [Counter(terms(sentence.text)) for sentence in sentences]
    holding = Counter(term for count in counts for term in count)
    columns = {term: column for column, term in enumerate(holding)}
    vectors = np.zeros((len(sentences), max(1, len(columns))))
    for row, count in enumerate(counts):
        for term, number in count.items():
            rarity = np.log(1 + len(sentences) / holding[term])
            vectors[row, columns[term]] = (1 + np.log(number)) * rarity
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    return unit


@cache
def _cue_terms() -> frozenset[str]:
    return frozenset(terms(cue_words()))
