"""Numbers in English words: twenty-one, a couple of, the twenty-first."""

from __future__ import annotations

from infinite_memory.times.english_words import NUMBERS, ORDINALS
from infinite_memory.times.found import Source

__all__ = ["number_at", "ordinal_at"]


def number_at(source: Source, place: int) -> tuple[int, int] | None:
    """Return the number that begins at `place`, and the place after it."""
    token, word = source.at(place), source.word(place)
    if token is not None and token.kind == "number" and token.groups[1] is None:
        return int(token.groups[0] or "0"), place + 1
    if word in ("a", "an"):
        if source.word(place + 1) == "couple":
            return number_at(source, place + 1)
        if source.word(place + 1) == "hundred":
            return 100, place + 2
        return 1, place + 1
    if word == "couple":
        return 2, place + (2 if source.word(place + 1) == "of" else 1)
    if word in NUMBERS:
        tens, ones = NUMBERS[word], NUMBERS.get(source.word(place + 1), 10)
        if tens < 10 and source.word(place + 1) == "hundred":
            return 100 * tens, place + 2
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
