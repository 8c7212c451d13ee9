"""The days that a text names, read as somebody means them who plans: coming ones, where it is open.

`find_range` reads "November 27" as the last one, since a question asks for what has been. A memory
that names a day without a year mostly plans it: a day of the year may be sixty days past when the
memory was told, and is else the next one; a weekday is the next one; "every Thursday" is each. Two weekdays, as in
"moved from Tuesday to Thursday", tell of a habit, and the last of them is each as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache, lru_cache

from attrs import evolve, frozen

from infinite_memory.times.calendar import Calendar, Grain, Period, WeekStart, calendar_at
from infinite_memory.times.grammar import match_expression
from infinite_memory.times.recurring import Cycle, resolve_next
from infinite_memory.times.sentences import changes_meaning, translate
from infinite_memory.times.tokenizer import Cursor, Match, tokenize
from infinite_memory.times.words import MONTHS, WEEKDAYS

_READ_CHARS = 600
_PAST = timedelta(days=60)
_LONGEST = timedelta(days=15)
_YEAR = re.compile(r"\d{4}")
_EVERY = frozenset({"every", "each"})
_DEADLINE = frozenset({"by", "until", "till"})
# A text without any of these names no day, and is not read: reading it takes a millisecond.
_SIGNS = r"\d{4}-\d\d-\d\d|\d{1,2}\.\s?\d{1,2}\.|\d{1,2}/\d{1,2}|[日号周天期]"


@frozen(kw_only=True)
class NamedDay:
    """A time that a text names: from `start` up to but excluding `end`, in UTC.

    `span` is the half-open range of its characters, `is_timed` whether it has a time of the day.
    """

    start: datetime
    end: datetime
    span: tuple[int, int]
    is_timed: bool


@lru_cache(maxsize=4096)
def find_days(
    text: str, *, told_at: datetime, since: datetime, zone: str | None, week_start: WeekStart | str
) -> tuple[NamedDay, ...]:
    """Return the days that `text`, told at `told_at`, names and that are not over at `since`.

    `since` matters to what recurs alone: of "every Thursday", the first day from then on.
    """
    if not _compile_names().search(text[:_READ_CHARS]):
        return ()
    cursor = Cursor(tokenize(text[:_READ_CHARS]), calendar_at(told_at, zone, week_start))
    later = calendar_at(max(since, told_at), zone, week_start)
    found = [
        found
        for each in translate(cursor)[:1] or [cursor]
        for found in _read_days(text, each, later)
    ]
    return tuple(day for day in found if day.end > since)


@cache
def _compile_names() -> re.Pattern[str]:
    # Loaded late, as everything that reads the words of other languages.
    from infinite_memory.times.translation import list_day_names  # noqa: PLC0415

    names = {*MONTHS, *WEEKDAYS, "today", "tomorrow", "tonight", "next", *list_day_names()}
    listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"{_SIGNS}|(?<!\w)(?:{listed})(?!\w)", re.IGNORECASE)


def _read_days(text: str, cursor: Cursor, later: Calendar) -> Iterator[NamedDay]:
    habit = _find_habit(cursor)
    position = 0
    while position < len(cursor.tokens):
        try:
            match = match_expression(cursor, position)
            if match is not None and habit is not None and position < habit < match.end:
                position = habit if not changes_meaning(text, cursor, position, match) else match.end
                continue
            day = match and _read_day(text, cursor, position, match, later, habit)
        except (ValueError, OverflowError, OSError):  # 30 February
            match = day = None
        if day is not None:
            yield day
        position = position + 1 if match is None else match.end


def _find_habit(cursor: Cursor) -> int | None:
    """Return the position of the last weekday, None unless two are named."""
    named = [n for n in range(len(cursor.tokens)) if cursor.word(n) in WEEKDAYS]
    is_habit = len({WEEKDAYS[cursor.word(n)] for n in named}) > 1
    return named[-1] if is_habit else None


def _read_day(
    text: str, cursor: Cursor, position: int, match: Match, later: Calendar, habit: int | None
) -> NamedDay | None:
    """Return the day of a match, None if it is no day, or vaguer than a fortnight."""
    calendar = cursor.calendar
    span = cursor.tokens[position].start, cursor.tokens[match.end - 1].end
    is_each = position == habit or cursor.word(position - 1) in _EVERY
    is_deadline = cursor.word(position - 1) in _DEADLINE
    if not (is_each or is_deadline) and changes_meaning(text, cursor, position, match):
        return None
    time, period = match.time, None
    if isinstance(time, Cycle):
        if time.every is Grain.DAY or time.grain > Grain.WEEK:
            return None
        if time.every is Grain.WEEK and habit not in (None, position):
            return None
        start = calendar.clock - _PAST if time.every is Grain.YEAR else calendar.today
        limit = datetime.combine(later.today if is_each else start, datetime.min.time())
        period = resolve_next(time, calendar, limit, strictly=False)
    else:
        period = _move_to_next_year(time, text[slice(*span)], calendar)
    end = period.end
    start = period.start if period.start is not None else end and end - timedelta(microseconds=1)
    if start is None or end is None or end - start > _LONGEST:
        return None
    if period.grain >= Grain.DAY and start <= calendar.clock < end and period.start is not None:
        return None
    is_timed = period.start is not None and (start.hour, start.minute) != (0, 0)
    named = calendar.range_of(evolve(period, start=start, end=end))
    if named.start is None or named.end is None:
        return None
    return NamedDay(start=named.start, end=named.end, span=span, is_timed=is_timed)


def _move_to_next_year(period: Period, words: str, calendar: Calendar) -> Period:
    """Return a period of the past year, named without the year, as that of the next year."""
    bound = period.end or period.start
    if bound is None or bound.tzinfo is not None or _YEAR.search(words):
        return period
    if bound > calendar.clock - _PAST:
        return period
    moved = [each and each.replace(year=each.year + 1) for each in (period.start, period.end)]
    return evolve(period, start=moved[0], end=moved[1])
