"""The word lists in `data`, read from their files at first use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def stop_words() -> frozenset[str]:
    """Return the English words that do not show the subject of a text."""
    return frozenset(word for line in _read_lines("stopwords.txt") for word in line.split())


@cache
def chinese_stop_words() -> frozenset[str]:
    """Return the Chinese words that do not show the subject of a text, simplified."""
    return frozenset(word for line in _read_lines("chinese_stopwords.txt") for word in line.split())


@cache
def acknowledgements() -> frozenset[str]:
    """Return greetings, thanks, assent and laughter, in English and in simplified Chinese."""
    return frozenset(word for line in _read_lines("acknowledgements.txt") for word in line.split())


@cache
def cue_words() -> str:
    """Return words that stand in decisions and conclusions, in several languages, as a text."""
    return " ".join(_read_lines("cues.txt"))


@cache
def standard_forms() -> Mapping[str, str]:
    """Return the standard forms of the English words whose stem is not enough.

    A British or wrong spelling has the American spelling, a number word its digits, and an
    irregular form its base: "colour" has "color", "two" has "2", "bought" has "buy".
    """
    forms: dict[str, str] = {}
    for name in ("spellings.txt", "numbers.txt", "inflections.txt"):
        for line in _read_lines(name):
            standard, *variants = line.split()
            forms |= dict.fromkeys(variants, standard)
    return forms


def simplify(text: str) -> str:
    """Return `text` with simplified instead of traditional Chinese characters.

    The result is meant for search, not for reading: a traditional character with several
    simplified forms always gets the first.
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
