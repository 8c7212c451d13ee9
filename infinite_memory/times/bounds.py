"""The bounds that a time sets before and after it, and the range from one time to another."""

from __future__ import annotations

from datetime import datetime, timedelta

from infinite_memory.times.calendar import Calendar, Grain, Period
from infinite_memory.times.clock import TwelveHourTime, resolve_next_on_clock, spread_latest
from infinite_memory.times.recurring import (
    Cycle,
    Time,
    resolve_latest,
    resolve_latest_before,
    resolve_next,
)
from infinite_memory.times.tokenizer import Cursor, Doubt, Match

_LENGTHS = {Grain.MINUTE: timedelta(minutes=1), Grain.HOUR: timedelta(hours=1)}


def latest(time: Time, calendar: Calendar) -> Period:
    """Return the last occurrence that has begun; of a time in either half of the day, both."""
    if isinstance(time, TwelveHourTime):
        return spread_latest(time, calendar)
    return resolve_latest(time, calendar)


def first_after(period: Period) -> datetime | None:
    """Return the bound for "after" a period: for a time of the clock, its start."""
    return period.start if period.grain <= Grain.HOUR else period.end


def last_before(period: Period) -> datetime | None:
    """Return the bound for "before" a period, which may be in either half of the day."""
    return end_of_range(period) if period.grain <= Grain.HOUR else period.start


def end_of_range(period: Period) -> datetime | None:
    """Return the end of a range up to a period: of a time of the clock its start.

    Of a time in either half of the day it is the start of the later one.
    """
    if period.grain > Grain.HOUR:
        return period.end
    length = _LENGTHS.get(period.grain)
    if length is None or period.start is None or period.end is None:
        return period.start
    return max(period.start, period.end - length)


def bound_within_day(word: str, day: Period, hours: Period) -> Period | None:
    """Return the hours of `day` since, after, before or until `hours`, None if there are none."""
    if word in ("since", "after"):
        start, end = hours.start if word == "since" else first_after(hours), day.end
    else:
        start, end = day.start, last_before(hours) if word == "before" else end_of_range(hours)
    if start is None or end is None or end <= start:
        return None
    return Period(start, end, Grain.PART)


def is_ambiguous(time: Time) -> bool:
    """Return whether a time may be in the morning or in the afternoon, such as 8:30."""
    return isinstance(time, TwelveHourTime) and not time.clear


def _lacks_half_of_day(cursor: Cursor, first: Match, second: Match) -> bool:
    """Return whether both are times such as 8:30, and only the first has a part of the day."""
    first_token, second_token = cursor.at(first.end - 1), cursor.at(second.end - 1)
    if (
        first_token is None
        or second_token is None
        or not first_token.kind == second_token.kind == "clock"
    ):
        return False
    begin = resolve_latest(first.time, cursor.calendar).start
    is_moved = begin is not None and begin.hour == int(first_token.groups[0] or "0") + 12
    return is_moved and first_token.groups[3] is None and second_token.groups[3] is None


def move_to_same_half(cursor: Cursor, first: Match, second: Match) -> Match:
    """Return the second time in the afternoon of the first: 21:30 in 昨晚8:30到9:30."""
    begin, clock = resolve_latest(first.time, cursor.calendar).start, second.time
    if begin is None or not isinstance(clock, Cycle):
        return second
    if not _lacks_half_of_day(cursor, first, second):
        return second
    period = clock.at(begin.date())
    if clock.every is not Grain.DAY or begin.hour < 12 or period is None or period.start is None:
        return second
    if period.start.hour >= 12 or period.end is None:
        return second
    half = timedelta(hours=12)
    moved = Period(period.start + half, period.end + half, period.grain)
    return Match(moved, second.end, second.doubt)


def join_matches(cursor: Cursor, first: Match, second: Match) -> Match:
    """Return the range from the start of the first time to the end of the second.

    A second time that recurs means its next occurrence after the first.
    """
    calendar = cursor.calendar
    limit: datetime | None = None
    start_time: Time = first.time
    end_time: Time = second.time
    is_on_day = isinstance(start_time, Cycle) and start_time.every is Grain.DAY
    if is_on_day and isinstance(end_time, Cycle) and end_time.every is not Grain.DAY:
        end_time = resolve_latest(end_time, calendar)  # As in "from 9 to 11 on Thursday".
    if is_ambiguous(start_time):
        # "Three to five" may be at night or in the afternoon: up to the later five.
        begin = _spread_before(start_time, end_time, calendar)
        limit = end_of_range(begin)
    elif isinstance(start_time, Cycle) and isinstance(end_time, Period):
        end_time = _move_midnight_to_end(end_time) if start_time.grain < Grain.DAY else end_time
        begin = resolve_latest_before(start_time, calendar, _local_start(calendar, end_time))
    else:
        begin = resolve_latest(start_time, calendar)
        is_spread = begin.grain in _LENGTHS and begin.start != end_of_range(begin)
        limit = end_of_range(begin) if is_spread else None
    if isinstance(end_time, Cycle):
        limit = limit or _local_start(calendar, begin)
        if isinstance(end_time, TwelveHourTime) and (end_time.spoken or is_ambiguous(start_time)):
            # In "from nine to three", three is in the afternoon.
            end_time = resolve_next_on_clock(end_time, calendar, limit)
        else:
            end_time = resolve_next(end_time, calendar, limit, strictly=False)
    end = end_of_range(end_time)
    doubt = Doubt(max(min(first.doubt, second.doubt) - 1, 0))
    return Match(Period(begin.start, end), second.end, doubt)


def _spread_before(start: Time, end: Time, calendar: Calendar) -> Period:
    """Return the range of a start in either half of the day, before the end if that is known."""
    if not isinstance(start, TwelveHourTime) or not isinstance(end, Period):
        return latest(start, calendar)
    limit = _local_start(calendar, end)
    occurrences = [resolve_latest_before(half, calendar, limit) for half in start.halves]
    return max(occurrences, key=lambda period: period.start or limit)


def _move_midnight_to_end(period: Period) -> Period:
    """Return the midnight at the end of the day instead of its start: 10 pm to midnight."""
    start, end, day = period.start, period.end, timedelta(days=1)
    if period.grain is not Grain.HOUR or start is None or end is None or start.hour:
        return period
    return Period(start + day, end + day, period.grain)


def _local_start(calendar: Calendar, period: Period) -> datetime:
    start = period.start
    if start is None:
        raise ValueError("it has no beginning")
    return start if start.tzinfo is None else calendar.local(start)
