"""Contractions, spellings, numbers and units in one way of writing, for `likeness`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from infinite_memory.text.spellings import (
    APART,
    CURRENCIES,
    IN_ANY_CASE,
    NUMBERS,
    SIGNS_OF_UNITS,
    SPELLINGS,
    SPOKEN,
    UNITS,
    UNMARKED,
)

__all__ = ["DOUBTFUL", "EXPANDED", "IS_OR_HAS", "is_for_is", "measured", "written_out"]

_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"[$€£¥]?\d+(?:\.\d+)?%?")
_THOUSANDS = re.compile(r"([$€£¥]?)(\d{1,3}(?:,\d{3})+)(\.\d+)?")
IS_OR_HAS = frozenset("it's he's she's that's there's here's what's who's where's".split())
"""Contractions of "is", or of "has": "it's been read"."""
# What may be a participle leaves it open.
_PARTICIPLE = re.compile(r".*(?:ed|en|wn|ne|un|t|ld|d|ade|come)$")
_NO_PARTICIPLES = frozenset(
    "at about important great different best right correct urgent current recent what that".split()
)
_BEFORE_VALUES = frozenset("called named is are as to type enter use : =".split())
_WISHED = frozenset("like love prefer rather".split())
_SINGULAR = frozenset(
    "is was has costs takes needs holds employs sells owns pays earns weighs gets serves reaches"
    " covers uses makes us this".split()
)
_NO_NOUNS = frozenset("is are was were and or on in at to from of by with for as won has".split())
# "Cell 101,102 is blue": two numbers, as in "ids 5,100".
_PLACES = frozenset(
    "point position location coordinate cell pair seat room port page line track item id index"
    " range number row column field channel group section chapter question".split()
)
DOUBTFUL = frozenset(
    (*IS_OR_HAS, *SPELLINGS, *NUMBERS, *APART, *IN_ANY_CASE, *UNMARKED, "&", "i'd")
)
"""The words, in small letters, that `written_out` may write in another way or leave as they are."""

_OTHERWISE = DOUBTFUL | SPOKEN.keys()


def written_out(words: list[str]) -> list[str]:
    """Write contractions out, and each word in its one spelling."""
    out: list[str] = []
    there = " ".join(words).lower().split(" ")
    if _OTHERWISE.isdisjoint(there):
        return words
    for place, word in enumerate(words):
        lower = there[place]
        following = words[place + 1 : place + 3]
        if lower in UNMARKED and word != lower.upper():
            word, lower = UNMARKED[lower], UNMARKED[lower]
        if lower in SPOKEN:
            out += [_stem(word), SPOKEN[lower]]
        elif lower in IS_OR_HAS and is_for_is(following):
            out += [word[:-2], "is"]
        elif lower == "i'd" and following[:1] and following[0] in _WISHED:
            out += [word[:-2], "would"]
        elif lower in APART and word.islower() and APART[lower] not in " ".join(there):
            out += APART[lower].split(" ")
        elif word == "&" and out and _is_word(out[-1]) and following and _is_word(following[0]):
            out.append("and")
        else:
            out.append(_spelt(word, place, there, following))
    return out


def _spelt(word: str, place: int, there: Sequence[str], following: Sequence[str]) -> str:
    """Return `word` in its one spelling; not in "write colour, not color", nor what may be a name.

    What the text begins with may be one: "Grey called", "Colour Inc".
    """
    lower = there[place]
    better = SPELLINGS.get(lower) or NUMBERS.get(lower) or lower
    if better == lower and lower not in IN_ANY_CASE:
        return word
    if better in (there if better != lower else there[:place]):
        return word
    if place == 0 and (lower in ("grey", "honour") or (following and following[0][:1].isupper())):
        return word
    if word.islower():
        return better
    return better if better in IN_ANY_CASE and there[place - 1] not in _BEFORE_VALUES else word


def _lists(before: Sequence[str]) -> bool:
    """Tell whether a number with a comma behind these words may be two."""
    several = bool(before) and before[-1].endswith("s") and before[-1].lower() not in _SINGULAR
    return several or not _PLACES.isdisjoint(word.lower() for word in before[-3:])


def is_for_is(following: Sequence[str]) -> bool:
    """Tell whether what follows a contraction shows that it stands for "is" and not for "has"."""
    told = following[1:] if following[:1] == ["not"] else following[:1]
    word = told[0] if told else ""
    return word.islower() and (word in _NO_PARTICIPLES or not _PARTICIPLE.match(word))


def _is_word(word: str) -> bool:
    return len(word) > 1 and any(map(str.islower, word))


def _stem(contraction: str) -> str:
    lower = contraction.lower()
    if lower in ("can't", "cannot"):
        return contraction[:3]
    if lower == "won't":
        return f"{contraction[0]}ill"
    return contraction[:-3] if lower.endswith("n't") else contraction[: contraction.index("'")]


def measured(words: list[str]) -> list[str]:
    """Join numbers and the signs of their units; leave the commas of thousands out."""
    together = "".join(words)
    if together.isalpha() or not _DIGIT.search(together):
        return words
    out: list[str] = []
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        number = bool(out) and _NUMBER.fullmatch(out[-1]) is not None
        thousands = _THOUSANDS.fullmatch(word)
        if thousands is not None:
            counted = following.isalpha() and following.islower() and following not in _NO_NOUNS
            counted = counted and not _lists(words[:place])
            out.append(word.replace(",", "") if thousands[1] or counted else word)
        elif number and word in CURRENCIES and out[-1][0].isdigit() and out[-1][-1].isdigit():
            out[-1] = f"{CURRENCIES[word]}{out[-1]}"
        elif word == "cent" and out[-1:] == ["per"] and out[-2:-1] and _NUMBER.fullmatch(out[-2]):
            out[-2:] = [f"{out[-2]}%"]
        elif number and word in SIGNS_OF_UNITS:
            out[-1] += word
        elif number and word in UNITS:
            unit = UNITS[word]
            out[-1:] = [out[-1] + unit] if unit in SIGNS_OF_UNITS else [out[-1], unit]
        else:
            out.append(word)
    return out


EXPANDED = {word: f"{_stem(word)} {rest}" for word, rest in SPOKEN.items()}
"""Contractions, in small letters, and what `written_out` makes of each wherever it stands."""
