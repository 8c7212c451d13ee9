"""Parts of rules about the date, the day of the week and the time of the day.

A time without an offset is the time on the clock in the configured time zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time

from infinite_memory.core.errors import InvalidInput
from infinite_memory.features.reminders.triggers.rules.moment import Moment
from infinite_memory.features.reminders.triggers.rules.values import list_texts

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_YEARLY = re.compile(r"(?:--)?([0-9]{1,2})-([0-9]{1,2})")
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})")
_SPAN = re.compile(r"\s*(\S+?)\s*(?:-|–|to|until)\s*(\S+)\s*")
_LEAP_YEAR = 2000
_MIDNIGHT = 24 * 60
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_GROUPS = {"weekdays": range(5), "weekend": range(5, 7), "weekends": range(5, 7)}


def compile_on(value: object, place: str) -> Callable[[Moment], bool]:
    """Return the check of the day: "2026-07-17", "07-17" of any year, or a list of days."""
    days: set[date] = set()
    yearly: set[tuple[int, int]] = set()
    for text in list_texts(value, place):
        match = _YEARLY.fullmatch(text.strip())
        try:
            if match:
                month, day = int(match[1]), int(match[2])
                date(_LEAP_YEAR, month, day)
                yearly.add((month, day))
            else:
                days.add(_read_day(text.strip()))
        except ValueError as error:
            raise InvalidInput(
                f"{place}: {text!r:.100} cannot be read ({error}): write a day as 2026-07-17, or as"
                " 07-17 (month-day) for every year"
            ) from error

    def check(moment: Moment) -> bool:
        today = moment.local.date()
        return today in days or (today.month, today.day) in yearly

    return check


def compile_since(value: object, place: str) -> Callable[[Moment], bool]:
    """Return the check whether a day or a moment has begun."""
    begin = _read_limit(value, place)
    if isinstance(begin, datetime):
        return lambda moment: moment.local >= moment.local_time(begin)
    return lambda moment: moment.local.date() >= begin


def compile_until(value: object, place: str) -> Callable[[Moment], bool]:
    """Return the check whether a day is not over yet, or a moment not reached."""
    end = _read_limit(value, place)
    if isinstance(end, datetime):
        return lambda moment: moment.local < moment.local_time(end)
    return lambda moment: moment.local.date() <= end


def compile_between(value: object, place: str) -> Callable[[Moment], bool]:
    """Return the check whether the time of the day is in a span or a list of spans.

    A span is "22:00-06:00". Its end does not belong to it, and it may go past midnight.
    """
    texts = list_texts(value, place)
    if len(texts) == 2 and all(_TIME.fullmatch(text.strip()) for text in texts):
        texts = ["-".join(texts)]
    spans = [_read_span(text, place) for text in texts]

    def check(moment: Moment) -> bool:
        minute = moment.local.hour * 60 + moment.local.minute
        return any(
            begin <= minute < end if begin < end else minute >= begin or minute < end
            for begin, end in spans
        )

    return check


def compile_weekdays(value: object, place: str) -> Callable[[Moment], bool]:
    """Return the check of the day of the week: "Monday", "mon", "weekdays" or "weekend"."""
    days: set[int] = set()
    for text in list_texts(value, place):
        name = text.strip().lower()
        days.update(_GROUPS.get(name, ()))
        if name not in _GROUPS:
            known = [day for day in range(7) if _WEEKDAYS[day].startswith(name) and len(name) > 1]
            if not known:
                raise InvalidInput(
                    f"{place}: {text!r:.100} is no day of the week: write Monday or mon to Sunday,"
                    " weekdays or weekend"
                )
            days.update(known)
    return lambda moment: moment.local.weekday() in days


def read_local_time(value: object, place: str) -> datetime:
    """Return a day, at its beginning, or a time on the clock, without an offset.

    Raises:
        InvalidInput: it is neither.
    """
    limit = _read_limit(value, place)
    moment = limit if isinstance(limit, datetime) else datetime.combine(limit, time())
    if moment.tzinfo is not None:
        raise InvalidInput(
            f"{place}: {value!r:.100} has an offset: leave it out, since the time of a recurrence"
            " is that of the configured time zone"
        )
    return moment


def _read_limit(value: object, place: str) -> date | datetime:
    try:
        if not isinstance(value, str):
            raise ValueError("it is no text")
        text = value.strip()
        if _DAY.fullmatch(text):
            return _read_day(text)
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None and not date.min.year < moment.year < date.max.year:
            raise ValueError("on some clocks it lies outside the calendar")
        return moment
    except ValueError as error:
        raise InvalidInput(
            f"{place}: {value!r:.100} cannot be read ({error}): write a day as 2026-12-24, or a"
            " moment as 2026-12-24T18:00"
        ) from error


def _read_day(text: str) -> date:
    if not _DAY.fullmatch(text):
        raise ValueError("it is not in the form YYYY-MM-DD")
    return date.fromisoformat(text)


def _read_span(text: str, place: str) -> tuple[int, int]:
    match = _SPAN.fullmatch(text)
    times: Sequence[int | None] = [_read_minute(part) for part in match.groups()] if match else []
    if len(times) != 2 or times[0] is None or times[1] is None or times[0] == times[1]:
        raise InvalidInput(
            f"{place}: {text!r:.100} is no span of the day: write two times as 09:00-17:30, or past"
            " midnight as 22:00-06:00"
        )
    return times[0], times[1]


def _read_minute(text: str) -> int | None:
    """Return the minute of the day of a time such as "09:30", None if it is none."""
    match = _TIME.fullmatch(text)
    if match is None or int(match[2]) >= 60:
        return None
    minute = int(match[1]) * 60 + int(match[2])
    return minute if minute <= _MIDNIGHT else None
