"""The words of a sentence in which nothing can be written in another way.

Most of `likeness` looks for signs, and for words of closed lists. Where a sentence has neither but
for commas, colons and its last mark, its reading is the list of its words, and to find that out
takes a third of the time: a fingerprint is made for every text that is stored.
"""

from __future__ import annotations

import re

from infinite_memory.text.casing import WRITTEN
from infinite_memory.text.dates import BEGINNINGS_OF_MONTHS
from infinite_memory.text.dressing import CLOSING_WORDS, begins_with_opening
from infinite_memory.text.spellings import CURRENCIES, SIGNS_OF_UNITS, UNITS
from infinite_memory.text.wording import DOUBTFUL, EXPANDED

__all__ = ["plain_words"]

_WORD = "(?:[A-Za-z]++(?:['-][A-Za-z]++)*+|[0-9]++)"
_PLAIN = re.compile(rf"{_WORD}(?:[,:]? {_WORD})*+[.?!]?")
_DIGIT = re.compile("[0-9]")
_IMPORT = re.compile(r"\bimport\b")
_LEAST_WORDS = 3
# Words that `likeness` itself counts or leaves out.
_TOLD = DOUBTFUL | frozenset(
    "first third fourth fifth sixth seventh eighth ninth tenth really actually too well".split()
)
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

    Commas and colons are left out, and so are a full stop and a "!"; a question mark is a word.
    """
    if _PLAIN.fullmatch(text) is None:
        return None
    lowered = text.lower()
    if "import" in lowered and _IMPORT.search(lowered):
        return None
    marked = "," in text or ":" in text
    bare = lowered.replace(",", "").replace(":", "") if marked else lowered
    words = bare.removesuffix(".").replace("?", " ?").split(" ")
    # "SELECT-all" and "case-control: none" look like source code.
    head = words[0].replace("'", "-").partition("-")[0]
    if not (_TOLD.isdisjoint(words) and _BEGINNINGS.isdisjoint((head, *words[:2]))):
        return None
    if text[-1] == "!":
        marked = True
        words[-1] = words[-1][:-1]
        if not _is_exclaimed(words):
            return None
    if marked and (words[-1] in CLOSING_WORDS or _begins_before_sign(head)):
        return None
    if _DIGIT.search(text) is not None and not _is_plain_beside_numbers(words):
        return None
    # What is all capitals, or a headline, is read in small letters.
    if begins_with_opening(text) or begins_with_opening(lowered):
        return None
    return _without_contractions(words)


def _is_exclaimed(words: list[str]) -> bool:
    """Tell whether a "!" behind these words is a mark and not a part of a value."""
    last = words[-1]
    enough = len(words) >= _LEAST_WORDS and len(last) > 1 and last.isalpha()
    return enough and last not in _TOLD and WRITTEN.isdisjoint(words)


def _without_contractions(words: list[str]) -> list[str]:
    if EXPANDED.keys().isdisjoint(words):
        return words
    return " ".join([EXPANDED.get(word, word) for word in words]).split(" ")


def _begins_before_sign(head: str) -> bool:
    return head in _BEFORE_SIGNS or head.startswith(("um", "uh"))


def _is_plain_beside_numbers(words: list[str]) -> bool:
    """Tell whether no word is a unit, or a part of a date or of a time of day, as in "pm-ish"."""
    heads = " ".join(words).replace("'", " ").replace("-", " ").split(" ")
    return _BESIDE_NUMBERS.isdisjoint(heads) and BEGINNINGS_OF_MONTHS.isdisjoint(
        [head[:3] for head in heads]
    )
