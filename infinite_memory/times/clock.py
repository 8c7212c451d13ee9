"""Times of the clock: quarter past nine, ten o'clock, 9 this morning, 2 to 4 pm."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

from attrs import frozen

from infinite_memory.times.calendar import Calendar, Grain, Period
from infinite_memory.times.english import match_english
from infinite_memory.times.numbers import read_number
from infinite_memory.times.recurring import (
    Cycle,
    Time,
    clock_time,
    intersect,
    part_of_day,
    resolve_latest,
    resolve_next,
)
from infinite_memory.times.tokenizer import Cursor, Doubt, Match
from infinite_memory.times.words import NUMBERS

# Without a part of the day, a time may be in either half of it, and means the range that holds
# both. As an end of a range, 7:00 to 12:00 are taken for the morning and for noon.
_FIRST_CLEAR = 7
# Beside a time of the clock a morning (5 to 12) begins at midnight and an evening (18 to 24) at
# 16:00, as in "three in the morning".
_EARLIER_STARTS = {(5, 12): 0, (18, 0): 16}

_PAST = frozenset({"past", "after"})
_TO = frozenset({"to", "till", "til"})
_JOINTS = _TO | {"until", "and"}
_MINUTES = frozenset({"minute", "minutes", "min", "mins"})
_BOUNDS = frozenset("since before after until till from between and to around about by".split())
_RANGE_JOINTS = frozenset({"to", "through", "thru", "-", "–", "—", "到", "至"})
_OTHER_HALF = {"a": "p", "p": "a"}
_BETWEEN = frozenset({"in", "the", "on", "at"})
_Clock = tuple[str | None, ...]


@frozen
class TwelveHourTime(Cycle):
    """A time of a clock that shows twelve hours; a part of the day may move it by twelve hours.

    `later` is the time twelve hours later. `clear` says that the time may begin a range without a
    part of the day. `spoken` says that it was written in words, not in digits.
    """

    later: Callable[[date], Period | None]
    clear: bool
    spoken: bool

    @property
    def halves(self) -> tuple[Cycle, Cycle]:
        """The time in its own half of the day, and twelve hours later or earlier."""
        return (
            Cycle(self.grain, self.every, self.at),
            Cycle(self.grain, self.every, self.later),
        )


def twelve_hour_time(
    hour: int, minute: int | None, *, clear: bool | None = None, spoken: bool
) -> TwelveHourTime:
    """Return the time that a clock of twelve hours shows; `hour` is 1 to 12.

    Without `clear`, the hours from seven to twelve are clear.
    """
    early, late = clock_time(hour % 12, minute), clock_time(hour % 12 + 12, minute)
    first, second = (late, early) if hour == 12 else (early, late)
    is_clear = hour >= _FIRST_CLEAR if clear is None else clear
    return TwelveHourTime(first.grain, first.every, first.at, second.at, is_clear, spoken)


def combine(first: Time, second: Time, calendar: Calendar) -> Time | None:
    """Return the finer time within the coarser time, None unless it occurs there exactly once.

    Half past nine is 21:30 within an evening.
    """
    fine, coarse = (first, second) if first.grain < second.grain else (second, first)
    if not isinstance(fine, Cycle) or fine.grain >= Grain.PART:
        return intersect(first, second, calendar)
    if coarse.grain is Grain.PART:
        return _within_part(fine, coarse, calendar)
    if isinstance(fine, TwelveHourTime):
        return _spread_within(fine, coarse, calendar)
    return intersect(first, second, calendar)


def _spread_within(time: TwelveHourTime, coarse: Time, calendar: Calendar) -> Time | None:
    """Return the range from the time in the first half of a day to that in the second half."""
    if isinstance(coarse, Period):
        halves = [intersect(half, coarse, calendar) for half in time.halves]
        return _spread([half for half in halves if isinstance(half, Period)])
    at = coarse.at

    def inside(day: date) -> Period | None:
        outer = at(day)
        spread = None if outer is None else _spread_within(time, outer, calendar)
        return spread if isinstance(spread, Period) else None

    return Cycle(time.grain, coarse.every, inside)


def spread_latest(time: TwelveHourTime, calendar: Calendar) -> Period:
    """Return the range that holds the last occurrences that have begun in both halves of a day."""
    occurrences = [resolve_latest(half, calendar) for half in time.halves]
    return _spread(occurrences) or occurrences[0]


def _spread(periods: list[Period]) -> Period | None:
    starts = [period.start for period in periods if period.start is not None]
    ends = [period.end for period in periods if period.end is not None]
    return Period(min(starts), max(ends), periods[0].grain) if starts and ends else None


def _within_part(clock: Cycle, part: Time, calendar: Calendar) -> Time | None:
    part = _widen_part(part)
    for cycle in clock.halves if isinstance(clock, TwelveHourTime) else (clock,):
        time = intersect(cycle, part, calendar)
        if isinstance(time, Period) or (time is not None and time.at(calendar.today) is not None):
            return time
    return None


def _widen_part(part: Time) -> Time:
    """Return a part of the day with the earlier hours that a time of the clock may have in it."""
    if isinstance(part, Period):
        return _include_earlier_hours(part)
    at = part.at

    def inside(day: date) -> Period | None:
        period = at(day)
        return None if period is None else _include_earlier_hours(period)

    return Cycle(part.grain, part.every, inside)


def _include_earlier_hours(part: Period) -> Period:
    start, end = part.start, part.end
    if start is None or end is None:
        return part
    if (start.hour, end.hour) in _EARLIER_STARTS:
        return Period(start.replace(hour=_EARLIER_STARTS[start.hour, end.hour]), end, part.grain)
    return part


def resolve_next_on_clock(time: TwelveHourTime, calendar: Calendar, limit: datetime) -> Period:
    """Return the first occurrence at `limit` or later, in either half of the day."""
    halves = [resolve_next(cycle, calendar, limit, strictly=False) for cycle in time.halves]
    return min(halves, key=lambda period: period.start or limit)


def match_clock_words(cursor: Cursor, position: int) -> Match | None:
    """Return the time of the clock in English words that begins at `position`."""
    shift = _read_shift(cursor, position)
    if shift is None:
        return _match_lone_hour(cursor, position)
    minutes, after = shift
    hour_match = _read_hour(cursor, after)
    if cursor.word(after) in ("noon", "midday"):
        hour_match = 12, "p", after + 1
    if hour_match is None:
        return None
    hour, half, end = hour_match
    if minutes < 0:
        hour, minutes = (hour + 10) % 12 + 1, 60 + minutes
        # A quarter to 12 pm is in the morning.
        half = _OTHER_HALF[half.lower()] if half is not None and hour == 11 else half
    return Match(_make_time(hour, minutes, half), _skip_oclock(cursor, end), Doubt.PREPOSITION)


def _read_shift(cursor: Cursor, position: int) -> tuple[int, int] | None:
    """Return the minutes of "quarter to" (-15) or "ten past" (10), and the next position."""
    begin = position + 1 if cursor.word(position) == "a" else position
    word, joint = cursor.word(begin), cursor.word(begin + 1)
    if word == "half" and begin == position:
        return (30, begin + 2) if joint == "past" else None
    if word == "quarter":
        if joint in _PAST | _TO:
            return (15 if joint in _PAST else -15), begin + 2
        return None
    number = read_number(cursor, position)
    if number is None or not 1 <= number[0] < 30 or word == "couple" or begin != position:
        return None
    has_unit = cursor.word(number[1]) in _MINUTES
    joint_at = number[1] + 1 if has_unit else number[1]
    joint = cursor.word(joint_at)
    if joint == "past":
        return number[0], joint_at + 1
    # "Ten to twelve" may be two hours, but "twenty to three" is not.
    if joint in _TO and (has_unit or (number[0] > 12 and not _is_digits(cursor, position))):
        return -number[0], joint_at + 1
    return None


def _is_digits(cursor: Cursor, position: int) -> bool:
    token = cursor.at(position)
    return token is not None and token.kind == "number"


def _read_hour(cursor: Cursor, position: int) -> tuple[int, str | None, int] | None:
    """Return the hour at `position`, "a" or "p" for am or pm, and the next position."""
    token = cursor.at(position)
    if token is not None and token.kind == "ampm":
        hour = int(token.groups[0] or "0")
        return (hour, token.groups[1], position + 1) if 1 <= hour <= 12 else None
    if token is None or (token.kind != "number" and token.value not in NUMBERS):
        return None
    if token.kind == "number" and (token.groups[1] is not None or len(token.value) > 2):
        return None
    hour = int(token.value) if token.kind == "number" else NUMBERS[token.value]
    half = cursor.word(position + 1)
    if half in ("am", "pm"):
        return (hour, half[0], position + 2) if 1 <= hour <= 12 else None
    return (hour, None, position + 1) if 1 <= hour <= 12 else None


def _make_time(hour: int, minute: int | None, half: str | None) -> Cycle:
    if half is None:
        return twelve_hour_time(hour, minute, spoken=True)
    return clock_time(hour % 12 + (12 if half.lower() == "p" else 0), minute)


def _skip_oclock(cursor: Cursor, position: int) -> int:
    """Return the position after "o'clock", or `position` if the word is not there."""
    sign = cursor.sign(position + 1)
    if cursor.word(position) == "o" and sign in ("'", "’") and cursor.word(position + 2) == "clock":
        return position + 3
    return position + 1 if cursor.word(position) == "oclock" else position


def _match_lone_hour(cursor: Cursor, position: int) -> Match | None:
    """Return the hour in "ten o'clock", in "9 this morning" and in "tonight at 8"."""
    hour_match, token = _read_hour(cursor, position), cursor.at(position)
    if hour_match is None or (token is not None and token.kind == "ampm"):
        return None
    hour, half, after = hour_match
    if half is not None:
        return Match(_make_time(hour, None, half), after, Doubt.PREPOSITION)
    end = _skip_oclock(cursor, after)
    if end != after:
        return Match(twelve_hour_time(hour, None, spoken=True), end, Doubt.PREPOSITION)
    before = cursor.word(position - 1)
    is_led = before == "at" or cursor.sign(position - 1) == "@"
    is_led = is_led or (cursor.lenient and before in _BOUNDS)
    if not cursor.lenient and before in _JOINTS and _is_count(cursor, position - 2):
        return None  # "Raised from five to ten this morning" counts something.
    if is_led or ((position == 0 or before in _BOUNDS) and _is_followed_by_part(cursor, after)):
        # A number is an hour only together with a part of the day.
        return Match(twelve_hour_time(hour, None, clear=False, spoken=True), after, Doubt.COMPANY)
    return None


def _is_count(cursor: Cursor, position: int) -> bool:
    """Return whether a number stands there that is not the hour of "half past nine"."""
    token = cursor.at(position)
    if token is None or cursor.word(position - 1) in _PAST | _TO:
        return False
    return token.value in NUMBERS or (token.kind == "number" and token.groups[1] is None)


def _is_followed_by_part(cursor: Cursor, position: int) -> bool:
    """Return whether a part of a day follows: this morning, in the evening, on Friday night."""
    for _ in range(2):
        for _ in range(2):
            position = position + 1 if cursor.word(position) in _BETWEEN else position
        match = match_english(cursor, position)
        if match is None or match.time.grain not in (Grain.PART, Grain.DAY):
            return False
        if match.time.grain is Grain.PART:
            return True
        position = match.end
    return False


def match_hours(cursor: Cursor, position: int) -> Match | None:
    """Return the range of hours in "2 to 4 pm", "2-4pm" or "14:00-16:00".

    Raises:
        ValueError: there is no such hour.
    """
    token = cursor.at(position)
    if token is None:
        return None
    if token.kind == "figures":
        first, second, after = token.groups[:3], token.groups[3:], position + 1
    else:
        last = cursor.at(position + 2)
        if last is None or not joins_range(cursor, position + 1):
            return None
        first, second, after = _read_groups(token.groups, token.kind), None, position + 3
        if last.kind in ("clock", "ampm"):
            second = _read_groups(last.groups, last.kind)
        if not first or not second or first[2] is not None or second[2] is None:
            return None
    if second is None or (second[2] is None and (first[1] is None or second[1] is None)):
        return None
    begin, end = _resolve_minutes(first, second)
    return Match(part_of_day(begin / 60, end / 60), after, Doubt.COMPANY)


def _read_groups(groups: _Clock, kind: str) -> _Clock:
    """Return hour, minute and half of the day of a token, empty if it is not a time."""
    if kind == "number":
        return (groups[0], None, None) if groups[1] is None and len(groups[0] or "") <= 2 else ()
    if kind == "ampm":
        return groups[0], None, groups[1]
    return (groups[0], groups[1], groups[3]) if kind == "clock" and groups[2] is None else ()


def _resolve_minutes(first: _Clock, second: _Clock) -> tuple[int, int]:
    """Return start and end in minutes from midnight; the end may lie on the next day."""
    begin, end = _minute_of_day(first), _minute_of_day(second)
    if first[2] is None and second[2] is not None and int(first[0] or "0") <= 12:
        # 2 to 4 pm begins at 2 pm, 10 to 2 pm in the morning.
        begin = begin % 720 + end // 720 * 720
        begin = begin if begin < end else (begin + 720) % 1440
    return begin, end if begin < end else end + 1440


def _minute_of_day(clock: _Clock) -> int:
    hour, minute = int(clock[0] or "0"), int(clock[1] or "0")
    if minute > 59 or hour > 23 or (clock[2] is not None and not 1 <= hour <= 12):
        raise ValueError(f"there is no time {hour}:{minute:02}")
    if clock[2] is not None:
        hour = hour % 12 + (12 if clock[2].lower() == "p" else 0)
    return hour * 60 + minute


def joins_range(cursor: Cursor, position: int) -> bool:
    """Return whether a token joins the ends of a range: to, -, 到, the "and" of "between"."""
    between = cursor.word(position) == "and" and cursor.word(position - 2) == "between"
    values = {cursor.word(position), cursor.sign(position), cursor.han(position)}
    return between or not _RANGE_JOINTS.isdisjoint(values)
