"""The one moment that words of time mean, for what held "as of" them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from infinite_memory.errors import InvalidInput
from infinite_memory.model.timestamps import read_moment
from infinite_memory.times.calendar import WeekStart
from infinite_memory.times.parser import read_range

__all__ = ["read_as_of"]

_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*", re.ASCII | re.IGNORECASE)
_LAST = timedelta(microseconds=1)
_NOW = frozenset({"now", "right now", "现在"})


def read_as_of(
    words: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> datetime:
    """Return the moment in UTC that "as of" these words means.

    A date with a time of day is that moment. Any other time is its last microsecond: "March 2024"
    is the end of that month. One that `now` lies in is now.

    Raises:
        InvalidInput: they cannot be read, or begin after now and never end.
    """
    if isinstance(words, str) and _INSTANT.fullmatch(words.strip()):
        return read_moment(words, zone)
    if isinstance(words, str) and " ".join(words.split()).casefold() in _NOW:
        return now
    stretch = read_range(words, now=now, zone=zone, week_start=week_start).range
    begun = stretch.start is None or stretch.start <= now
    if stretch.end is not None and (stretch.end <= now or not begun):
        return stretch.end - _LAST
    if begun:
        return now
    raise InvalidInput(
        f"as_of {words!r:.100} begins after now and never ends: name a moment, such as"
        ' "last March" or "2024-03-31"'
    )
