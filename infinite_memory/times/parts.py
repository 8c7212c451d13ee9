"""Parts of a month, quarter or year: the end of March, the first week of June."""

from __future__ import annotations

from datetime import datetime, timedelta

from infinite_memory.times.atoms import atom, inwards
from infinite_memory.times.calendar import Grain, Period, days, months
from infinite_memory.times.chinese_words import UNITS as CHINESE_UNITS
from infinite_memory.times.chinese_words import WEEKDAYS as CHINESE_WEEKDAYS
from infinite_memory.times.english_words import MONTHS, ORDINALS, THIRDS, UNITS, WEEKDAYS
from infinite_memory.times.match import Found, Source
from infinite_memory.times.numbered import LAST, numbered
from infinite_memory.times.numbers import counted_number, number_at, ordinal_at
from infinite_memory.times.recurring import (
    Cycle,
    combined,
    day_of_month,
    day_of_year,
    latest,
    third,
    weekday,
    weekend,
)

__all__ = ["end_of", "numbered_after", "part", "whole"]


_OWNING = frozenset({"'s", "’s"})
_LENGTHS = {Grain.DAY: 1, Grain.WEEK: 7}
_OF_WEEK = {**dict.fromkeys(("of", "starting", "beginning", "commencing"), 0), "ending": 6}


def part(source: Source, place: int) -> Found | None:
    """Return the part of a longer time that begins at `place`, None if none does.

    Raises:
        ValueError: it has no such part.
    """
    return (
        _third(source, place)
        or _numbered(source, place)
        or _up_to_now(source, place)
        or _week_of(source, place)
    )


def _up_to_now(source: Source, place: int) -> Found | None:
    """Return what of a present unit is over, or left: earlier today, so far this year."""
    begin = place + 1 if source.word(place) == "the" else place
    word, calendar = source.word(begin), source.calendar
    two = word, source.word(begin + 1)
    if word in ("earlier", "later"):
        outer = _present(source, begin + 1)
    elif two in (("so", "far"), ("rest", "of")):
        outer = _present(source, begin + 2)
        outer = outer or (_this_unit(source, begin + 2) if word == "rest" else None)
    elif (source.word(begin + 1), source.word(begin + 2)) == ("to", "date") and word in UNITS:
        outer = Found(calendar.unit(UNITS[word][0], 0), begin + 3)
    else:
        outer = _present(source, begin)
        if outer is None or (source.word(outer.end), source.word(outer.end + 1)) != ("so", "far"):
            return None
        outer = Found(outer.time, outer.end + 2)
    if outer is None or not isinstance(outer.time, Period):
        return None
    start, end = outer.time.start, outer.time.end
    left = word in ("later", "rest")
    return Found(Period(calendar.clock, end) if left else Period(start, calendar.clock), outer.end)


def _present(source: Source, place: int) -> Found | None:
    word, unit = source.word(place), source.word(place + 1)
    if word == "today":
        return Found(source.calendar.unit(Grain.DAY, 0), place + 1)
    if word != "this" or unit not in UNITS or unit.endswith("s") or UNITS[unit][1] > 1:
        return None
    grain = UNITS[unit][0]
    return Found(source.calendar.unit(grain, 0), place + 2) if grain > Grain.DAY else None


def _week_of(source: Source, place: int) -> Found | None:
    """Return the calendar week of a day, or the week from or to it: the week of March 4."""
    begin = place + 1 if source.word(place) == "the" else place
    how = source.word(begin + 1)
    if source.word(begin) == "weekend" and how == "of":
        return _weekend_of(source, begin + 2)
    if source.word(begin) != "week" or how not in _OF_WEEK:
        return None
    day = whole(source, begin + 2)
    start = None if day is None else latest(day.time, source.calendar).start
    if day is None or day.time.grain is not Grain.DAY or start is None:
        return None
    first = start.date()
    if how == "of":
        first = source.calendar.week_of(first)
    return Found(days(first - timedelta(days=_OF_WEEK[how]), 7, Grain.WEEK), day.end)


def _weekend_of(source: Source, place: int) -> Found | None:
    """Return the weekend of the week that a day is in: the weekend of the 6th."""
    day = whole(source, place)
    start = None if day is None else latest(day.time, source.calendar).start
    if day is None or day.time.grain is not Grain.DAY or start is None:
        return None
    found = weekend(source.calendar).at(start.date())
    return None if found is None else Found(found, day.end)


def _numbered(source: Source, place: int) -> Found | None:
    """Return the first week of March, the last Friday of last month, the first of May."""
    begin = place + 1 if source.word(place) == "the" else place
    dated = _first_of_may(source, begin)
    number = _which(source, begin)
    if dated is not None or number is None:
        return dated
    several = _several(source, begin + 1, number)
    if several is not None:
        return several
    inner, after = _inner(source, begin + 1)
    if inner is None or source.word(after) not in ("of", "in"):
        return None
    outer = _this_unit(source, after + 1) or whole(source, after + 1)
    if outer is None:
        return None
    time = numbered(inner, number, outer.time, source.calendar)
    # "The first week of May" is the month, whatever "may" alone is.
    return None if time is None else Found(time, outer.end)


def _several(source: Source, place: int, which: int) -> Found | None:
    """Return the days in "the first 10 days of June" and "the last six months of 2025"."""
    number = number_at(source, place) if which in (1, LAST) else None
    if number is None or source.word(number[1] + 1) not in ("of", "in"):
        return None
    grain, length = UNITS.get(source.word(number[1]), (Grain.MOMENT, 0))
    outer = _this_unit(source, number[1] + 2) or whole(source, number[1] + 2)
    if grain not in {*_LENGTHS, Grain.MONTH} or outer is None or outer.time.grain <= grain:
        return None
    period = latest(outer.time, source.calendar)
    if period.start is None or period.end is None or period.start.tzinfo is not None:
        return None
    count = number[0] * length
    return Found(_outermost(period.start, period.end, grain, count, which), outer.end)


def _outermost(start: datetime, end: datetime, grain: Grain, count: int, which: int) -> Period:
    """Return the first or the last `count` days, weeks or months of a longer time."""
    if grain is Grain.MONTH:
        first, stop = start.year * 12 + start.month - 1, end.year * 12 + end.month - 1
        if 0 < count <= stop - first:
            return months(stop - count if which == LAST else first, count, Grain.HALF)
        raise ValueError("it has not so many of them")
    number = count * _LENGTHS[grain]
    if not 0 < number <= (end - start).days:
        raise ValueError("it has not so many of them")
    begin = end - timedelta(days=number) if which == LAST else start
    return days(begin.date(), number, Grain.FORTNIGHT)


def _which(source: Source, place: int) -> int | None:
    """Return the number in "second", "2nd" or "last"."""
    token, word = source.at(place), source.word(place)
    if word in ("last", "final"):
        return LAST
    if word in ORDINALS:
        return ORDINALS[word]
    if token is not None and token.kind == "number" and token.groups[1] is not None:
        return int(token.groups[0] or "0") or None
    return None


def _inner(source: Source, place: int) -> tuple[Grain | Cycle | None, int]:
    """Return the unit that is numbered, and the place after it."""
    word, calendar = source.word(place), source.calendar
    if word in WEEKDAYS:
        return weekday(WEEKDAYS[word], calendar), place + 1
    if word == "weekend":
        return weekend(calendar), place + 1
    if word == "half":
        return Grain.HALF, place + 1
    grain, length = UNITS.get(word, (Grain.MOMENT, 0))
    return (grain if length == 1 and not word.endswith("s") else None), place + 1


def _first_of_may(source: Source, place: int) -> Found | None:
    """Return the day in "the first of May", which has digits in "the 1st of May"."""
    named = ordinal_at(source, place)
    if named is None or source.word(named[1]) != "of":
        return None
    month = MONTHS.get(source.word(named[1] + 1))
    if month is not None:
        return Found(day_of_year(month, named[0]), named[1] + 2)
    outer = _this_unit(source, named[1] + 1) or whole(source, named[1] + 1)
    if outer is None or outer.time.grain is not Grain.MONTH or source.sign(outer.end) in _OWNING:
        return None
    time = combined(day_of_month(named[0]), outer.time, source.calendar)
    return None if time is None else Found(time, outer.end)


def numbered_after(source: Source, place: int, outer: Found) -> Found | None:
    """Return the part of `outer` that is named behind it, at `place`: 三月第一周."""
    which, number = source.han(place), counted_number(source, place + 1)
    if which not in ("第", "最后") or number is None or (which == "最后" and number[0] != 1):
        return None
    after = number[1] + 1 if source.han(number[1]) == "个" else number[1]
    word = source.han(after)
    inner: Grain | Cycle | None = None
    if word in CHINESE_WEEKDAYS:
        inner = weekday(CHINESE_WEEKDAYS[word], source.calendar)
    elif word == "周末":
        inner = weekend(source.calendar)
    elif word in CHINESE_UNITS:
        inner = UNITS[CHINESE_UNITS[word]][0]
    year = outer.time.grain is Grain.YEAR
    # 2024年第12周 is a week of ISO 8601.
    if inner is None or (year and which == "第" and inner is Grain.WEEK):
        return None
    count = LAST if which == "最后" else number[0]
    time = numbered(inner, count, outer.time, source.calendar) if count else None
    return None if time is None else Found(time, after + 1)


def _third(source: Source, place: int) -> Found | None:
    """Return the beginning, middle or end of a month or year: early March, end of last year."""
    begin = place + 1 if source.word(place) == "the" else place
    word = source.word(begin).removesuffix("-")
    if word not in THIRDS:
        return None
    after, noun = begin + 1, source.word(begin + 1) == "of"
    if noun != (word in ("beginning", "start", "middle", "end")):
        return None
    outer = _this_unit(source, after + 1) if noun else None
    outer = outer or whole(source, after + 1 if noun else after)
    time = None if outer is None else third(outer.time, THIRDS[word])
    return None if outer is None or time is None else Found(time, outer.end)


def end_of(source: Source, place: int) -> Found | None:
    """Return the moment at which a time ends, as in "until the end of March"."""
    begin = place + 1 if source.word(place) == "the" else place
    if (source.word(begin), source.word(begin + 1)) != ("end", "of"):
        return None
    outer = _this_unit(source, begin + 2) or whole(source, begin + 2)
    if outer is None:
        return None
    end = latest(outer.time, source.calendar).end
    return Found(Period(end, end), outer.end)


def whole(source: Source, place: int) -> Found | None:
    """Return a month or year, with its own year: last March, March 2024, 2024."""
    found = atom(source, place)
    if found is None:
        return None
    other = atom(source, inwards(source, found.end))
    if other is None or other.time.grain is not Grain.YEAR:
        return found
    time = combined(found.time, other.time, source.calendar)
    return found if time is None else Found(time, other.end)


def _this_unit(source: Source, place: int) -> Found | None:
    """Return the present year in "the end of the year"."""
    unit = UNITS.get(source.word(place + 1))
    if source.word(place) != "the" or unit is None or source.word(place + 1).endswith("s"):
        return None
    return Found(source.calendar.unit(unit[0], 0), place + 2)
