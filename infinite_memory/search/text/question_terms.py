"""The index terms of a question, without the function words of its language.

Function words stay in the index, so that the list of a language may change without a new index.
English function words are in neither.
"""

from __future__ import annotations

import re
from functools import lru_cache

from infinite_memory.search.text.analyzer import (
    cut_chinese,
    fold,
    foreign_languages,
    has_han,
    terms,
)
from infinite_memory.search.text.languages import function_words
from infinite_memory.search.text.word_lists import chinese_stop_words, simplify

MOST_TERMS = 3
"""With more terms, a question has a subject that the time in it only describes."""

_KANA = re.compile("[\u3041-\u30fa]")
_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")


def split_terms(question: str) -> tuple[list[str], list[str]]:
    """Return the terms of `question` that show its subject, and the terms of function words.

    If no term shows the subject, all terms are in the first list.
    """
    every_term, telling = _find_telling(question)
    if not telling:
        return every_term, []
    return telling, sorted(set(every_term).difference(telling))


def find_subject(text: str) -> frozenset[str]:
    """Return the terms of `text` that show its subject, none if all are function words."""
    return frozenset(_find_telling(text)[1])


def has_subject(text: str) -> bool:
    """Return whether `text` has a word or a number that is no function word of its language."""
    return bool(_find_telling(text)[1])


def _find_telling(question: str) -> tuple[list[str], list[str]]:
    """Return all terms of a question, and the terms that show its subject."""
    every_term = terms(question)
    text = question
    # Japanese is not cut by the Chinese dictionary.
    if has_han(question) and not _KANA.search(question):
        text = _remove_chinese_stop_words(question)
    idle = frozenset[str]().union(*map(_function_terms, foreign_languages(question)))
    telling = [
        term for term in (terms(text) if text != question else every_term) if term not in idle
    ]
    return every_term, telling


@lru_cache
def _function_terms(language: str) -> frozenset[str]:
    """Return the index terms of the function words of a language in Latin letters."""
    return frozenset(terms(" ".join(function_words(language))))


def _remove_chinese_stop_words(text: str) -> str:
    def keep(run: re.Match[str]) -> str:
        kept = [
            " " if simplify(fold(word)) in chinese_stop_words() else word
            for word in cut_chinese(run.group())
        ]
        return "".join(kept)

    return _HAN_RUN.sub(keep, text)
