"""Units of a month, quarter or year by their number: its second week, its last Friday."""

from __future__ import annotations

from datetime import date, timedelta

from infinite_memory.times.calendar import Calendar, Grain, Period, days, months
from infinite_memory.times.recurring import Cycle, Time

__all__ = ["LAST", "numbered"]

LAST = -1
_WHOLES = frozenset({Grain.MONTH, Grain.QUARTER, Grain.HALF, Grain.YEAR, Grain.DECADE})
_MONTHS = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.HALF: 6, Grain.YEAR: 12}


def numbered(inner: Grain | Cycle, number: int, outer: Time, calendar: Calendar) -> Time | None:
    """Return a unit, or a day of the week or weekend, by its number within a longer time.

    `number` counts from 1; `LAST` is the last. Weeks of a month are its days 1 to 7, 8 to 14 and so
    on, and its last seven days; a half of it ends with its 15th day, or with its last. None where
    the two do not go together.

    Raises:
        ValueError: there are not so many.
    """
    if not _go_together(inner, outer.grain):
        return None
    if isinstance(outer, Period):
        return _in_period(inner, number, outer, calendar)
    at = outer.at

    def inside(day: date) -> Period | None:
        whole = at(day)
        return None if whole is None else _in_period(inner, number, whole, calendar)

    grain = inner if isinstance(inner, Grain) else inner.grain
    return Cycle(grain, outer.every, inside)


def _go_together(inner: Grain | Cycle, outer: Grain) -> bool:
    if isinstance(inner, Cycle) or inner in (Grain.DAY, Grain.WEEK):
        return outer in _WHOLES
    if inner is Grain.HALF and outer is Grain.MONTH:
        return True
    return inner in _MONTHS and outer in _WHOLES and inner < outer


def _in_period(
    inner: Grain | Cycle, number: int, outer: Period, calendar: Calendar
) -> Period | None:
    if outer.start is None or outer.end is None or outer.start.tzinfo is not None:
        return None
    first, end = outer.start.date(), outer.end.date()
    if isinstance(inner, Cycle):
        found = _occurrence(inner, number, outer, calendar)
    elif inner is Grain.HALF and outer.grain is Grain.MONTH:
        found = _half_of_month(first, end, number)
    elif inner in (Grain.DAY, Grain.WEEK):
        found = _days(first, end, number, 1 if inner is Grain.DAY else 7, inner)
    else:
        found = _months(first, end, number, inner)
    if found is None:
        raise ValueError("it has not so many of them")
    return found


def _days(first: date, end: date, number: int, length: int, grain: Grain) -> Period | None:
    start = end - timedelta(days=length)
    if number != LAST:
        start = first + (number - 1) * timedelta(days=length)
    if start >= end:
        return None
    return days(start, min(length, (end - start).days), grain)


def _half_of_month(first: date, end: date, number: int) -> Period | None:
    if number == 1:
        return days(first, 15, Grain.HALF)
    start = first + timedelta(days=15)
    return days(start, (end - start).days, Grain.HALF) if number in (2, LAST) else None


def _months(first: date, end: date, number: int, grain: Grain) -> Period | None:
    length = _MONTHS[grain]
    begin, stop = first.year * 12 + first.month - 1, end.year * 12 + end.month - 1
    start = stop - length if number == LAST else begin + (number - 1) * length
    return months(start, length, grain) if start + length <= stop else None


def _occurrence(inner: Cycle, number: int, outer: Period, calendar: Calendar) -> Period | None:
    """Return the one of that number of those that begin within `outer`."""
    start, end = outer.start, outer.end
    if start is None or end is None:
        return None
    found: list[Period] = []
    day = start.date() - timedelta(days=7)
    while day < end.date() + timedelta(days=7):
        one = inner.at(calendar.week_of(day))
        if one is not None and one.start is not None and start <= one.start < end:
            found.append(one)
        day += timedelta(days=7)
    if number == LAST:
        return found[-1] if found else None
    return found[number - 1] if number <= len(found) else None
