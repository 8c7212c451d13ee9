"""The days that a text names, read as somebody means them who plans: coming ones, where it is open.

`find_range` reads "November 27" as the last one, since a question asks for what has been. A memory
that names a day without a year mostly plans it: a day of the year may be sixty days past when the
memory was told, and is else the next one; a weekday is the next one; "every Thursday" is each. Two
weekdays, as in "moved from Tuesday to Thursday", tell of a habit, and the last is each as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from functools import cache, lru_cache

from attrs import evolve, frozen

from infinite_memory.times.calendar import Calendar, Grain, Period, WeekStart, calendar_at
from infinite_memory.times.chinese import COUNTED_THINGS
from infinite_memory.times.grammar import match_expression
from infinite_memory.times.recurring import Cycle, day_of_year, resolve_next
from infinite_memory.times.sentences import changes_meaning, translate
from infinite_memory.times.tokenizer import Cursor, Match, tokenize
from infinite_memory.times.translation import list_day_names
from infinite_memory.times.words import (
    DIGITS_ZH,
    MONTHS,
    UNITS_ZH,
    WEEKDAYS,
    WEEKDAYS_ZH,
    WORDS_ZH,
)
from infinite_memory.times.zones import move_to_zone, take_zone

_READ_CHARS = 600
_PAST = timedelta(days=60)
_LONGEST = timedelta(days=15)
_FIGURES = re.compile(r"(?<![\w.])(\d{1,2})\.\s?(\d{1,2})\.(?!\d)")
_FIGURE = re.compile(r"\d")
_YEAR = re.compile(r"\d{4}")
_EVERY = frozenset({"every", "each"})
_EVERY_ZH = re.compile(r"每[个個逢]?$")
_JOINTS_ZH = frozenset("、到至和与跟及")
_DEADLINE = frozenset({"by", "until", "till"})
# A text without any of these names no day, and is not read: reading it takes a millisecond.
_SIGN = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}\.\s?\d{1,2}\.|\d{1,2}/\d{1,2}|[日号周週天期拜]")
_WORD = re.compile(r"\w+")


@frozen(kw_only=True)
class NamedDay:
    """A time that a text names: from `start` up to but excluding `end`, in UTC.

    `span` is the half-open range of its characters, `is_timed` whether it has a time of the day,
    and `recurs` whether the text names each such day, as "every Thursday" does.
    """

    start: datetime
    end: datetime
    span: tuple[int, int]
    is_timed: bool
    recurs: bool = False


@lru_cache(maxsize=4096)
def find_days(
    text: str, *, told_at: datetime, since: datetime, zone: str | None, week_start: WeekStart | str
) -> tuple[NamedDay, ...]:
    """Return the days that `text`, told at `told_at`, names and that are not over at `since`.

    `since` matters to what recurs alone: of "every Thursday", the first day from then on.
    """
    if not _may_name_day(text[:_READ_CHARS]):
        return ()
    cursor = Cursor(tokenize(text[:_READ_CHARS]), calendar_at(told_at, zone, week_start))
    later = calendar_at(max(since, told_at), zone, week_start)
    cursor = next(iter(translate(cursor)), cursor)
    zone_beside: tzinfo | None = None
    with suppress(ValueError):
        cursor, zone_beside = take_zone(text, cursor)
    read = [*_read_days(text, cursor, later, zone_beside)]
    taken = {place for day in read for place in range(*day.span)}
    figures = [day for day in _read_figures(text, cursor.calendar) if day.span[0] not in taken]
    # Beside 27.11. the name of another weekday tells nothing.
    dated = {figure.span[0] for figure in figures}
    read = [day for day in read if dated.isdisjoint(range(day.span[1], day.span[1] + 4))]
    return tuple(day for day in (*read, *figures) if day.end > since)


def _may_name_day(text: str) -> bool:
    """Return whether a text has any sign or name of a day."""
    if _SIGN.search(text):
        return True
    names, first_words = _compile_names()
    # In ASCII letter case is simple, and a set of words is compared in a twentieth of the time.
    is_compared = text.isascii() and first_words.isdisjoint(_WORD.findall(text.lower()))
    return not is_compared and names.search(text) is not None


@cache
def _compile_names() -> tuple[re.Pattern[str], frozenset[str]]:
    """Return what finds any name of a day, and the first words of these names."""
    names = {*MONTHS, *WEEKDAYS, "today", "tomorrow", "tonight", "next", *list_day_names()}
    listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    firsts = frozenset(first[0].lower() for name in names if (first := _WORD.search(name)))
    return re.compile(rf"(?<!\w)(?:{listed})(?!\w)", re.IGNORECASE), firsts


def _read_days(
    text: str, cursor: Cursor, later: Calendar, zone: tzinfo | None
) -> Iterator[NamedDay]:
    habit = _find_habit(cursor)
    position = 0
    while position < len(cursor.tokens):
        day = None
        try:
            match = match_expression(cursor, position)
            if match is not None and habit is not None and position < habit < match.end:
                is_changed = changes_meaning(text, cursor, position, match)
                position = match.end if is_changed else habit
                continue
            if match is not None:
                day = _read_day(text, cursor, position, match, later, habit, zone)
        except (ValueError, OverflowError, OSError):  # 30 February
            match = None
        if day is not None:
            yield day
        position = position + 1 if match is None else match.end


def _read_figures(text: str, calendar: Calendar) -> Iterator[NamedDay]:
    """Yield the days that are written as 27.11. without a year."""
    for match in _FIGURES.finditer(text, 0, _READ_CHARS):
        with suppress(ValueError, OverflowError, OSError):
            day = _resolve_coming(day_of_year(int(match[2]), int(match[1])), calendar)
            named = calendar.range_of(day)
            if named.start is not None and named.end is not None:
                yield NamedDay(start=named.start, end=named.end, span=match.span(), is_timed=False)


def _find_habit(cursor: Cursor) -> int | None:
    """Return the position of the last weekday, None unless two are named."""
    named = [n for n in range(len(cursor.tokens)) if cursor.word(n) in WEEKDAYS]
    is_habit = len({WEEKDAYS[cursor.word(n)] for n in named}) > 1
    return named[-1] if is_habit else None


def _read_day(
    text: str,
    cursor: Cursor,
    position: int,
    match: Match,
    later: Calendar,
    habit: int | None,
    zone: tzinfo | None,
) -> NamedDay | None:
    """Return the day of a match, None if it is no day, or longer than a fortnight."""
    calendar = cursor.calendar
    span = cursor.tokens[position].start, cursor.tokens[match.end - 1].end
    led_by = cursor.word(position - 1)
    is_each = position == habit or led_by in _EVERY or _is_each_in_chinese(text, cursor, position)
    if not is_each and led_by not in _DEADLINE and changes_meaning(text, cursor, position, match):
        return None
    if isinstance(match.time, Cycle):
        is_other_weekday = match.time.every is Grain.WEEK and habit not in (None, position)
        if match.time.every is Grain.DAY or match.time.grain > Grain.WEEK or is_other_weekday:
            return None
        period = _resolve_coming(match.time, later if is_each else calendar)
    else:
        period = _move_to_next_year(match.time, text[slice(*span)], calendar)
    if period.end is None:
        return None
    # A deadline is the day that ends then.
    start = period.end - timedelta(microseconds=1) if period.start is None else period.start
    # "Today" and "this morning" tell a diary, and a date plans.
    is_diary = isinstance(match.time, Period) and not _FIGURE.search(text, *span)
    if period.end - start > _LONGEST or (is_diary and start <= calendar.clock):
        return None
    named = calendar.range_of(move_to_zone(evolve(period, start=start), zone))
    assert named.start is not None
    assert named.end is not None
    is_timed = period.start is not None and (start.hour, start.minute) != (0, 0)
    return NamedDay(start=named.start, end=named.end, span=span, is_timed=is_timed, recurs=is_each)


def _is_each_in_chinese(text: str, cursor: Cursor, position: int) -> bool:
    """Return whether 每 stands before a weekday: 每周一, not 每周一次, 每周一起 or 每周一、三."""
    weekday, after = cursor.han(position), cursor.at(position + 1)
    if weekday not in WEEKDAYS_ZH or not _EVERY_ZH.search(text[: cursor.tokens[position].start]):
        return False
    following = "" if after is None else after.value
    counted = weekday[-1] in DIGITS_ZH and (
        following in UNITS_ZH or following[:1] in COUNTED_THINGS | {*DIGITS_ZH, "个"}
    )
    return not (counted or following in _JOINTS_ZH or weekday[-1] + following in WORDS_ZH)


def _resolve_coming(time: Cycle, calendar: Calendar) -> Period:
    """Return the occurrence from today on, or of a day of the year from sixty days ago on."""
    back = _PAST if time.every is Grain.YEAR else timedelta(0)
    midnight = calendar.clock.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return resolve_next(time, calendar, midnight - back, strictly=False)


def _move_to_next_year(period: Period, words: str, calendar: Calendar) -> Period:
    """Return a period of the past year, named without the year, as that of the next year."""
    bound = period.end or period.start
    if bound is None or bound.tzinfo is not None or _YEAR.search(words):
        return period
    if bound > calendar.clock - _PAST:
        return period
    moved = [each and each.replace(year=each.year + 1) for each in (period.start, period.end)]
    return evolve(period, start=moved[0], end=moved[1])
