"""Vague times as the smallest range that holds every sensible meaning: recently, a few days ago."""

from __future__ import annotations

from datetime import datetime, timedelta

from infinite_memory.core.values.time_range import TimeRange
from infinite_memory.times.calendar import Calendar, Grain, Period
from infinite_memory.times.numbers import read_chinese_number, read_number
from infinite_memory.times.tokenizer import Cursor, Doubt, Match
from infinite_memory.times.words import COUNTED, UNITS, UNITS_ZH, VAGUE, VAGUE_ZH, Vague

FEW = (2, 7)
"""The least and the greatest number that "a few" may mean."""
COUPLE = (2, 3)
"""The least and the greatest number that "a couple" may mean."""

_FEW_WORDS = frozenset("few several some".split())
_FEW_ZH = frozenset({"几", "好几", "若干"})
_AROUND = frozenset("around roughly approximately circa".split())
_AROUND_ZH = frozenset({"大约", "大概", "差不多"})
_OR_SO = frozenset({"roughly", "approximately"})
_OR_SO_ZH = frozenset({"左右", "前后", "上下"})
_ALSO_BOUNDS = frozenset({"before", "earlier"})
_ENDINGS = frozenset(".?!。？！")
_PAST = frozenset({"last", "past", "previous"})
_STRETCHES = _PAST | {"next", "coming"}
_BEFORE_ZH = frozenset({"前", "之前", "以前"})
# 这十年 are ten years up to now; 这2024年 is no length of time.
_MOST_COUNTED = 99
_AFTER_ZH = frozenset({"后", "之后", "以后"})
_MEASURES = UNITS | COUNTED
_HOUR = timedelta(hours=1)
_MARGINS = {
    **dict.fromkeys((Grain.MOMENT, Grain.SECOND, Grain.MINUTE, Grain.HOUR, Grain.PART), _HOUR),
    **dict.fromkeys((Grain.DAY, Grain.WEEKEND), timedelta(days=3)),
    **dict.fromkeys((Grain.WEEK, Grain.FORTNIGHT), timedelta(days=7)),
    **{Grain.THIRD: timedelta(days=10), Grain.MONTH: timedelta(days=15)},
    **{Grain.QUARTER: timedelta(days=30), Grain.HALF: timedelta(days=60)},
    **{Grain.YEAR: timedelta(days=183), Grain.DECADE: timedelta(days=730)},
}
_SAME_TIME_MARGINS = {
    **{Grain.DAY: _HOUR, Grain.WEEK: timedelta(0), Grain.MONTH: timedelta(days=3)},
    Grain.YEAR: timedelta(days=8),
}
# Beside it, "about five years ago" may be a fifth of the distance away.
_SHARE_OF_DISTANCE = 5


def _skip_few(cursor: Cursor, position: int) -> int | None:
    """Return the position after "a few", "several" or 几, None if they do not begin there."""
    begin = position + 1 if cursor.word(position) in ("a", "the", "these", "those") else position
    if cursor.word(begin) in _FEW_WORDS:
        return begin + (2 if cursor.word(begin + 1) == "of" else 1)
    return position + 1 if cursor.han(position) in _FEW_ZH else None


def match_vague(cursor: Cursor, position: int) -> Match | None:
    """Return the vague time that begins at `position`, None if none does.

    A sentence that a time is to be found in may use such words for something else: they count only
    where the text is known to be a time.
    """
    if not cursor.lenient:
        return None
    for length in (4, 3, 2, 1):
        words = " ".join(cursor.word(position + number) for number in range(length))
        meaning = VAGUE.get(words)
        is_last = cursor.at(position + length) is None or cursor.sign(position + length) in _ENDINGS
        if meaning is not None and (is_last or words not in _ALSO_BOUNDS):
            return Match(_period_of(meaning, cursor.calendar), position + length)
    meaning = VAGUE_ZH.get(cursor.han(position))
    if meaning is not None:
        return Match(_period_of(meaning, cursor.calendar), position + 1)
    return (
        _match_other(cursor, position)
        or _match_former_zh(cursor, position)
        or _match_within_zh(cursor, position)
    )


def _period_of(meaning: Vague, calendar: Calendar) -> Period:
    """Return the period between two distances from now; None is without bound."""
    start, end = meaning
    return Period(
        None if start is None else _bound(calendar, *start),
        None if end is None else _bound(calendar, *end),
    )


def _bound(calendar: Calendar, grain: Grain, number: int) -> datetime | None:
    if number == 0:
        return calendar.clock if grain < Grain.DAY else calendar.unit(grain, 0).start
    if number > 0:
        return calendar.coming(grain, number).end
    return calendar.past(grain, -number).start


def _match_other(cursor: Cursor, position: int) -> Match | None:
    """Return the recent past in "the other day": some units back, up to the present unit."""
    begin = position + 1 if cursor.word(position) == "the" else position
    unit = cursor.word(begin + 1)
    grain = Grain.DAY if unit == "night" else UNITS.get(unit, (Grain.MOMENT, 0))[0]
    if cursor.word(begin) != "other" or grain < Grain.DAY or unit.endswith("s"):
        return None
    number = 14 if grain is Grain.DAY else FEW[1]
    start = cursor.calendar.past(grain, number).start
    return Match(Period(start, cursor.calendar.unit(grain, 0).start), begin + 2)


def _match_former_zh(cursor: Cursor, position: int) -> Match | None:
    """Return the last days up to today in 前几天, 这些天 and 这两天, or weeks in 前两周."""
    begin = _read_former_zh(cursor, position)
    if begin is None:
        return None
    count, after = begin
    after = after + 1 if cursor.han(after) == "个" else after
    grain = UNITS[UNITS_ZH[cursor.han(after)]][0] if cursor.han(after) in UNITS_ZH else None
    if grain is None:
        return None
    return Match(Period(cursor.calendar.past(grain, count).start, cursor.calendar.clock), after + 1)


def _read_former_zh(cursor: Cursor, position: int) -> tuple[int, int] | None:
    """Return how many units 前几, 近几, 这些 or 这两 mean, and the next position."""
    word = cursor.han(position)
    if word == "这些":
        return FEW[1], position + 1
    if word not in ("前", "这", "近", "最近"):
        return None
    few = _skip_few(cursor, position + 1)
    if few is not None:
        return FEW[1], few
    if word == "前" and cursor.han(position + 1) in ("两", "些"):
        return FEW[1] if cursor.han(position + 1) == "些" else 2, position + 2
    number = read_chinese_number(cursor, position + 1) if word == "这" else None
    return number if number is not None and 1 < number[0] <= _MOST_COUNTED else None


def _match_within_zh(cursor: Cursor, position: int) -> Match | None:
    """Return the length of time up to now in 一个月内 and 三天之内."""
    number = read_chinese_number(cursor, position)
    if number is None or not 1 <= number[0] <= _MOST_COUNTED:
        return None
    count, after = number
    is_counted = cursor.han(after) == "个"
    name = cursor.han(after + is_counted)
    if name not in UNITS_ZH or (name in ("月", "季", "日") and not is_counted):
        return None
    after += 1 + is_counted
    if cursor.han(after) not in ("内", "之内", "以内"):
        return None
    return Match(cursor.calendar.past(UNITS[UNITS_ZH[name]][0], count), after + 1)


def skip_approximation(cursor: Cursor, position: int) -> int:
    """Return the position after "around" or 大约, or `position` if they are not there.

    In a sentence, "about" may name its subject: it counts only before a distance.
    """
    word = cursor.word(position)
    if word == "about" and (cursor.lenient or _is_distance(cursor, position + 1)):
        return position + 1
    return position + 1 if word in _AROUND or cursor.han(position) in _AROUND_ZH else position


def _is_distance(cursor: Cursor, position: int) -> bool:
    return "ago" in (cursor.word(position + number) for number in (2, 3, 4))


def skip_or_so(cursor: Cursor, position: int) -> int:
    """Return the position after "or so", "approximately" or 左右, or `position`."""
    if (cursor.word(position), cursor.word(position + 1)) == ("or", "so"):
        return position + 2
    is_around = cursor.word(position) in _OR_SO or cursor.han(position) in _OR_SO_ZH
    return position + 1 if is_around and cursor.lenient else position


def approximate(period: Period, calendar: Calendar) -> Period:
    """Return a period with the margins that "around" adds on both sides."""
    start, end, margin = period.start, period.end, _MARGINS[period.grain]
    if start is not None and start.tzinfo is None and period.grain is Grain.YEAR:
        margin = max(margin, abs(calendar.clock - start) / _SHARE_OF_DISTANCE)
    return Period(
        None if start is None else start - margin,
        None if end is None else end + margin,
        period.grain,
    )


def same_time(period: Period, calendar: Calendar) -> Period | None:
    """Return "this time" in a past day, week, month or year: some days, or the hour."""
    margin = _SAME_TIME_MARGINS.get(period.grain)
    if margin is None or period.start is None:
        return None
    begins, now = calendar.unit(period.grain, 0).start or calendar.clock, calendar.clock
    start = period.start + (now - begins)
    if period.grain in (Grain.MONTH, Grain.YEAR):
        months = (now.year - period.start.year) * 12 + (now.month - period.start.month)
        number = months // 12 if period.grain is Grain.YEAR else months
        start = datetime.combine(calendar.away(period.grain, -number), now.time())
    if period.grain is Grain.DAY:
        return Period(start - margin, start + margin, Grain.PART)
    first = datetime.combine(start.date(), datetime.min.time())
    return Period(first - margin, first + margin + timedelta(days=1), Grain.FORTNIGHT)


def widen_moment(stretch: TimeRange, grain: Grain) -> TimeRange:
    """Return a time of that grain, if it is shorter than an hour, as the hour around it.

    A moment is remembered as a little earlier or later than it was. A range with two ends stays.
    """
    start, end = stretch.start, stretch.end
    if start is None or end is None or end - start >= _HOUR:
        return stretch
    if not Grain.MOMENT < grain <= Grain.HOUR:
        return stretch
    margin = (_HOUR - (end - start)) / 2
    try:
        return TimeRange(start - margin, end + margin)
    except OverflowError:
        return stretch  # The first or the last hour of all.


def _read_one_or_two(cursor: Cursor, position: int) -> tuple[int, int, Grain, int] | None:
    """Return the numbers, the unit and the next position of "a year or two"."""
    unit = UNITS.get(cursor.word(position + 1))
    words = cursor.word(position), cursor.word(position + 2), cursor.word(position + 3)
    if unit is None or words not in (("a", "or", "two"), ("an", "or", "two")):
        return None
    grain, length = unit
    return length, 2 * length, grain, position + 4


def _read_more_zh(cursor: Cursor, position: int) -> tuple[int, int, Grain, int] | None:
    """Return the numbers, the unit and the next position of 一个多月 and 三年多."""
    number = read_chinese_number(cursor, position)
    if number is None:
        return None
    count, after = number
    is_counted = cursor.han(after) == "个"
    after += is_counted
    is_more_before_unit = cursor.sign(after) == "多"
    after += is_more_before_unit
    name = UNITS_ZH.get(cursor.han(after))
    if name is None or not (is_more_before_unit or cursor.sign(after + 1) == "多"):
        return None
    # 十多年 are up to nineteen years.
    most = count + 9 if is_more_before_unit and not is_counted and count % 10 == 0 else count + 1
    return count, most, UNITS[name][0], after + (1 if is_more_before_unit else 2)


def _read_uncertain_number(cursor: Cursor, position: int) -> tuple[int, int, int] | None:
    """Return the least and the greatest number of "a few" and "two or three", and what is next."""
    tens = read_chinese_number(cursor, position)
    if tens is not None and tens[0] % 10 == 0 and cursor.han(tens[1]) == "几":
        after = _skip_few(cursor, tens[1])
        return None if after is None else (tens[0], tens[0] + 9, after)
    first = read_number(cursor, position)
    if first is not None and cursor.word(first[1] - 1) in ("couple", "of"):
        return *COUPLE, first[1]
    if first is not None and cursor.word(first[1]) in ("or", "to"):
        second = read_number(cursor, first[1] + 1)
        if second is not None and second[0] > first[0]:
            return first[0], second[0], second[1]
    after = _skip_few(cursor, position)
    return None if after is None else (*FEW, after)


def match_few(cursor: Cursor, position: int) -> Match | None:
    """Return the time at an uncertain distance: a few days ago, the last few weeks, 十几年前."""
    begin = position + 1 if cursor.word(position) == "the" else position
    word = cursor.word(begin)
    if word in _STRETCHES:
        measured = _read_few(cursor, begin + 1)
        if measured is None:
            return None
        _, most, grain, after = measured
        stretch = cursor.calendar.past if word in _PAST else cursor.calendar.coming
        return Match(stretch(grain, most), after)
    is_ahead = word == "in"
    measured = _read_few(cursor, position + 1 if is_ahead else position)
    if measured is None:
        return None
    least, most, grain, after = measured
    unit = cursor.calendar.unit
    if cursor.word(after) in ("ago", "back") or cursor.han(after) in _BEFORE_ZH:
        return Match(Period(unit(grain, -most).start, unit(grain, -least).end, grain), after + 1)
    if (cursor.word(after), cursor.word(after + 1)) == ("from", "now"):
        after += 2
    elif cursor.han(after) in _AFTER_ZH:
        after += 1
    elif not is_ahead:
        return None
    doubt = Doubt.COMPANY if is_ahead else Doubt.NONE
    return Match(Period(unit(grain, least).start, unit(grain, most).end, grain), after, doubt)


def _read_few(cursor: Cursor, position: int) -> tuple[int, int, Grain, int] | None:
    """Return the least and the greatest number, the unit, and the next position."""
    measured = _read_one_or_two(cursor, position) or _read_more_zh(cursor, position)
    if measured is not None:
        return measured
    number = _read_uncertain_number(cursor, position)
    if number is None:
        return None
    least, most, after = number
    grain, length = _MEASURES.get(cursor.word(after), (Grain.MOMENT, 0))
    if grain is Grain.MOMENT:
        after = after + 1 if cursor.han(after) == "个" else after
        name = UNITS_ZH.get(cursor.han(after))
        if name is None:
            return None
        grain, length = UNITS[name]
    return least * length, most * length, grain, after + 1
