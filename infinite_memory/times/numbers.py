"""Numbers in words: twenty-one, a couple of, the twenty-first, 二十一, 二零二四."""

from __future__ import annotations

from infinite_memory.times.chinese_words import DIGITS
from infinite_memory.times.english_words import NUMBERS, ORDINALS
from infinite_memory.times.match import Source

__all__ = ["counted_number", "number_at", "ordinal_at"]


def number_at(source: Source, place: int) -> tuple[int, int] | None:
    """Return the English number that begins at `place`, and the place after it."""
    token, word = source.at(place), source.word(place)
    if source.word(place + 1) == "hundred":
        hundreds = 1 if word == "a" else NUMBERS.get(word, 10)
        return (100 * hundreds, place + 2) if hundreds < 10 else None
    if token is not None and token.kind == "number" and token.groups[1] is None:
        return int(token.groups[0] or "0"), place + 1
    if word in ("a", "an"):
        if source.word(place + 1) == "couple":
            return number_at(source, place + 1)
        return 1, place + 1
    if word == "couple":
        return 2, place + (2 if source.word(place + 1) == "of" else 1)
    if word in NUMBERS:
        tens, ones = NUMBERS[word], NUMBERS.get(source.word(place + 1), 10)
        if tens >= 20 and ones < 10:
            return tens + ones, place + 2
        return tens, place + 1
    joined = source.at(place)
    if joined is not None and joined.kind == "name" and joined.value.count("-") == 1:
        tens, ones = (NUMBERS.get(part, 0) for part in joined.value.split("-"))
        if tens >= 20 and 0 < ones < 10:
            return tens + ones, place + 1
    return None


def ordinal_at(source: Source, place: int) -> tuple[int, int] | None:
    """Return the number of "first" or "twenty-first" at `place`, and the place after it."""
    word, token = source.word(place), source.at(place)
    if word in ("twenty", "thirty") and ORDINALS.get(source.word(place + 1), 10) < 10:
        return NUMBERS[word] + ORDINALS[source.word(place + 1)], place + 2
    if token is not None and token.kind == "name" and token.value.count("-") == 1:
        tens, ones = token.value.split("-")
        if tens in ("twenty", "thirty") and ORDINALS.get(ones, 10) < 10:
            return NUMBERS[tens] + ORDINALS[ones], place + 1
    if word == "thirtieth":
        return 30, place + 1
    return (ORDINALS[word], place + 1) if word in ORDINALS else None


def counted_number(source: Source, place: int) -> tuple[int, int] | None:
    """Return the Chinese number, or digits, that begins at `place`, and the place after it."""
    token = source.at(place)
    if token is not None and token.kind == "number" and token.groups[1] is None:
        return int(token.groups[0] or "0"), place + 1
    end = place
    while end - place < 4 and source.han(end) in DIGITS:
        end += 1
    if end == place or source.han(end) in DIGITS:
        return None
    value = _value([DIGITS[source.han(at)] for at in range(place, end)])
    return None if value is None else (value, end)


def _value(figures: list[int]) -> int | None:
    """Return what figures amount to: 二零二三 is 2023, 二十三 is 23."""
    if 10 not in figures:
        # "Two three" is no number, but four figures are a year.
        return int("".join(map(str, figures))) if len(figures) in (1, 4) else None
    at = figures.index(10)
    if at > 1 or len(figures) - at > 2 or 10 in figures[at + 1 :]:
        return None
    tens = figures[0] if at else 1
    ones = figures[at + 1] if len(figures) > at + 1 else 0
    return tens * 10 + ones
