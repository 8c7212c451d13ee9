"""Chinese words of time: 昨天, 上周五, 三天前, 三月五日, 下午三点半, 过去十天."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from infinite_memory.times.calendar import Calendar, Grain, Period, days, months
from infinite_memory.times.clock import twelve_hour_time
from infinite_memory.times.holidays import match_chinese_holiday
from infinite_memory.times.numbers import match_halves_ago, match_past_halves, read_chinese_number
from infinite_memory.times.recurring import (
    Cycle,
    Time,
    clock_time,
    day_of_month,
    day_of_year,
    intersect,
    iso_week,
    month_of_year,
    months_of_year,
    nearest_weekend,
    part_of_day,
    resolve_last,
    third_of,
    weekday,
    weekend,
)
from infinite_memory.times.tokenizer import Cursor, Doubt, Match
from infinite_memory.times.words import (
    DAY_PARTS_ZH,
    DAYS_ZH,
    DIGITS_ZH,
    HOLIDAY_MONTHS_ZH,
    MODIFIERS_ZH,
    MORNINGS_ZH,
    NIGHTS_ZH,
    SEASONS_ZH,
    UNITS,
    UNITS_ZH,
    WEEKDAYS_ZH,
    YEARS_ZH,
)

_BEFORE = frozenset({"前", "之前", "以前"})
_AFTER = frozenset({"后", "之后", "以后"})
_MONTH_THIRDS = {
    **dict.fromkeys(("月初", "月上旬"), 0),
    **dict.fromkeys(("月中", "月中旬"), 1),
    **dict.fromkeys(("月底", "月末", "月下旬"), 2),
}
_YEAR_THIRDS = {"年初": 0, "年中": 1, "年底": 2, "年末": 2}
_YEAR_ENDS = {"初": 0, "底": 2, "末": 2}
_HALVES = {"上半年": 1, "下半年": 7}
_MINUTES = {"半": 30, "一刻": 15, "三刻": 45}
COUNTED_THINGS = frozenset("人名位块元次条件家本台张只份组辆万千百多几余公斤页米度种篇章")
"""Signs after which a number counts things."""


def match_chinese(cursor: Cursor, position: int) -> Match | None:
    """Return the Chinese time that begins at `position`, or None.

    Raises:
        ValueError: there is no such day or time.
    """
    for reader in _READERS:
        match = reader(cursor, position)
        if match is not None:
            return match
    return None


def _match_day(cursor: Cursor, position: int) -> Match | None:
    calendar, word = cursor.calendar, cursor.han(position)
    for offsets, hours in ((NIGHTS_ZH, DAY_PARTS_ZH["晚上"]), (MORNINGS_ZH, DAY_PARTS_ZH["早上"])):
        if word in offsets:
            day = calendar.unit(Grain.DAY, offsets[word])
            clock = _match_hour(cursor, position + 1, hours) or Match(
                part_of_day(*hours), position + 1
            )
            part = intersect(clock.time, day, calendar)
            return None if part is None else Match(part, clock.end)
    if word in DAYS_ZH:
        return Match(calendar.unit(Grain.DAY, DAYS_ZH[word]), position + 1)
    if word in YEARS_ZH and _skip_this_day(cursor, position + 1):
        first = calendar.away(Grain.YEAR, YEARS_ZH[word])
        return Match(days(first, 1, Grain.DAY), _skip_this_day(cursor, position + 1))
    if word in YEARS_ZH:
        year = calendar.unit(Grain.YEAR, YEARS_ZH[word])
        end = _YEAR_ENDS.get(cursor.han(position + 1))
        part = None if end is None else third_of(year, end)
        return Match(year, position + 1) if part is None else Match(part, position + 2)
    if word in ("现在", "目前"):
        return Match(Period(calendar.clock, calendar.clock), position + 1, Doubt.COMPANY)
    return None


def _skip_this_day(cursor: Cursor, position: int) -> int:
    """Return the position after 的今天 or 今天, 0 without them."""
    after = position + 1 if cursor.han(position) == "的" else position
    return after + 1 if cursor.han(after) in ("今天", "今日") else 0


def _match_modified(cursor: Cursor, position: int) -> Match | None:
    """Return a time that begins with 上, 这 or 下."""
    calendar = cursor.calendar
    offset = MODIFIERS_ZH.get(cursor.han(position))
    if offset is None:
        return None
    if cursor.han(position) == "上" and cursor.han(position + 1) == "上":
        position, offset = position + 1, -2
    has_one = cursor.han(position) != "本" and cursor.han(position + 1) == "一"
    after = position + 2 if has_one else position + 1
    after = after + 1 if cursor.han(after) == "个" else after
    word = cursor.han(after)
    if word in WEEKDAYS_ZH:
        day = weekday(WEEKDAYS_ZH[word], calendar)
        period = intersect(day, calendar.unit(Grain.WEEK, offset), calendar)
        return None if period is None else Match(period, after + 1)
    if word == "周末":
        return Match(_weekend_at(calendar, offset), after + 1)
    if word in _MONTH_THIRDS:
        part = third_of(calendar.unit(Grain.MONTH, offset), _MONTH_THIRDS[word])
        return None if part is None else Match(part, after + 1)
    grain = _grain_of(word)
    if grain not in (Grain.WEEK, Grain.MONTH, Grain.QUARTER, Grain.YEAR):
        return None
    if grain is Grain.YEAR and cursor.han(position) != "本" and not has_one:
        return None
    if cursor.han(after + 1) in _BEFORE | _AFTER and word == "月" and after == position + 1:
        return None
    return Match(calendar.unit(grain, offset), after + 1)


def _weekend_at(calendar: Calendar, offset: int) -> Period:
    start = resolve_last(weekend(calendar), calendar).start
    if offset >= 0 or start is None:
        return nearest_weekend(calendar, offset)
    return days(start.date() + (offset + 1) * timedelta(days=7), 2, Grain.WEEKEND)


def _match_stretch(cursor: Cursor, position: int) -> Match | None:
    """Return a counted length of time up to now, or from now: 过去十天."""
    word = cursor.han(position)
    if word not in ("过去", "最近", "近", "未来", "今后"):
        return None
    begin = position + 2 if cursor.han(position + 1) == "的" else position + 1
    if word not in ("未来", "今后"):
        halves = match_past_halves(cursor, begin, read_chinese_number)
        if halves is not None:
            return halves
    duration = _read_duration(cursor, begin)
    if duration is None:
        return None
    count, grain, after = duration
    if count < 1 or cursor.han(after) in _BEFORE | _AFTER:
        return None
    if cursor.han(after) in ("内", "之内", "以内", "里", "来"):
        after += 1
    stretch = cursor.calendar.coming if word in ("未来", "今后") else cursor.calendar.past
    return Match(stretch(grain, count), after)


def _read_duration(cursor: Cursor, position: int) -> tuple[int, Grain, int] | None:
    """Return a number, its unit and the next position."""
    number = read_chinese_number(cursor, position)
    if number is None:
        return None
    count, after = number
    is_counted = cursor.han(after) == "个"
    word = cursor.han(after + 1 if is_counted else after)
    grain = _grain_of(word)
    # 三月 is March, 三个月 are three months.
    if (
        grain is None
        or (word in ("月", "季") and not is_counted)
        or (word == "日" and not is_counted)
    ):
        return None
    return count, grain, after + (2 if is_counted else 1)


def _match_distance(cursor: Cursor, position: int) -> Match | None:
    """Return a time at a counted distance: 三天前, 两周后."""
    halves = match_halves_ago(cursor, position, read_chinese_number)
    if halves is not None:
        return halves
    duration = _read_duration(cursor, position)
    if duration is None:
        return None
    count, grain, after = duration
    # 2023年前 means before 2023, not 2,023 years ago.
    if grain is Grain.YEAR and count >= 1000:
        return None
    if cursor.han(after) in _BEFORE:
        return Match(cursor.calendar.unit(grain, -count), after + 1)
    if cursor.han(after) in _AFTER:
        return Match(cursor.calendar.unit(grain, count), after + 1)
    return None


def _match_date(cursor: Cursor, position: int) -> Match | None:
    """Return a year, month or day by its number: 2023年, 三月, 三月五日, 5号."""
    number = read_chinese_number(cursor, position)
    if number is None:
        return None
    value, after = number
    word = cursor.han(after)
    if value >= 1000 and (word == "年" or word in _YEAR_THIRDS):
        year: Time = months(value * 12, 12, Grain.YEAR)
        return _match_third(year, word, _YEAR_THIRDS, after)
    if word == "年" and (century := _read_century(cursor, position)) is not None:
        return Match(months((century + value) * 12, 12, Grain.YEAR), after + 1)
    if word in ("月", "月份") or word in _MONTH_THIRDS:
        return _match_month(cursor, value, after)
    if word in ("日", "号"):
        return Match(day_of_month(value), after + 1, Doubt.COMPANY)
    if word == "年代" and value % 10 == 0 and (value >= 1000 or 30 <= value <= 90):
        first = value if value >= 1000 else 1900 + value
        return Match(months(first * 12, 120, Grain.DECADE), after + 1)
    return None


def _read_century(cursor: Cursor, position: int) -> int | None:
    """Return the century of the year in 24年3月, None where no month follows the year."""
    token, month = cursor.at(position), read_chinese_number(cursor, position + 2)
    if token is None or token.kind != "number" or len(token.value) != 2 or month is None:
        return None
    if cursor.han(month[1]) not in ("月", "月份") or not 1 <= month[0] <= 12:
        return None
    return 1900 if int(token.value) >= 69 else 2000


def _match_month(cursor: Cursor, value: int, after: int) -> Match | None:
    month, word = month_of_year(value), cursor.han(after)
    if not 1 <= value <= 12:
        raise ValueError(f"there is no month {value}")
    if word in _MONTH_THIRDS:
        return _match_third(month, word, _MONTH_THIRDS, after)
    day = read_chinese_number(cursor, after + 1)
    if day is not None and cursor.han(day[1]) in ("日", "号"):
        return Match(day_of_year(value, day[0]), day[1] + 1)
    # 三月前 may be before March or three months ago.
    if cursor.han(after + 1) in ("前", "后"):
        return None
    return Match(month, after + 1)


def _match_third(time: Time, word: str, thirds: dict[str, int], after: int) -> Match | None:
    if word not in thirds:
        return Match(time, after + 1)
    part = third_of(time, thirds[word])
    return None if part is None else Match(part, after + 1)


def _match_numbered(cursor: Cursor, position: int) -> Match | None:
    """Return a quarter, week or half of a year: 第二季度, 第12周, 下半年."""
    word = cursor.han(position)
    if word in _HALVES:
        return Match(months_of_year(_HALVES[word], 6, Grain.HALF), position + 1)
    is_ordinal = word == "第"
    number = read_chinese_number(cursor, position + 1 if is_ordinal else position)
    if number is None:
        return None
    value, after = number
    if cursor.han(after) in ("季度", "季") and 1 <= value <= 4:
        quarter = months_of_year(value * 3 - 2, 3, Grain.QUARTER)
        return Match(quarter, after + 1, Doubt.NONE if is_ordinal else Doubt.PREPOSITION)
    if is_ordinal and cursor.han(after) == "周":
        return Match(iso_week(value), after + 1, Doubt.COMPANY)
    return None


def _match_clock(cursor: Cursor, position: int) -> Match | None:
    """Return a part of the day, a time of the clock, or both: 下午三点半."""
    part = DAY_PARTS_ZH.get(cursor.han(position))
    begin = position if part is None else position + 1
    match = _match_hour(cursor, begin, part)
    if match is None and part is not None:
        return Match(part_of_day(*part), begin, Doubt.COMPANY)
    return match


def _match_hour(cursor: Cursor, position: int, part: tuple[int, int] | None) -> Match | None:
    """Return the time of the clock that begins at `position`, within a part of the day."""
    token = cursor.at(position)
    if (
        part is not None
        and token is not None
        and token.kind == "clock"
        and not any(token.groups[2:])
    ):
        hour = _hour_in_part(int(token.groups[0] or "0"), part)
        return Match(_make_clock_time(hour, int(token.groups[1] or "0")), position + 1)
    number = read_chinese_number(cursor, position)
    if number is None or cursor.han(number[1]) not in ("点", "点钟", "时"):
        return None
    hour = number[0]
    minute, after = _read_minute(cursor, number[1] + 1)
    if part is None and 1 <= hour <= 12 and cursor.han(number[1]) != "时":
        return Match(twelve_hour_time(hour, minute, spoken=True), after, Doubt.COMPANY)
    if part is not None and hour <= 12:
        hour = _hour_in_part(hour, part)
    return Match(_make_clock_time(hour, minute), after, Doubt.COMPANY)


def _read_minute(cursor: Cursor, position: int) -> tuple[int | None, int]:
    """Return the minute in 三点半, 三点十五分 or 三点二十, and the next position."""
    word, minutes = cursor.han(position), read_chinese_number(cursor, position)
    units = DIGITS_ZH.get(cursor.han(position + 1), 10)
    if word in ("零", "〇") and 0 < units < 10:  # 七点零五
        return units, position + (3 if cursor.han(position + 2) == "分" else 2)
    if word in _MINUTES:
        return _MINUTES[word], position + 1
    if minutes is None:
        return None, position
    value, after = minutes
    if cursor.han(after) == "分":
        return value, after + 1
    token = cursor.at(after)
    # 三点五 is a decimal, and 三点二十个人 are people.
    is_bare = 10 <= value < 60 and after - position >= 1 and bool(word)
    counts_things = token is not None and (token.kind == "han" or token.value in COUNTED_THINGS)
    return (value, after) if is_bare and not counts_things else (None, position)


def _make_clock_time(hour: int, minute: int | None) -> Cycle:
    if hour >= 24:
        raise ValueError("it may be the night before or after: name the day and 凌晨")
    return clock_time(hour, minute)


def _hour_in_part(hour: int, part: tuple[int, int]) -> int:
    """Return the hour of 0 to 24 that an hour of 1 to 12 is within a part of the day."""
    if part[0] < 11:
        return hour % 12 if part[0] == 0 else hour
    if hour == 12:
        return 24 if part[0] >= 17 else 12
    if part[1] > 24 and hour < 5:
        return 24 + hour
    return hour if part == (11, 13) and hour == 11 else hour + 12


def _match_name(cursor: Cursor, position: int) -> Match | None:
    """Return a recurring time: 周五, 周末, 夏天, 年底."""
    word = cursor.han(position)
    holiday = match_chinese_holiday(cursor, position)
    if holiday is not None:
        return holiday
    if word in WEEKDAYS_ZH:
        return Match(weekday(WEEKDAYS_ZH[word], cursor.calendar), position + 1)
    if word == "周末":
        return Match(weekend(cursor.calendar), position + 1)
    if word in SEASONS_ZH:
        cycle = months_of_year(SEASONS_ZH[word], 3, Grain.QUARTER)
        return Match(cycle, position + 1, Doubt.PREPOSITION)
    if word in HOLIDAY_MONTHS_ZH:
        cycle = months_of_year(*HOLIDAY_MONTHS_ZH[word], Grain.QUARTER)
        return Match(cycle, position + 1, Doubt.PREPOSITION)
    for thirds, whole in (
        (_YEAR_THIRDS, months_of_year(1, 12, Grain.YEAR)),
        (_MONTH_THIRDS, _any_month()),
    ):
        if word in thirds:
            part = third_of(whole, thirds[word])
            return None if part is None else Match(part, position + 1, Doubt.PREPOSITION)
    return None


def _any_month() -> Cycle:
    return Cycle(
        Grain.MONTH,
        Grain.MONTH,
        lambda day: months(day.year * 12 + day.month - 1, 1, Grain.MONTH),
    )


def _grain_of(word: str) -> Grain | None:
    name = UNITS_ZH.get(word)
    return None if name is None else UNITS[name][0]


_READERS: tuple[Callable[[Cursor, int], Match | None], ...] = (
    _match_day,
    _match_modified,
    _match_stretch,
    _match_distance,
    _match_date,
    _match_numbered,
    _match_clock,
    _match_name,
)
