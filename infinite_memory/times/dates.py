"""Times written with digits: dates, years, quarters, times of day."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

from infinite_memory.times.calendar import Grain, Period, days, months
from infinite_memory.times.clock import twelve_hour_time
from infinite_memory.times.recurring import (
    Cycle,
    Time,
    clock_time,
    day_of_month,
    day_of_year,
    iso_week,
    months_of_year,
)
from infinite_memory.times.tokenizer import Cursor, Doubt, Match, Token
from infinite_memory.times.words import MONTHS

_SENTENCE_YEARS = range(1900, 2100)


def match_digits(cursor: Cursor, position: int) -> Match | None:
    """Return the time that a single token with digits means, None if it means none.

    Raises:
        ValueError: there is no such date or time, or the token can be read in two ways.
    """
    token = cursor.at(position)
    if token is None or token.kind not in _READERS:
        return None
    time, doubt = _READERS[token.kind](token)
    return None if time is None else Match(time, position + 1, doubt)


_Reading = tuple[Time | None, Doubt]


def _read_iso(token: Token) -> _Reading:
    year, month, day, hour, minute, second, fraction, offset = token.groups
    day_date = date(_to_int(year), _to_int(month), _to_int(day))
    if hour is None:
        return days(day_date, 1, Grain.DAY), Doubt.NONE
    micros = _to_int((fraction or "")[:6].ljust(6, "0"))
    start = datetime(  # noqa: DTZ001 - on the user's clock
        day_date.year,
        day_date.month,
        day_date.day,
        _to_int(hour),
        _to_int(minute),
        _to_int(second or "0"),
        micros,
    )
    length, grain = timedelta(minutes=1), Grain.MINUTE
    if second is not None:
        length, grain = timedelta(seconds=1), Grain.SECOND
    if fraction is not None:
        length = timedelta(microseconds=1)
    if offset is not None:
        # `datetime.fromisoformat` also reads an offset without minutes.
        zone = datetime.fromisoformat(f"2000-01-01T00:00{offset.upper()}").tzinfo
        start = start.replace(tzinfo=zone).astimezone(UTC)
    try:
        return Period(start, start + length, grain), Doubt.NONE
    except OverflowError:
        # The last possible moment, which may still end a range.
        return Period(start, start, grain), Doubt.NONE


def _read_iso_span(token: Token) -> _Reading:
    first, last = (date.fromisoformat(text or "") for text in token.groups)
    if last < first:
        raise ValueError("it ends before it begins")
    return days(first, (last - first).days + 1, Grain.MOMENT), Doubt.NONE


def _read_week(token: Token) -> _Reading:
    year, week, day = token.groups
    first = date.fromisocalendar(_to_int(year), _to_int(week), _to_int(day or "1"))
    if day is not None:
        return days(first, 1, Grain.DAY), Doubt.NONE
    return days(first, 7, Grain.WEEK), Doubt.NONE


def _read_week_number(token: Token) -> _Reading:
    # W46 may also be the name of a thing.
    return iso_week(_to_int(token.groups[0])), Doubt.COMPANY


def _read_quarter(token: Token) -> _Reading:
    return _read_part_of_year(token, 3, Grain.QUARTER, Doubt.NONE)


def _read_quarters(token: Token) -> _Reading:
    first, last = map(_to_int, token.groups)
    if last <= first:
        return None, Doubt.NONE
    return months_of_year(3 * first - 2, 3 * (last - first + 1), Grain.HALF), Doubt.NONE


def _read_half(token: Token) -> _Reading:
    return _read_part_of_year(token, 6, Grain.HALF, Doubt.PREPOSITION)


def _read_part_of_year(token: Token, length: int, grain: Grain, doubt: Doubt) -> _Reading:
    before, number, after = token.groups
    first = (_to_int(number) - 1) * length + 1
    if before is not None and after is not None:
        raise ValueError("it names two years")
    year = before or after
    if year is None:
        return months_of_year(first, length, grain), doubt
    return months(_to_int(year) * 12 + first - 1, length, grain), Doubt.NONE


def _read_slashed_date(token: Token) -> _Reading:
    first, sign, second, third = (part or "" for part in token.groups)
    if len(first) == 4 and len(third) <= 2:
        if sign == "." and len(second + third) < 4:
            # In a sentence 2024.1.2 may be a version.
            if _to_int(first) not in _SENTENCE_YEARS:
                return None, Doubt.NONE
            return _day_of(_to_int(first), _to_int(second), _to_int(third)), Doubt.COMPANY
        if sign == "-":
            return _day_of(_to_int(first), _to_int(second), _to_int(third)), Doubt.PREPOSITION
        return _day_of(_to_int(first), _to_int(second), _to_int(third)), Doubt.NONE
    if len(third) not in (2, 4) or len(first) > 2 or sign == "-":
        return None, Doubt.NONE
    day, month, year = _to_int(first), _to_int(second), _full_year(third)
    if sign == "/":
        if day <= 12 and month <= 12 and day != month:
            raise ValueError("it may be day and month, or month and day: write YYYY-MM-DD")
        if month > 12:
            day, month = month, day
    if len(third) == 4:
        return _day_of(year, month, day), Doubt.NONE
    # In a sentence 1.2.26 may be a version.
    return _day_of(year, month, day), Doubt.PREPOSITION if sign == "/" else Doubt.COMPANY


def _read_day_and_month(token: Token) -> _Reading:
    day, month = map(_to_int, token.groups)
    return day_of_year(month, day), Doubt.COMPANY


def _full_year(text: str) -> int:
    """Return a year; two digits as POSIX reads them: 69 to 99 belong to the 20th century."""
    year = _to_int(text)
    return year if len(text) == 4 else year + (1900 if year >= 69 else 2000)


def _read_month(token: Token) -> _Reading:
    year, month = map(_to_int, token.groups)
    date(year, month, 1)
    return months(year * 12 + month - 1, 1, Grain.MONTH), Doubt.NONE


def _read_month_year(token: Token) -> _Reading:
    month, year = map(_to_int, token.groups)
    # In a sentence 12/2500 may be a fraction.
    doubt = Doubt.PREPOSITION if year in _SENTENCE_YEARS else Doubt.COMPANY
    return months(year * 12 + month - 1, 1, Grain.MONTH), doubt


def _read_years(token: Token) -> _Reading:
    first, last = map(_to_int, token.groups)
    if last <= first:
        return None, Doubt.NONE
    return Period(_start_of_year(first), _start_of_year(last + 1), Grain.MOMENT), Doubt.PREPOSITION


def _read_decade(token: Token) -> _Reading:
    full, short = token.groups
    first = _to_int(full) * 10 if full is not None else 1900 + _to_int(short) * 10
    return months(first * 12, 120, Grain.DECADE), Doubt.PREPOSITION


def _read_month_name(token: Token) -> _Reading:
    day, month, year = token.groups
    return _day_of(_to_int(year), MONTHS[(month or "").lower()], _to_int(day)), Doubt.NONE


def _read_short_year(token: Token) -> _Reading:
    year = _full_year(token.groups[0] or "")
    return months(year * 12, 12, Grain.YEAR), Doubt.COMPANY


def _read_clock(token: Token) -> _Reading:
    hour, minute, second, half = token.groups
    seconds = None if second is None else _to_int(second)
    is_twelve_hour = 1 <= _to_int(hour) <= 12 and token.value[0] != "0"
    if is_twelve_hour and half is None and second is None:
        # 9:00 is nine o'clock, and either may be 21:00.
        return twelve_hour_time(
            _to_int(hour), _to_int(minute) or None, spoken=False
        ), Doubt.PREPOSITION
    return clock_time(_hour_of_24(hour, half), _to_int(minute), seconds), Doubt.PREPOSITION


def _read_ampm(token: Token) -> _Reading:
    hour, half = token.groups
    return clock_time(_hour_of_24(hour, half)), Doubt.NONE


def _read_number(token: Token) -> _Reading:
    number, suffix = token.groups
    if suffix is not None:
        return _read_ordinal(_to_int(number)), Doubt.COMPANY
    if len(number or "") == 8:
        return _read_compact_date(number or "")
    if len(number or "") != 4:
        return None, Doubt.NONE
    year = _to_int(number)
    doubt = Doubt.PREPOSITION if year in _SENTENCE_YEARS else Doubt.COMPANY
    return months(year * 12, 12, Grain.YEAR), doubt


def _read_compact_date(number: str) -> _Reading:
    year, month, day = _to_int(number[:4]), _to_int(number[4:6]), _to_int(number[6:])
    # Eight digits that are not a date are another number.
    if year not in _SENTENCE_YEARS or not 1 <= month <= 12:
        return None, Doubt.NONE
    if not 1 <= day <= monthrange(year, month)[1]:
        return None, Doubt.NONE
    return _day_of(year, month, day), Doubt.PREPOSITION


def _read_ordinal(number: int) -> Cycle:
    return day_of_month(number)


def _hour_of_24(text: str | None, half: str | None) -> int:
    hour = _to_int(text)
    if half is None:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError("the hours of a.m. and p.m. are 1 to 12")
    return hour % 12 + (12 if half.lower() == "p" else 0)


def _day_of(year: int, month: int, day: int) -> Period:
    return days(date(year, month, day), 1, Grain.DAY)


def _start_of_year(year: int) -> datetime:
    return datetime(year, 1, 1)  # noqa: DTZ001 - on the user's clock


def _to_int(text: str | None) -> int:
    return int(text or "0")


_READERS: dict[str, Callable[[Token], _Reading]] = {
    "iso": _read_iso,
    "isospan": _read_iso_span,
    "isoweek": _read_week,
    "weeknumber": _read_week_number,
    "quarter": _read_quarter,
    "quarters": _read_quarters,
    "half": _read_half,
    "slashed": _read_slashed_date,
    "isomonth": _read_month,
    "monthyear": _read_month_year,
    "years": _read_years,
    "decade": _read_decade,
    "shortyear": _read_short_year,
    "daymonth": _read_day_and_month,
    "monthname": _read_month_name,
    "clock": _read_clock,
    "ampm": _read_ampm,
    "number": _read_number,
}
