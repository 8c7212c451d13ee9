"""A time as a caller gives it, read as the moment that the argument means."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, timedelta

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.timestamps import in_zone, read_moment
from infinite_memory.times.calendar import WeekStart
from infinite_memory.times.parser import is_now, read_as_of, read_exactly

_DAY = timedelta(hours=20)
_HOUR = timedelta(hours=1)
_NOON = 12
_ENDS = ("date_to", "expires_at")
"""The arguments that mean the end of a time; of a day, its last moment."""
_BOUNDS = ("since", "until", "date_from")
_PLANS = ("valid_to", "expires_at")


def read_time(
    value: object,
    name: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> datetime:
    """Return the moment in UTC that a date or a text means as the argument `name`.

    A date with a time is that moment. Of a longer time, as_of means the last moment that is over,
    and happened_at a single one, see `_choose_moment`; `_ENDS` mean its end, and other arguments,
    such as since, until, valid_from and valid_to, its beginning; valid_to means the end of a time
    that goes on. For `_PLANS` "Friday" is the next one, for others the last one. Words may be vague
    for `_BOUNDS` alone.

    Raises:
        InvalidInput: the value is neither, cannot be read, or has no such moment.
    """
    words = value.isoformat() if isinstance(value, date) else value
    if not isinstance(words, str):
        raise InvalidInput(
            f'{name} must be a datetime, a date, or a text such as "2026-06-05T14:30" or'
            f' "last Tuesday", not {value!r:.100}'
        )
    if name == "as_of":
        return read_as_of(words, now=now, zone=zone, week_start=week_start)
    if is_now(words):
        return now
    if name not in _ENDS or not _is_date(words):
        with suppress(InvalidInput):
            return read_moment(words, zone)
    vague, plans = name in _BOUNDS, name in _PLANS
    stretch = read_exactly(
        words, now=now, zone=zone, week_start=week_start, vague=vague, plans=plans
    )
    start, end, is_end = stretch.start, stretch.end, name in _ENDS
    if name == "expires_at" and start is not None and end is not None:
        # "In two hours" and "at noon" are read as an hour.
        is_end = end - start > _HOUR or start <= now
    if name == "valid_to" and start is not None and start <= now:
        is_end = end is None or end > now
    moment = end if is_end else start
    if moment is None:
        lack = "end" if is_end else "beginning"
        raise InvalidInput(
            f"{name} {words!r:.100} has no {lack}: name a day or a time, such as"
            ' "last Tuesday" or "2026-06-05T14:30"'
        )
    return _choose_moment(moment, end, now, zone) if name == "happened_at" else moment


def _choose_moment(
    start: datetime, end: datetime | None, now: datetime, zone: str | None
) -> datetime:
    """Return the moment of an event that happened from `start` to `end`.

    It is the start if that is less than a day ("yesterday at 9"), or a day before noon ("today"),
    and otherwise noon of its first day, which no time zone near moves to another day.
    """
    if end is not None and end - start < _DAY:
        return start
    noon = in_zone(start, zone).replace(hour=_NOON, minute=0, second=0, microsecond=0)
    moment = max(start, noon.astimezone(start.tzinfo))
    return start if start <= now < moment else moment


def _is_date(words: str) -> bool:
    """Return whether the words are a date in ISO 8601 without a time."""
    try:
        date.fromisoformat(words.strip())
    except ValueError:
        return False
    return True
