"""Chinese words of time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from infinite_memory.times.calendar import Calendar, Grain, Period, days, months
from infinite_memory.times.chinese_words import (
    DAY_PARTS,
    DAYS,
    DIGITS,
    MODIFIERS,
    MORNINGS,
    NIGHTS,
    SEASONS,
    UNITS,
    WEEKDAYS,
    YEARS,
)
from infinite_memory.times.english_words import UNITS as ENGLISH_UNITS
from infinite_memory.times.halves import halves_ago, halves_past
from infinite_memory.times.holidays import chinese_holiday
from infinite_memory.times.match import Doubt, Found, Source
from infinite_memory.times.numbers import counted_number
from infinite_memory.times.recurring import (
    Cycle,
    Time,
    clock_time,
    combined,
    day_of_month,
    day_of_year,
    iso_week,
    last,
    month_of_year,
    months_of_year,
    nearest_weekend,
    part_of_day,
    third,
    weekday,
    weekend,
)
from infinite_memory.times.twelve_hour import dial_time

__all__ = ["chinese"]

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
_COUNTED_THINGS = frozenset("人名位块元次条件家本台张只份组辆万千百多几余公斤页米度种篇章")


def chinese(source: Source, place: int) -> Found | None:
    """Return the Chinese time whose words begin at `place`, None if none does.

    Raises:
        ValueError: there is no such day or time.
    """
    for reader in _READERS:
        found = reader(source, place)
        if found is not None:
            return found
    return None


def _day(source: Source, place: int) -> Found | None:
    calendar, word = source.calendar, source.han(place)
    for offsets, hours in ((NIGHTS, DAY_PARTS["晚上"]), (MORNINGS, DAY_PARTS["早上"])):
        if word in offsets:
            day = calendar.unit(Grain.DAY, offsets[word])
            clock = _hour(source, place + 1, hours) or Found(part_of_day(*hours), place + 1)
            part = combined(clock.time, day, calendar)
            return None if part is None else Found(part, clock.end)
    if word in DAYS:
        return Found(calendar.unit(Grain.DAY, DAYS[word]), place + 1)
    if word in YEARS and _this_day(source, place + 1):
        first = calendar.away(Grain.YEAR, YEARS[word])
        return Found(days(first, 1, Grain.DAY), _this_day(source, place + 1))
    if word in YEARS:
        year = calendar.unit(Grain.YEAR, YEARS[word])
        end = _YEAR_ENDS.get(source.han(place + 1))
        part = None if end is None else third(year, end)
        return Found(year, place + 1) if part is None else Found(part, place + 2)
    if word in ("现在", "目前"):
        return Found(Period(calendar.clock, calendar.clock), place + 1, Doubt.COMPANY)
    return None


def _this_day(source: Source, place: int) -> int:
    """Return the place after 的今天 or 今天, 0 if neither is there."""
    after = place + 1 if source.han(place) == "的" else place
    return after + 1 if source.han(after) in ("今天", "今日") else 0


def _modified(source: Source, place: int) -> Found | None:
    """Return what begins with 上, 这 or 下."""
    calendar = source.calendar
    offset = MODIFIERS.get(source.han(place))
    if offset is None:
        return None
    if source.han(place) == "上" and source.han(place + 1) == "上":
        place, offset = place + 1, -2
    one = offset and source.han(place + 1) == "一"
    after = place + 2 if one else place + 1
    after = after + 1 if source.han(after) == "个" else after
    word = source.han(after)
    if word in WEEKDAYS:
        day = weekday(WEEKDAYS[word], calendar)
        found = combined(day, calendar.unit(Grain.WEEK, offset), calendar)
        return None if found is None else Found(found, after + 1)
    if word == "周末":
        return Found(_weekend(calendar, offset), after + 1)
    if word in _MONTH_THIRDS:
        part = third(calendar.unit(Grain.MONTH, offset), _MONTH_THIRDS[word])
        return None if part is None else Found(part, after + 1)
    grain = _grain(word)
    if grain not in (Grain.WEEK, Grain.MONTH, Grain.QUARTER, Grain.YEAR):
        return None
    if grain is Grain.YEAR and source.han(place) != "本" and not one:
        return None
    if source.han(after + 1) in _BEFORE | _AFTER and word == "月" and after == place + 1:
        return None
    return Found(calendar.unit(grain, offset), after + 1)


def _weekend(calendar: Calendar, offset: int) -> Period:
    start = last(weekend(calendar), calendar).start
    if offset >= 0 or start is None:
        return nearest_weekend(calendar, offset)
    return days(start.date() + (offset + 1) * timedelta(days=7), 2, Grain.WEEKEND)


def _past(source: Source, place: int) -> Found | None:
    """Return a number of units up to now, or from now: 过去十天."""
    word = source.han(place)
    if word not in ("过去", "最近", "近", "未来", "今后"):
        return None
    begin = place + 2 if source.han(place + 1) == "的" else place + 1
    if word not in ("未来", "今后"):
        halved = halves_past(source, begin, counted_number)
        if halved is not None:
            return halved
    measured = _measured(source, begin)
    if measured is None:
        return None
    count, grain, after = measured
    if count < 1 or source.han(after) in _BEFORE | _AFTER:
        return None
    if source.han(after) in ("内", "之内", "以内", "里", "来"):
        after += 1
    stretch = source.calendar.coming if word in ("未来", "今后") else source.calendar.past
    return Found(stretch(grain, count), after)


def _measured(source: Source, place: int) -> tuple[int, Grain, int] | None:
    """Return how many of which unit begin at `place`, and the place after them."""
    number = counted_number(source, place)
    if number is None:
        return None
    count, after = number
    counted = source.han(after) == "个"
    word = source.han(after + 1 if counted else after)
    grain = _grain(word)
    # 三月 is March, 三个月 are three months.
    if grain is None or (word in ("月", "季") and not counted) or (word == "日" and not counted):
        return None
    return count, grain, after + (2 if counted else 1)


def _counted(source: Source, place: int) -> Found | None:
    """Return what lies a number of units away: 三天前, 两周后."""
    halved = halves_ago(source, place, counted_number)
    if halved is not None:
        return halved
    measured = _measured(source, place)
    if measured is None:
        return None
    count, grain, after = measured
    # 2023年前 is before 2023, and no time two thousand years ago.
    if grain is Grain.YEAR and count >= 1000:
        return None
    if source.han(after) in _BEFORE:
        return Found(source.calendar.unit(grain, -count), after + 1)
    if source.han(after) in _AFTER:
        return Found(source.calendar.unit(grain, count), after + 1)
    return None


def _date(source: Source, place: int) -> Found | None:
    """Return a year, month or day by its number: 2023年, 三月, 三月五日, 5号."""
    number = counted_number(source, place)
    if number is None:
        return None
    value, after = number
    word = source.han(after)
    if value >= 1000 and (word == "年" or word in _YEAR_THIRDS):
        year: Time = months(value * 12, 12, Grain.YEAR)
        return _with_third(year, word, _YEAR_THIRDS, after)
    if word == "年" and (century := _century(source, place)) is not None:
        return Found(months((century + value) * 12, 12, Grain.YEAR), after + 1)
    if word in ("月", "月份") or word in _MONTH_THIRDS:
        return _month(source, value, after)
    if word in ("日", "号"):
        return Found(day_of_month(value), after + 1, Doubt.COMPANY)
    if word == "年代" and value % 10 == 0 and (value >= 1000 or 30 <= value <= 90):
        first = value if value >= 1000 else 1900 + value
        return Found(months(first * 12, 120, Grain.DECADE), after + 1)
    return None


def _century(source: Source, place: int) -> int | None:
    """Return the century of the year in 24年3月, None if no month is said with it."""
    token, month = source.at(place), counted_number(source, place + 2)
    if token is None or token.kind != "number" or len(token.value) != 2 or month is None:
        return None
    if source.han(month[1]) not in ("月", "月份") or not 1 <= month[0] <= 12:
        return None
    return 1900 if int(token.value) >= 69 else 2000


def _month(source: Source, value: int, after: int) -> Found | None:
    month, word = month_of_year(value), source.han(after)
    if not 1 <= value <= 12:
        raise ValueError(f"there is no month {value}")
    if word in _MONTH_THIRDS:
        return _with_third(month, word, _MONTH_THIRDS, after)
    day = counted_number(source, after + 1)
    if day is not None and source.han(day[1]) in ("日", "号"):
        return Found(day_of_year(value, day[0]), day[1] + 1)
    # Before March, or three months ago?
    if source.han(after + 1) in ("前", "后"):
        return None
    return Found(month, after + 1)


def _with_third(time: Time, word: str, thirds: dict[str, int], after: int) -> Found | None:
    if word not in thirds:
        return Found(time, after + 1)
    part = third(time, thirds[word])
    return None if part is None else Found(part, after + 1)


def _numbered(source: Source, place: int) -> Found | None:
    """Return a quarter, week or half of a year: 第二季度, 第12周, 下半年."""
    word = source.han(place)
    if word in _HALVES:
        return Found(months_of_year(_HALVES[word], 6, Grain.HALF), place + 1)
    ordinal = word == "第"
    number = counted_number(source, place + 1 if ordinal else place)
    if number is None:
        return None
    value, after = number
    if source.han(after) in ("季度", "季") and 1 <= value <= 4:
        quarter = months_of_year(value * 3 - 2, 3, Grain.QUARTER)
        return Found(quarter, after + 1, Doubt.NONE if ordinal else Doubt.PREPOSITION)
    if ordinal and source.han(after) == "周":
        return Found(iso_week(value), after + 1, Doubt.COMPANY)
    return None


def _clock(source: Source, place: int) -> Found | None:
    """Return a part of the day, a time of the clock, or both: 下午三点半."""
    part = DAY_PARTS.get(source.han(place))
    begin = place if part is None else place + 1
    found = _hour(source, begin, part)
    if found is None and part is not None:
        return Found(part_of_day(*part), begin, Doubt.COMPANY)
    return found


def _hour(source: Source, place: int, part: tuple[int, int] | None) -> Found | None:
    """Return the time of the clock that begins at `place`, in that part of the day."""
    token = source.at(place)
    if (
        part is not None
        and token is not None
        and token.kind == "clock"
        and not any(token.groups[2:])
    ):
        shown = _hour_in(int(token.groups[0] or "0"), part)
        return Found(_clock_of(shown, int(token.groups[1] or "0")), place + 1)
    number = counted_number(source, place)
    if number is None or source.han(number[1]) not in ("点", "点钟", "时"):
        return None
    hour = number[0]
    minute, after = _minute(source, number[1] + 1)
    if part is None and 1 <= hour <= 12 and source.han(number[1]) != "时":
        return Found(dial_time(hour, minute, said=True), after, Doubt.COMPANY)
    if part is not None and hour <= 12:
        hour = _hour_in(hour, part)
    return Found(_clock_of(hour, minute), after, Doubt.COMPANY)


def _minute(source: Source, place: int) -> tuple[int | None, int]:
    """Return the minute in 三点半, 三点十五分 and 三点二十, and the place after it."""
    word, minutes = source.han(place), counted_number(source, place)
    ones = DIGITS.get(source.han(place + 1), 10)
    if word in ("零", "〇") and 0 < ones < 10:  # 七点零五
        return ones, place + (3 if source.han(place + 2) == "分" else 2)
    if word in _MINUTES:
        return _MINUTES[word], place + 1
    if minutes is None:
        return None, place
    value, after = minutes
    if source.han(after) == "分":
        return value, after + 1
    token = source.at(after)
    # 三点五 is a decimal, and 三点二十个人 are people.
    bare = 10 <= value < 60 and after - place >= 1 and bool(word)
    things = token is not None and (token.kind == "han" or token.value in _COUNTED_THINGS)
    return (value, after) if bare and not things else (None, place)


def _clock_of(hour: int, minute: int | None) -> Cycle:
    if hour >= 24:
        raise ValueError("it may be the night before or after: name the day and 凌晨")
    return clock_time(hour, minute)


def _hour_in(hour: int, part: tuple[int, int]) -> int:
    """Return the hour of 24 that an hour of 12 is in this part of the day."""
    if part[0] < 11:
        return hour % 12 if part[0] == 0 else hour
    if hour == 12:
        return 24 if part[0] >= 17 else 12
    if part[1] > 24 and hour < 5:
        return 24 + hour
    return hour if part == (11, 13) and hour == 11 else hour + 12


def _bare(source: Source, place: int) -> Found | None:
    """Return a name that comes again: 周五, 周末, 夏天, 年底."""
    word = source.han(place)
    named = chinese_holiday(source, place)
    if named is not None:
        return named
    if word in WEEKDAYS:
        return Found(weekday(WEEKDAYS[word], source.calendar), place + 1)
    if word == "周末":
        return Found(weekend(source.calendar), place + 1)
    if word in SEASONS:
        cycle = months_of_year(SEASONS[word], 3, Grain.QUARTER)
        return Found(cycle, place + 1, Doubt.PREPOSITION)
    for thirds, whole in (
        (_YEAR_THIRDS, months_of_year(1, 12, Grain.YEAR)),
        (_MONTH_THIRDS, _any_month()),
    ):
        if word in thirds:
            part = third(whole, thirds[word])
            return None if part is None else Found(part, place + 1, Doubt.PREPOSITION)
    return None


def _any_month() -> Cycle:
    return Cycle(
        Grain.MONTH,
        Grain.MONTH,
        lambda day: months(day.year * 12 + day.month - 1, 1, Grain.MONTH),
    )


def _grain(word: str) -> Grain | None:
    name = UNITS.get(word)
    return None if name is None else ENGLISH_UNITS[name][0]


_READERS: tuple[Callable[[Source, int], Found | None], ...] = (
    _day,
    _modified,
    _past,
    _counted,
    _date,
    _numbered,
    _clock,
    _bare,
)
