"""Expressions of time made of several times: a day in a month, from X to Y, since X."""

from __future__ import annotations

from datetime import datetime, timedelta

from attrs import evolve

from infinite_memory.times.atoms import match_atom, match_span, skip_joining_words
from infinite_memory.times.calendar import Calendar, Grain, Period
from infinite_memory.times.clock import (
    TwelveHourTime,
    combine,
    match_hours,
    resolve_next_on_clock,
    spread_latest,
)
from infinite_memory.times.english import match_month_and_day
from infinite_memory.times.numbers import read_number
from infinite_memory.times.periods import match_end_of, match_part, match_part_after
from infinite_memory.times.recurring import (
    Cycle,
    Time,
    day_of_month,
    resolve_latest,
    resolve_latest_before,
    resolve_next,
)
from infinite_memory.times.tokenizer import Cursor, Doubt, Match
from infinite_memory.times.vague import (
    approximate,
    match_vague,
    same_time,
    skip_approximation,
    skip_or_so,
)
from infinite_memory.times.words import (
    DIGITS_ZH,
    HOLIDAYS_ZH,
    MOVABLE_NAMES_ZH,
    UNITS,
    WEEKDAYS_ZH,
)

_LENGTHS = {Grain.MINUTE: timedelta(minutes=1), Grain.HOUR: timedelta(hours=1)}
_DAYS = {Grain.DAY: 1, Grain.WEEK: 7}
_UNTIL = frozenset({"until", "till"})
_DAY_BOUNDS = frozenset({"since", "after", "before", *_UNTIL})
_TO = frozenset({"to", "through", "thru"})
_BOUNDS = {
    **{("up", word): "until" for word in ("to", "until", "till")},
    **{("prior", "to"): "before", ("later", "than"): "after", ("ever", "since"): "since"},
}
_AND = frozenset({"and"})
_DASHES = frozenset({"-", "–", "—", "~", "～"})
_SINCE_ZH = frozenset({"以来", "至今", "开始", "起"})
_BEFORE_ZH = frozenset({"以前", "之前"})
_CLOSING_ZH = frozenset({"之间", "期间"})
_AFTER_ZH = frozenset({"以后", "之后"})
_FORMER_ZH = frozenset("妻夫女男任排门台端景途辈言锋缀同老公面续期勤卫院备")
_ONWARDS = frozenset({"onwards", "onward"})
_WEEK_MODIFIERS = frozenset({"last", "this", "next"})
_SAME_TIME_ZH = frozenset({"同期", "这个时候"})
_MOST_PARTS = 4


def match_expression(cursor: Cursor, position: int) -> Match | None:
    """Return the longest expression of time that begins at `position`, or None.

    Raises:
        ValueError: there is no such day or time.
    """
    begin = skip_approximation(cursor, position)
    match = (
        _match_bounded(cursor, begin)
        or _match_between(cursor, begin)
        or _match_same_time(cursor, begin)
        or _match_range(cursor, begin)
        or match_vague(cursor, begin)
    )
    if match is None:
        return None
    end = skip_or_so(cursor, match.end)
    if begin == position and end == match.end:
        return match
    around = approximate(latest(match.time, cursor.calendar), cursor.calendar)
    return Match(around, end, match.doubt)


def resolve_period(match: Match, calendar: Calendar) -> Period:
    """Return the period of a match; of a recurring time, the last occurrence that has begun."""
    return latest(match.time, calendar)


def _match_same_time(cursor: Cursor, position: int) -> Match | None:
    """Return the days around this day in "this time last year" and 去年同期, or the same hour."""
    is_english = (cursor.word(position), cursor.word(position + 1)) == ("this", "time")
    match = match_atom(cursor, position + 2 if is_english else position)
    if match is None or not isinstance(match.time, Period):
        return None
    end = match.end
    if not is_english:
        end += 1 if cursor.han(end) == "的" else 0
        if cursor.han(end) not in _SAME_TIME_ZH:
            return None
        end += 1
    period = same_time(match.time, cursor.calendar)
    return None if period is None else Match(period, end)


def _match_simple(cursor: Cursor, position: int) -> Match | None:
    """Return a time with all its details: Friday last week at 3 pm."""
    match = (
        match_part(cursor, position)
        or _match_distance(cursor, position)
        or match_atom(cursor, position)
    )
    if match is None:
        return None
    for _ in range(_MOST_PARTS):
        begin = skip_joining_words(cursor, match.end)
        if cursor.word(begin) == "from" and cursor.word(begin + 1) in _WEEK_MODIFIERS:
            begin += 1  # Sunday from last week.
        around = skip_approximation(cursor, begin)
        if around != begin:
            return _match_around_hours(cursor, around, match) or match
        part = match_part_after(cursor, begin, match)
        if part is not None:
            match = part
            continue
        detail = _match_addition(cursor, begin, match)
        if detail is None:
            break
        if {cursor.word(match.end - 1), cursor.word(detail.end - 1)} == {"eve", "midnight"}:
            raise ValueError("it may be the night before or after: name the day")
        time = combine(match.time, detail.time, cursor.calendar)
        if time is None:
            break
        match = Match(time, detail.end, _combine_doubts(match, detail))
    return match


def _match_distance(cursor: Cursor, position: int) -> Match | None:
    """Return the days in "two weeks after 5 March".

    "A week from Monday" may count from the last or from the next one.
    """
    number = read_number(cursor, position)
    joint = "" if number is None else cursor.word(number[1] + 1)
    if number is None or joint not in ("from", "after", "before"):
        return None
    grain, length = UNITS.get(cursor.word(number[1]), (Grain.MOMENT, 0))
    day = _match_simple(cursor, number[1] + 2)
    if day is None or not Grain.DAY <= day.time.grain <= Grain.WEEKEND or grain not in _DAYS:
        return None
    first = last = latest(day.time, cursor.calendar)
    if joint == "from" and isinstance(day.time, Cycle):
        last = resolve_next(day.time, cursor.calendar, cursor.calendar.clock, strictly=True)
    away = timedelta(days=number[0] * length * _DAYS[grain] * (-1 if joint == "before" else 1))
    if first.start is None or last.end is None:
        return None
    return Match(Period(first.start + away, last.end + away, Grain.DAY), day.end)


def _match_around_hours(cursor: Cursor, position: int, day: Match) -> Match | None:
    """Return the hours in "yesterday around 3 pm"."""
    detail = _match_addition(cursor, position, day)
    time = None if detail is None else combine(day.time, detail.time, cursor.calendar)
    if detail is None or time is None or time.grain >= Grain.DAY:
        return None
    around = approximate(latest(time, cursor.calendar), cursor.calendar)
    return Match(around, detail.end, _combine_doubts(day, detail))


def _match_addition(cursor: Cursor, position: int, match: Match) -> Match | None:
    """Return the next detail of a time: a day or an hour, with its part of the day."""
    detail = match_part(cursor, position) or match_atom(cursor, position)
    if detail is None or not _may_take_part_of_day(match.time.grain, detail.time.grain):
        return detail
    hours = match_atom(cursor, skip_joining_words(cursor, detail.end))
    if hours is None or hours.time.grain is not Grain.PART:
        return detail
    time = combine(detail.time, hours.time, cursor.calendar)
    return detail if time is None else Match(time, hours.end, _combine_doubts(detail, hours))


def _may_take_part_of_day(first: Grain, second: Grain) -> bool:
    """Return whether a part of the day may follow: 9 on Monday night, Monday at 9 at night."""
    if first < Grain.PART:
        return second is Grain.DAY
    return Grain.MOMENT < second < Grain.PART


def _combine_doubts(first: Match, second: Match) -> Doubt:
    """Return the doubt of a compound: none beside a sure time, or for a name and year."""
    if Doubt.NONE in (first.doubt, second.doubt):
        return Doubt.NONE
    if {first.time.grain, second.time.grain} == {Grain.DAY, Grain.PART}:
        return min(first.doubt, second.doubt)  # As in "on Christmas morning".
    year = Grain.YEAR in (first.time.grain, second.time.grain)
    named = {first.time.grain, second.time.grain} & {
        *(Grain.MONTH, Grain.QUARTER, Grain.HALF, Grain.WEEK, Grain.THIRD, Grain.DAY),
        Grain.WEEKEND,
    }
    return Doubt.NONE if year and named else max(first.doubt, second.doubt)


def _match_bounded(cursor: Cursor, position: int) -> Match | None:
    """Return a time that begins with since, after, before or until."""
    word, calendar = cursor.word(position), cursor.calendar
    two_words = (word, cursor.word(position + 1))
    if two_words in _BOUNDS:
        word, position = _BOUNDS[two_words], position + 1
    is_deadline = word == "by" and cursor.lenient
    if word not in _DAY_BOUNDS and not is_deadline:
        return None
    match = match_end_of(cursor, position + 1) or _match_simple(cursor, position + 1)
    if match is None:
        return None
    period = latest(match.time, calendar)
    if word == "since":
        if cursor.word(match.end) in _UNTIL:
            end = _match_simple(cursor, match.end + 1)
            return None if end is None else join_matches(cursor, match, end)
        return _set_period(match, Period(period.start, None))
    if word == "after":
        return _set_period(match, Period(first_after(period), None))
    if word == "by" and isinstance(match.time, Cycle):
        period = resolve_next(match.time, calendar, calendar.clock, strictly=False)
    # "Until Monday" may include Monday, and "before Monday" does not.
    limit = last_before(period) if word == "before" else end_of_range(period)
    return _set_period(match, Period(None, limit))


def _match_between(cursor: Cursor, position: int) -> Match | None:
    """Return a time that begins with between or from, in either language."""
    word, han = cursor.word(position), cursor.han(position)
    if word == "between":
        shared = match_span(cursor, position + 1)
        if shared:
            return _match_simple(cursor, position + 1)
        return _match_joined(cursor, position + 1, _AND)
    if han in ("在", "从", "自", "自从"):
        match = _match_range(cursor, position + 1)
        if han == "在" or match is None or _is_open(match):
            return match
        if han == "自从":
            return _set_period(match, Period(latest(match.time, cursor.calendar).start, None))
        return match if cursor.han(match.end - 1) else None
    if word != "from":
        return None
    match = _match_joined(cursor, position + 1, _TO | _UNTIL)
    if match is not None:
        return match
    start = _match_simple(cursor, position + 1)
    if start is None:
        return None
    first, after = latest(start.time, cursor.calendar), start.end
    if cursor.word(after) in _ONWARDS or (
        cursor.word(after) == "on" and not cursor.word(after + 1)
    ):
        return _set_period(evolve(start, end=after + 1), Period(first.start, None))
    return evolve(start, doubt=Doubt(max(start.doubt - 1, 0)))


def _is_open(match: Match) -> bool:
    return isinstance(match.time, Period) and match.time.end is None


def _match_joined(cursor: Cursor, position: int, words: frozenset[str]) -> Match | None:
    """Return the range of two times that are joined by a word of `words`."""
    first = _match_simple(cursor, position)
    if first is None:
        return None
    # "May 3 and 5" is not a range: its first time is followed by a joint of another kind.
    if not (cursor.word(first.end) in words or (words >= _TO and _is_dash(cursor, first.end))):
        return None
    second = _match_range_end(cursor, first, first.end + 1)
    if second is None:
        return None
    return join_matches(cursor, first, second)


def _is_dash(cursor: Cursor, position: int) -> bool:
    return cursor.sign(position) in _DASHES


def _match_range_end(cursor: Cursor, first: Match, position: int) -> Match | None:
    """Return the time that ends a range; after a day of a month it may be a mere number."""
    second = _match_simple(cursor, position)
    token = cursor.at(position)
    if (
        token is not None
        and token.kind == "number"
        and len(token.groups[0] or "") <= 2
        and first.time.grain is Grain.DAY
        and match_month_and_day(cursor, position) is None
        and not cursor.han(position + 1)
    ):
        return Match(day_of_month(int(token.groups[0] or "0")), position + 1)
    if second is None:
        return None
    return move_to_same_half(cursor, first, second)


def _match_range(cursor: Cursor, position: int) -> Match | None:
    """Return a time, or the range that the words after it make of it: March to May."""
    match = _match_simple(cursor, position)
    if match is None:
        return None
    han, calendar = cursor.han(match.end), cursor.calendar
    if cursor.word(match.end) in _ONWARDS:
        first = latest(match.time, calendar)
        return _set_period(evolve(match, end=match.end + 1), Period(first.start, None))
    if cursor.word(match.end) in _DAY_BOUNDS:
        return _match_hours_to_bound(cursor, match) or match
    if cursor.word(match.end) in ("from", "between"):
        return _match_day_with_hours(cursor, match) or match
    if (
        han in ("到", "至", "和", "与")
        or cursor.word(match.end) in _TO
        or _is_dash(cursor, match.end)
    ):
        second = _match_range_end(cursor, match, match.end + 1)
        if second is None:
            return match
        joined = join_matches(cursor, match, second)
        if han in ("和", "与"):
            is_closed = cursor.han(joined.end) == "之间"
            return evolve(joined, end=joined.end + 1) if is_closed else match
        return (
            evolve(joined, end=joined.end + 1) if cursor.han(joined.end) in _CLOSING_ZH else joined
        )
    return _apply_chinese_bound(cursor, match)


def _apply_chinese_bound(cursor: Cursor, match: Match) -> Match:
    """Return the range of a time with 以来, 之前 or 之后 after it, else the time itself."""
    han, calendar = cursor.han(match.end), cursor.calendar
    if han == "期间":
        return evolve(match, end=match.end + 1)
    period = latest(match.time, calendar)
    if han in _SINCE_ZH:
        end = calendar.clock if han == "至今" else None
        return _set_period(evolve(match, end=match.end + 1), Period(period.start, end))
    is_date = _follows_date(cursor, match)
    if han in _BEFORE_ZH or (han == "前" and is_date):
        # "Before the end of a month" includes that end.
        is_month_end = (
            cursor.han(match.end - 1).endswith(("底", "末")) and period.grain is Grain.THIRD
        )
        limit = period.end if is_month_end else last_before(period)
        return _set_period(evolve(match, end=match.end + 1), Period(None, limit))
    if han in _AFTER_ZH or (han == "后" and is_date):
        return _set_period(evolve(match, end=match.end + 1), Period(first_after(period), None))
    return match


def _follows_date(cursor: Cursor, match: Match) -> bool:
    """Return whether 前 after a time means "before": 三月五日前, but not 三月前 or 五日前两天."""
    last, follows = cursor.han(match.end - 1), cursor.han(match.end + 1)
    token = cursor.at(match.end + 1)
    is_counted = follows in DIGITS_ZH or (token is not None and token.kind == "number")
    if is_counted or follows.startswith("半") or cursor.sign(match.end + 1) in _FORMER_ZH:
        return False
    if last == "年":
        return match.time.grain is Grain.YEAR
    return last in ("日", "号") or last in WEEKDAYS_ZH | HOLIDAYS_ZH.keys() | MOVABLE_NAMES_ZH


def _match_hours_to_bound(cursor: Cursor, day: Match) -> Match | None:
    """Return the hours of a day in "yesterday after 5 pm" or "Monday until noon"."""
    hours = _match_simple(cursor, day.end + 1)
    if hours is None or not Grain.MOMENT < hours.time.grain < day.time.grain is Grain.DAY:
        return None
    whole = latest(day.time, cursor.calendar)
    time = combine(whole, hours.time, cursor.calendar)
    if time is None:
        return None
    word = cursor.word(day.end)
    period = bound_within_day(word, whole, latest(time, cursor.calendar))
    return None if period is None else Match(period, hours.end)


def _match_day_with_hours(cursor: Cursor, day: Match) -> Match | None:
    """Return the range of hours in "yesterday from 2 pm to 4 pm"."""
    is_between = cursor.word(day.end) == "between"
    hours = match_hours(cursor, day.end + 1)
    if hours is not None:
        time = combine(day.time, hours.time, cursor.calendar)
        return None if time is None else Match(time, hours.end)
    first = _match_simple(cursor, day.end + 1)
    time = None if first is None else combine(day.time, first.time, cursor.calendar)
    if first is None or time is None:
        return None
    if not (
        cursor.word(first.end) in (("and",) if is_between else _TO) or _is_dash(cursor, first.end)
    ):
        return None
    second = _match_simple(cursor, first.end + 1)
    if second is None or second.time.grain >= Grain.DAY:
        return None
    begin = Match(time, first.end)
    second = move_to_same_half(cursor, begin, second)
    return join_matches(cursor, begin, second)


def _set_period(match: Match, period: Period) -> Match:
    return Match(period, match.end, Doubt(max(match.doubt - 1, 0)))


def latest(time: Time, calendar: Calendar) -> Period:
    """Return the last occurrence that has begun; of a time in either half of the day, both.

    With a calendar of somebody who plans it is the next one, if that is open.
    """
    if calendar.plans and isinstance(time, TwelveHourTime):
        return resolve_next_on_clock(time, calendar, calendar.clock)
    if calendar.plans and isinstance(time, Cycle):
        return resolve_next(time, calendar, calendar.clock, strictly=False)
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
