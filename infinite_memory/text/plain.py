"""The words of a sentence in which nothing can be written in another way.

Most of `likeness` looks for signs, and for words of closed lists. Where a sentence has neither but
for a few signs between its words and its last mark, its reading is the list of its words, and to
find that out takes a third of the time: a fingerprint is made for every text that is stored.
"""

from __future__ import annotations

import re

from infinite_memory.text.canonical import without_end
from infinite_memory.text.casing import WRITTEN, is_one_case
from infinite_memory.text.dates import BEGINNINGS_OF_MONTHS
from infinite_memory.text.dressing import CLOSING_WORDS, OPENING_WORDS, begins_with_opening
from infinite_memory.text.particles import without_particles
from infinite_memory.text.spellings import CURRENCIES, SIGNS_OF_UNITS, UNITS
from infinite_memory.text.wording import DOUBTFUL, EXPANDED, IS_OR_HAS, is_for_is

__all__ = ["plain_words"]

_WORD = "(?:[A-Za-z]++(?:['-][A-Za-z]++)*+|[0-9]++)"
_PLAIN = re.compile(rf"{_WORD}(?:(?:[,:?]| -)? {_WORD})*+[.?!]?")
_DIGIT = re.compile("[0-9]")
_IMPORT = re.compile(r"\bimport\b")
_LEAST_WORDS = 3
# Words that `likeness` itself counts or writes in another way.
_TOLD = (DOUBTFUL - IS_OR_HAS) | frozenset(
    "first third fourth fifth sixth seventh eighth ninth tenth".split()
)
# What is left out, or written in another way, where the words around it allow.
_PARTICLES = frozenset(("really", "actually"))
_VARIED = IS_OR_HAS | _PARTICLES
_LAST_PARTICLES = ("too", "well")
_BESIDE_NUMBERS = frozenset(
    word.lower() for word in (*UNITS, *SIGNS_OF_UNITS, *CURRENCIES, "cent", "am", "pm", "a", "p")
)
# Openings without a sign, the names of commands, and labels before "is".
_BEGINNINGS = frozenset(
    "btw fyi ok okay git pip npm rm cp mv ls cd sudo docker kubectl curl apt brew ssh chmod select"
    " insert update delete create alter drop deadline due release birthday address phone version"
    " port price budget status owner location".split()
)
# Before a comma or a colon: greetings and fillers, and what begins a line of source code.
_BEFORE_SIGNS = frozenset(
    "hi hello hey by if elif else for while def class try except with return switch"
    " case function const let var public private static fn func async await from".split()
)


def plain_words(text: str) -> list[str] | None:
    """Return the words of `text` in small letters, None where another reading is possible.

    Commas, colons and a full stop are left out, and so is a "!" that is a mark; other signs are
    words.
    """
    if _PLAIN.fullmatch(text) is None or (stated := _without_mark(text)) is None:
        return None
    lowered = text.lower()
    if "import" in lowered and _IMPORT.search(lowered):
        return None
    words = _words_of(stated.lower())
    # "SELECT-all" and "case-control: none" look like source code.
    head = words[0].replace("'", "-").partition("-")[0]
    if not (_TOLD.isdisjoint(words) and _BEGINNINGS.isdisjoint((head, *words[:2]))):
        return None
    marked = "," in text or ":" in text or " - " in text
    if marked and (words[-1] in CLOSING_WORDS or _begins_before_sign(head)):
        return None
    if _DIGIT.search(text) is not None and not _is_plain_beside_numbers(words):
        return None
    # In small letters, as what is all capitals, or a headline, is read.
    if words[0] in OPENING_WORDS and begins_with_opening(lowered):
        return None
    return _as_written_out(text, stated, words)


def _without_mark(text: str) -> str | None:
    """Return `text` without its last mark, but with a question mark, None where it may count."""
    if text[-1] == ".":
        return text[:-1]
    if text[-1] != "!":
        return text
    words = text[:-1].lower().replace(":", "").replace(",", "").split(" ")
    if len(words) < _LEAST_WORDS:
        return without_end(text)
    last = words[-1]
    is_mark = len(last) > 1 and last.isalpha() and WRITTEN.isdisjoint(words)
    return text[:-1] if is_mark else None


def _words_of(text: str) -> list[str]:
    """Return the words of what has a few signs: without commas and colons, other signs apart."""
    if "," in text or ":" in text:
        text = text.replace(",", "").replace(":", "")
    return _apart(text)


def _apart(text: str) -> list[str]:
    """Return words and signs, of which commas and colons are apart already, or left out."""
    if text[-1] == "!":
        text = f"{text[:-1]} !"
    return text.replace("?", " ?").replace(" - ", " – ").split(" ")


def _as_written_out(text: str, stated: str, words: list[str]) -> list[str] | None:
    """Return `words`, those of `stated`, without particles and contractions.

    None where the case of a word tells nothing, and for "the really", which may begin with it.
    """
    if not _VARIED.isdisjoint(words) or words[-1] in _LAST_PARTICLES:
        first_left_out = words[0] == "the" and words[1] in _PARTICLES
        if first_left_out or is_one_case(text):
            return None
        words = _with_is(without_particles(stated))
    if EXPANDED.keys().isdisjoint(words):
        return words
    return " ".join([EXPANDED.get(word, word) for word in words]).split(" ")


def _with_is(text: str) -> list[str]:
    """Return the words of `text` in small letters, "it" for "it's" where it stands for "it is"."""
    words = _words_of(text.lower())
    if IS_OR_HAS.isdisjoint(words):
        return words
    cased = _apart(text.replace(",", " ,").replace(":", " :"))
    return [
        word[:-2] if word in IS_OR_HAS and is_for_is(cased[place + 1 : place + 3]) else word
        for place, word in enumerate(map(str.lower, cased))
        if word not in (",", ":")
    ]


def _begins_before_sign(head: str) -> bool:
    return head in _BEFORE_SIGNS or head.startswith(("um", "uh"))


def _is_plain_beside_numbers(words: list[str]) -> bool:
    """Tell whether no word is a unit, or a part of a date or of a time of day, as in "pm-ish"."""
    heads = " ".join(words).replace("'", " ").replace("-", " ").split(" ")
    return (
        "–" not in heads
        and _BESIDE_NUMBERS.isdisjoint(heads)
        and BEGINNINGS_OF_MONTHS.isdisjoint([head[:3] for head in heads])
    )
