"""Parts of a month, quarter or year: the end of March, its second week, its last Friday."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from infinite_memory.times.atoms import match_atom, skip_joining_words
from infinite_memory.times.calendar import Calendar, Grain, Period, days, months
from infinite_memory.times.numbers import read_chinese_number, read_number, read_ordinal
from infinite_memory.times.recurring import (
    Cycle,
    Time,
    day_of_month,
    day_of_year,
    intersect,
    resolve_latest,
    third_of,
    weekday,
    weekend,
)
from infinite_memory.times.tokenizer import Cursor, Doubt, Match
from infinite_memory.times.words import (
    MONTHS,
    ORDINALS,
    THIRDS,
    UNITS,
    UNITS_ZH,
    WEEKDAYS,
    WEEKDAYS_ZH,
)

_OWNING = frozenset({"'s", "’s"})
TO_DATE = {"ytd": Grain.YEAR, "qtd": Grain.QUARTER, "mtd": Grain.MONTH}
"""Short names of what has passed of a period."""

_LENGTHS = {Grain.DAY: 1, Grain.WEEK: 7}
_OF_WEEK = {**dict.fromkeys(("of", "starting", "beginning", "commencing"), 0), "ending": 6}


_LAST = -1
_WHOLES = frozenset({Grain.MONTH, Grain.QUARTER, Grain.HALF, Grain.YEAR, Grain.DECADE})
_MONTHS = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.HALF: 6, Grain.YEAR: 12}


def match_part(cursor: Cursor, position: int) -> Match | None:
    """Return the part of a longer time that begins at `position`, or None.

    Raises:
        ValueError: the longer time has no such part.
    """
    return (
        _match_third(cursor, position)
        or _match_numbered_part(cursor, position)
        or _match_up_to_now(cursor, position)
        or _match_week_of(cursor, position)
    )


def _match_up_to_now(cursor: Cursor, position: int) -> Match | None:
    """Return the past or coming part of a present unit: earlier today, so far this year."""
    begin = position + 1 if cursor.word(position) == "the" else position
    word, calendar = cursor.word(begin), cursor.calendar
    two_words = word, cursor.word(begin + 1)
    if word in ("earlier", "later"):
        outer = _match_present(cursor, begin + 1)
    elif two_words in (("so", "far"), ("rest", "of")):
        outer = _match_present(cursor, begin + 2)
        outer = outer or (_match_present_unit(cursor, begin + 2) if word == "rest" else None)
    elif (cursor.word(begin + 1), cursor.word(begin + 2)) == ("to", "date") and word in UNITS:
        outer = Match(calendar.unit(UNITS[word][0], 0), begin + 3)
    elif word in TO_DATE:
        outer = Match(calendar.unit(TO_DATE[word], 0), begin + 1)
    else:
        outer = _match_present(cursor, begin)
        if outer is None or (cursor.word(outer.end), cursor.word(outer.end + 1)) != ("so", "far"):
            return None
        outer = Match(outer.time, outer.end + 2)
    if outer is None or not isinstance(outer.time, Period):
        return None
    start, end = outer.time.start, outer.time.end
    is_left = word in ("later", "rest")
    return Match(
        Period(calendar.clock, end) if is_left else Period(start, calendar.clock), outer.end
    )


def _match_present(cursor: Cursor, position: int) -> Match | None:
    word, unit = cursor.word(position), cursor.word(position + 1)
    if word == "today":
        return Match(cursor.calendar.unit(Grain.DAY, 0), position + 1)
    if word != "this" or unit not in UNITS or unit.endswith("s") or UNITS[unit][1] > 1:
        return None
    grain = UNITS[unit][0]
    return Match(cursor.calendar.unit(grain, 0), position + 2) if grain > Grain.DAY else None


def _match_week_of(cursor: Cursor, position: int) -> Match | None:
    """Return the week of a day, or the seven days from or to it: the week of March 4."""
    begin = position + 1 if cursor.word(position) == "the" else position
    joint = cursor.word(begin + 1)
    if cursor.word(begin) == "weekend" and joint == "of":
        return _match_weekend_of(cursor, begin + 2)
    if cursor.word(begin) != "week" or joint not in _OF_WEEK:
        return None
    day = _match_whole(cursor, begin + 2)
    start = None if day is None else resolve_latest(day.time, cursor.calendar).start
    if day is None or day.time.grain is not Grain.DAY or start is None:
        return None
    first = start.date()
    if joint == "of":
        first = cursor.calendar.week_of(first)
    return Match(days(first - timedelta(days=_OF_WEEK[joint]), 7, Grain.WEEK), day.end)


def _match_weekend_of(cursor: Cursor, position: int) -> Match | None:
    """Return the weekend in the week of a day: the weekend of the 6th."""
    day = _match_whole(cursor, position)
    start = None if day is None else resolve_latest(day.time, cursor.calendar).start
    if day is None or day.time.grain is not Grain.DAY or start is None:
        return None
    period = weekend(cursor.calendar).at(start.date())
    return None if period is None else Match(period, day.end)


def _match_numbered_part(cursor: Cursor, position: int) -> Match | None:
    """Return a part by its number: the first week of March, the last Friday of last month."""
    begin = position + 1 if cursor.word(position) == "the" else position
    day = _match_day_of_month(cursor, begin)
    number = _read_ordinal_or_last(cursor, begin)
    if day is not None or number is None:
        return day
    units = _match_several(cursor, begin + 1, number)
    if units is not None:
        return units
    inner, after = _read_unit(cursor, begin + 1)
    if inner is None or cursor.word(after) not in ("of", "in"):
        return None
    outer = _match_present_unit(cursor, after + 1) or _match_whole(cursor, after + 1)
    if outer is None:
        return None
    time = select_part(inner, number, outer.time, cursor.calendar)
    # No doubt: in "the first week of May" the month is sure, unlike in "may" alone.
    return None if time is None else Match(time, outer.end)


def _match_several(cursor: Cursor, position: int, which: int) -> Match | None:
    """Return the days in "the first 10 days of June" and "the last six months of 2025"."""
    number = read_number(cursor, position) if which in (1, _LAST) else None
    if number is None or cursor.word(number[1] + 1) not in ("of", "in"):
        return None
    grain, length = UNITS.get(cursor.word(number[1]), (Grain.MOMENT, 0))
    outer = _match_present_unit(cursor, number[1] + 2) or _match_whole(cursor, number[1] + 2)
    if grain not in {*_LENGTHS, Grain.MONTH} or outer is None or outer.time.grain <= grain:
        return None
    period = resolve_latest(outer.time, cursor.calendar)
    if period.start is None or period.end is None or period.start.tzinfo is not None:
        return None
    count = number[0] * length
    return Match(_first_or_last(period.start, period.end, grain, count, which), outer.end)


def _first_or_last(start: datetime, end: datetime, grain: Grain, count: int, which: int) -> Period:
    """Return the first or the last `count` days, weeks or months of a longer time."""
    if grain is Grain.MONTH:
        first, stop = start.year * 12 + start.month - 1, end.year * 12 + end.month - 1
        if 0 < count <= stop - first:
            return months(stop - count if which == _LAST else first, count, Grain.HALF)
        raise ValueError("it does not have that many")
    number = count * _LENGTHS[grain]
    if not 0 < number <= (end - start).days:
        raise ValueError("it does not have that many")
    begin = end - timedelta(days=number) if which == _LAST else start
    return days(begin.date(), number, Grain.FORTNIGHT)


def _read_ordinal_or_last(cursor: Cursor, position: int) -> int | None:
    """Return the number of "second", "2nd" or "last"."""
    token, word = cursor.at(position), cursor.word(position)
    if word in ("last", "final"):
        return _LAST
    if word in ORDINALS:
        return ORDINALS[word]
    if token is not None and token.kind == "number" and token.groups[1] is not None:
        return int(token.groups[0] or "0") or None
    return None


def _read_unit(cursor: Cursor, position: int) -> tuple[Grain | Cycle | None, int]:
    """Return the unit or recurring time at `position`, and the next position."""
    word, calendar = cursor.word(position), cursor.calendar
    if word in WEEKDAYS:
        return weekday(WEEKDAYS[word], calendar), position + 1
    if word == "weekend":
        return weekend(calendar), position + 1
    if word == "half":
        return Grain.HALF, position + 1
    grain, length = UNITS.get(word, (Grain.MOMENT, 0))
    return (grain if length == 1 and not word.endswith("s") else None), position + 1


def _match_day_of_month(cursor: Cursor, position: int) -> Match | None:
    """Return the day in "the first of May" or "the 1st of May"."""
    named = read_ordinal(cursor, position)
    if named is None or cursor.word(named[1]) != "of":
        return None
    month = MONTHS.get(cursor.word(named[1] + 1))
    if month is not None:
        return Match(day_of_year(month, named[0]), named[1] + 2)
    outer = _match_present_unit(cursor, named[1] + 1) or _match_whole(cursor, named[1] + 1)
    if outer is None or outer.time.grain is not Grain.MONTH or cursor.sign(outer.end) in _OWNING:
        return None
    time = intersect(day_of_month(named[0]), outer.time, cursor.calendar)
    return None if time is None else Match(time, outer.end)


def match_part_after(cursor: Cursor, position: int, outer: Match) -> Match | None:
    """Return the part of `outer` that follows it at `position`: 三月第一周."""
    which, number = cursor.han(position), read_chinese_number(cursor, position + 1)
    if which not in ("第", "最后") or number is None or (which == "最后" and number[0] != 1):
        return None
    after = number[1] + 1 if cursor.han(number[1]) == "个" else number[1]
    word = cursor.han(after)
    inner: Grain | Cycle | None = None
    if word in WEEKDAYS_ZH:
        inner = weekday(WEEKDAYS_ZH[word], cursor.calendar)
    elif word == "周末":
        inner = weekend(cursor.calendar)
    elif word in UNITS_ZH:
        inner = UNITS[UNITS_ZH[word]][0]
    year = outer.time.grain is Grain.YEAR
    # 2024年第12周 is a week of ISO 8601.
    if inner is None or (year and which == "第" and inner is Grain.WEEK):
        return None
    count = _LAST if which == "最后" else number[0]
    time = select_part(inner, count, outer.time, cursor.calendar) if count else None
    return None if time is None else Match(time, after + 1)


def _match_third(cursor: Cursor, position: int) -> Match | None:
    """Return the beginning, middle or end of a month or year: early March, end of 2024."""
    begin = position + 1 if cursor.word(position) == "the" else position
    word = cursor.word(begin).removesuffix("-")
    if word not in THIRDS:
        return None
    after, has_of = begin + 1, cursor.word(begin + 1) == "of"
    if word in ("early", "late") and cursor.word(after) in ("in", "on"):
        after += 2 if cursor.word(after + 1) == "the" else 1
    if has_of != (word in ("beginning", "start", "middle", "end")):
        return None
    outer = _match_present_unit(cursor, after + 1) if has_of else None
    outer = outer or _match_whole(cursor, after + 1 if has_of else after)
    if outer is not None and outer.time.grain is Grain.DAY and not has_of:
        outer = _match_part_of_day(cursor, outer) or outer
    time = None if outer is None else third_of(outer.time, THIRDS[word])
    if outer is None or time is None:
        return None
    # "Late night" may describe a thing, "early March" is a time.
    doubt = outer.doubt if time.grain <= Grain.PART else Doubt.NONE
    return Match(time, outer.end, doubt)


def _match_part_of_day(cursor: Cursor, day: Match) -> Match | None:
    """Return the part of a day that follows it: the morning in "early yesterday morning"."""
    part = match_atom(cursor, day.end)
    if part is None or part.time.grain is not Grain.PART:
        return None
    time = intersect(part.time, day.time, cursor.calendar)
    return None if time is None else Match(time, part.end, day.doubt)


def match_end_of(cursor: Cursor, position: int) -> Match | None:
    """Return the end of a time as a moment, as in "until the end of March"."""
    begin = position + 1 if cursor.word(position) == "the" else position
    if (cursor.word(begin), cursor.word(begin + 1)) != ("end", "of"):
        return None
    outer = _match_present_unit(cursor, begin + 2) or _match_whole(cursor, begin + 2)
    if outer is None:
        return None
    end = resolve_latest(outer.time, cursor.calendar).end
    return Match(Period(end, end), outer.end)


def _match_whole(cursor: Cursor, position: int) -> Match | None:
    """Return a time together with a year after it: last March, March 2024, 2024."""
    match = match_atom(cursor, position)
    if match is None:
        return None
    year = match_atom(cursor, skip_joining_words(cursor, match.end))
    if year is None or year.time.grain is not Grain.YEAR:
        return match
    time = intersect(match.time, year.time, cursor.calendar)
    return match if time is None else Match(time, year.end)


def _match_present_unit(cursor: Cursor, position: int) -> Match | None:
    """Return the present unit of "the year", as in "the end of the year"."""
    unit = UNITS.get(cursor.word(position + 1))
    if cursor.word(position) != "the" or unit is None or cursor.word(position + 1).endswith("s"):
        return None
    return Match(cursor.calendar.unit(unit[0], 0), position + 2)


def select_part(inner: Grain | Cycle, number: int, outer: Time, calendar: Calendar) -> Time | None:
    """Return a unit, a day of the week or a weekend by its number within a longer time.

    `number` counts from 1; `_LAST` is the last. The weeks of a month are its days 1 to 7, 8 to 14
    and so on; its last week is its last seven days. The first half of a month ends with its 15th
    day. None if the longer time is not divided into such units.

    Raises:
        ValueError: the longer time has fewer of them.
    """
    if not _can_contain(inner, outer.grain):
        return None
    if isinstance(outer, Period):
        return _select_in_period(inner, number, outer, calendar)
    at = outer.at

    def inside(day: date) -> Period | None:
        whole = at(day)
        return None if whole is None else _select_in_period(inner, number, whole, calendar)

    grain = inner if isinstance(inner, Grain) else inner.grain
    return Cycle(grain, outer.every, inside)


def _can_contain(inner: Grain | Cycle, outer: Grain) -> bool:
    if isinstance(inner, Cycle) or inner in (Grain.DAY, Grain.WEEK):
        return outer in _WHOLES
    if inner is Grain.HALF and outer is Grain.MONTH:
        return True
    return inner in _MONTHS and outer in _WHOLES and inner < outer


def _select_in_period(
    inner: Grain | Cycle, number: int, outer: Period, calendar: Calendar
) -> Period | None:
    if outer.start is None or outer.end is None or outer.start.tzinfo is not None:
        return None
    first, end = outer.start.date(), outer.end.date()
    if isinstance(inner, Cycle):
        selected = _select_occurrence(inner, number, outer, calendar)
    elif inner is Grain.HALF and outer.grain is Grain.MONTH:
        selected = _select_half_of_month(first, end, number)
    elif inner in (Grain.DAY, Grain.WEEK):
        selected = _select_days(first, end, number, 1 if inner is Grain.DAY else 7, inner)
    else:
        selected = _select_months(first, end, number, inner)
    if selected is None:
        raise ValueError("it does not have that many")
    return selected


def _select_days(first: date, end: date, number: int, length: int, grain: Grain) -> Period | None:
    start = end - timedelta(days=length)
    if number != _LAST:
        start = first + (number - 1) * timedelta(days=length)
    if start >= end:
        return None
    return days(start, min(length, (end - start).days), grain)


def _select_half_of_month(first: date, end: date, number: int) -> Period | None:
    if number == 1:
        return days(first, 15, Grain.HALF)
    start = first + timedelta(days=15)
    return days(start, (end - start).days, Grain.HALF) if number in (2, _LAST) else None


def _select_months(first: date, end: date, number: int, grain: Grain) -> Period | None:
    length = _MONTHS[grain]
    begin, stop = first.year * 12 + first.month - 1, end.year * 12 + end.month - 1
    start = stop - length if number == _LAST else begin + (number - 1) * length
    return months(start, length, grain) if start + length <= stop else None


def _select_occurrence(
    inner: Cycle, number: int, outer: Period, calendar: Calendar
) -> Period | None:
    """Return the occurrence with that number among the occurrences that begin in `outer`."""
    start, end = outer.start, outer.end
    if start is None or end is None:
        return None
    occurrences: list[Period] = []
    day = start.date() - timedelta(days=7)
    while day < end.date() + timedelta(days=7):
        occurrence = inner.at(calendar.week_of(day))
        if (
            occurrence is not None
            and occurrence.start is not None
            and start <= occurrence.start < end
        ):
            occurrences.append(occurrence)
        day += timedelta(days=7)
    if number == _LAST:
        return occurrences[-1] if occurrences else None
    return occurrences[number - 1] if number <= len(occurrences) else None
