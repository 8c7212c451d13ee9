"""A single time, in either language, and the words that join it to a larger one."""

from __future__ import annotations

from attrs import evolve

from infinite_memory.times.calendar import Grain
from infinite_memory.times.chinese import chinese
from infinite_memory.times.clock_words import spoken
from infinite_memory.times.dates import digits
from infinite_memory.times.english import english, month_and_day
from infinite_memory.times.match import Doubt, Found, Source
from infinite_memory.times.spans import span

__all__ = ["atom", "inwards"]

_JOINING = frozenset({"of", "in", "on", "at", "the", ",", "@", "'s", "’s", "的", "在"})


def atom(source: Source, place: int) -> Found | None:
    """Return the single time that begins at `place`, None if none does.

    Raises:
        ValueError: there is no such day or time.
    """
    # A day before its month comes before a bare number.
    return (
        span(source, place)
        or english(source, place)
        or spoken(source, place)
        or _named_unit(source, place)
        or chinese(source, place)
        or digits(source, place)
    )


def inwards(source: Source, place: int) -> int:
    """Return the place after words such as "of the", which join a time to a larger one."""
    for _ in range(3):
        here = source.word(place), source.sign(place), source.han(place)
        if _JOINING.isdisjoint(here):
            break
        place += 1
    return place


def _named_unit(source: Source, place: int) -> Found | None:
    """Return what is in "the year 2024", "the 1990s" and "the month of March"."""
    begin = place + 1 if source.word(place) == "the" else place
    if (source.word(begin), source.word(begin + 1)) == ("month", "of"):
        month = month_and_day(source, begin + 2)
        named = month is not None and month.time.grain is Grain.MONTH
        return evolve(month, doubt=Doubt.NONE) if month is not None and named else None
    begin = begin + 1 if source.word(begin) == "year" else begin
    token = source.at(begin)
    if begin == place or token is None or token.kind not in ("number", "decade"):
        return None
    found = digits(source, begin)
    return None if found is None or found.time.grain < Grain.YEAR else found
