"""How keywords are written: a keyword is a stem, such as "memori", and a text has the word."""

from __future__ import annotations

from collections.abc import Iterable

from infinite_memory.search.text.analyzer import terms, words

_READ_CHARS = 100_000


def spell_keywords(keywords: Iterable[str], text: str) -> tuple[str, ...]:
    """Return keywords as a text writes them, in their order, each word once.

    A keyword that the first 100,000 characters of the text do not have stays as it is.
    """
    written: dict[str, str] = {}
    for word in dict.fromkeys(words(text[:_READ_CHARS])):
        for term in terms(word):
            written.setdefault(term, word)
    return tuple(dict.fromkeys(written.get(keyword, keyword) for keyword in keywords))
