"""The word lists in `data`, each read from its file at first use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["simplify", "standard_forms", "stop_words"]


@cache
def stop_words() -> frozenset[str]:
    """Return the English words that do not tell what a text is about."""
    return frozenset(word for line in _read_lines("stopwords.txt") for word in line.split())


@cache
def standard_forms() -> Mapping[str, str]:
    """Return the standard form of every English word that has one besides its stem.

    A British or wrong spelling has the American one, a number word its digits, and an irregular
    form its base: "colour" has "color", "two" has "2", "bought" has "buy".
    """
    forms: dict[str, str] = {}
    for name in ("spellings.txt", "numbers.txt", "inflections.txt"):
        for line in _read_lines(name):
            standard, *variants = line.split()
            forms |= dict.fromkeys(variants, standard)
    return forms


def simplify(text: str) -> str:
    """Return `text` with a simplified Chinese character in place of every traditional one.

    The result is meant for search, not for reading: which of several simplified characters is right
    may depend on the word.
    """
    return text.translate(_simplified_characters())


@cache
def _simplified_characters() -> dict[int, str]:
    pairs = [pair for line in _read_lines("traditional.txt") for pair in line.split()]
    return {ord(pair[0]): pair[1] for pair in pairs}


def _read_lines(name: str) -> list[str]:
    """Return the lines of a file without comments and empty lines."""
    text = (Path(__file__).parent / "data" / name).read_text("utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]
