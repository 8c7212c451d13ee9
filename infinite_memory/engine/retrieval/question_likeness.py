"""Whether two questions ask the same, in the same or in other words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.core.errors import EmbedderError
from infinite_memory.search.embedding import CheckedEmbedder
from infinite_memory.search.text.analyzer import word_spans
from infinite_memory.search.text.question_terms import split_terms

LEAST_LIKENESS = 0.85
"""The likeness in meaning from which two questions count as one.

Of 60 questions asked again in other words 77 % reach it; of 1,190 questions on 48 subjects 1 % have
another one, which something else answers, so near. At 0.75 it would be 92 % and 3 %; but a wrong
rank that nobody asked for costs more than a word said again. `benchmarks.not_useful` prints both.
"""

_NUMBER = re.compile(r"\d+")
# A model puts "who is Anna" beside "where is Anna".
_ASKED_FOR = {"who": "person", "whom": "person", "whose": "person", "when": "time"}
_ASKED_FOR |= {"where": "place", "why": "reason"}
# One shared word is a subject and no question.
_LEAST_WORDS = 2


@frozen(kw_only=True)
class QuestionLikeness:
    """Compares a question with others; `embedder` is None if words alone are compared.

    Questions with different numbers are different: a model puts "invoice 1183" beside "invoice
    1184". So are English ones that ask for a person and for a place, or likewise for a time or a
    reason. Questions of the same words in any order are alike. Otherwise their likeness in meaning
    is (cosine - background) / (1 - background), where the background is the cosine of unrelated
    texts. If the embedder cannot compare them, the words that show the subject must be the same.
    """

    text: str
    embedder: CheckedEmbedder | None

    def is_like(self, other: str) -> bool:
        """Return whether `other` asks the same."""
        words = _words_in(other)
        if self._numbers != _numbers_in(other) or self._asks_for_another(words):
            return False
        if self._words == words:
            return bool(self._words) or self.text == other
        likeness = self._compare_meaning(other)
        if likeness is not None:
            return likeness >= LEAST_LIKENESS
        return len(self._subject) >= _LEAST_WORDS and self._subject == _subject_of(other)

    def _asks_for_another(self, words: Iterable[str]) -> bool:
        """Return whether one asks for a person, for example, and the other for a place."""
        own, others = _list_asked_for(self._words), _list_asked_for(words)
        return bool(own and others) and own.isdisjoint(others)

    @cached_property
    def _numbers(self) -> list[str]:
        return _numbers_in(self.text)

    @cached_property
    def _words(self) -> list[str]:
        return _words_in(self.text)

    @cached_property
    def _subject(self) -> frozenset[str]:
        return _subject_of(self.text)

    @cached_property
    def _vector(self) -> NDArray[np.float32] | None:
        return self._embed(self.text)

    def _compare_meaning(self, other: str) -> float | None:
        """Return the likeness in meaning, None if one of the questions cannot be embedded."""
        if self.embedder is None or self._vector is None:
            return None
        vector = self._embed(other)
        if vector is None:
            return None
        background = self.embedder.background
        return (float(self._vector @ vector) - background) / (1 - background)

    def _embed(self, text: str) -> NDArray[np.float32] | None:
        if self.embedder is None or not self.embedder.understands(text):
            return None
        try:
            return self.embedder.embed_query(text)
        except EmbedderError:
            # The ranking says in its note that the model cannot be run.
            return None


def _numbers_in(text: str) -> list[str]:
    return sorted(_NUMBER.findall(text))


def _words_in(text: str) -> list[str]:
    return sorted(word for word, _, _ in word_spans(text))


def _list_asked_for(words: Iterable[str]) -> frozenset[str]:
    return frozenset(_ASKED_FOR[word] for word in words if word in _ASKED_FOR)


def _subject_of(text: str) -> frozenset[str]:
    return frozenset(split_terms(text)[0])
