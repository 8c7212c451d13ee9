"""A time as a caller gives it, read as the moment that the argument means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.timestamps import in_zone, read_moment
from infinite_memory.times.calendar import WeekStart
from infinite_memory.times.parser import read_as_of, read_exactly

_DAY = timedelta(hours=20)
_NOON = 12


def read_time(
    value: object,
    name: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> datetime:
    """Return the moment in UTC that a date or a text means as the argument `name`.

    Which moment of a day or a longer time it is depends on the argument: see `_READERS`. Others,
    such as since, until, valid_from and valid_to, mean its beginning.

    Raises:
        InvalidInput: the value is neither, or cannot be read.
    """
    words = value.isoformat() if isinstance(value, date) else value
    if not isinstance(words, str):
        raise InvalidInput(
            f'{name} must be a datetime, a date, or a text such as "2026-06-05T14:30" or'
            f' "last Tuesday", not {value!r:.100}'
        )
    read = _READERS.get(name, read_start)
    return read(words, now=now, zone=zone, week_start=week_start)


def read_happened(
    words: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> datetime:
    """Return the moment in UTC at which something happened, in ISO 8601 or in words.

    Words mean a range. Its moment is its start if it is shorter than a day ("yesterday at 9"), and
    otherwise noon of its first day ("last Tuesday", "March 2024"), which no time zone near moves to
    another day. A range that has begun and has not ended gives no moment later than `now`.

    Raises:
        InvalidInput: the words cannot be read, or the range has no beginning.
    """
    try:
        return read_moment(words, zone)
    except InvalidInput:
        stretch = read_exactly(words, now=now, zone=zone, week_start=week_start, vague=False)
    if stretch.start is None:
        raise InvalidInput(
            f"happened_at {words!r:.100} has no beginning: name a day or a time, such as"
            ' "last Tuesday" or "2026-06-05T14:30"'
        )
    if stretch.end is not None and stretch.end - stretch.start < _DAY:
        return stretch.start
    noon = in_zone(stretch.start, zone).replace(hour=_NOON, minute=0, second=0, microsecond=0)
    moment = max(stretch.start, noon.astimezone(stretch.start.tzinfo))
    return min(moment, now) if stretch.start <= now else moment


def read_start(
    words: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> datetime:
    """Return the first moment in UTC of a time in ISO 8601 or in words: a bound of a search.

    Raises:
        InvalidInput: the words cannot be read, or the time has no beginning.
    """
    try:
        return read_moment(words, zone)
    except InvalidInput:
        stretch = read_exactly(words, now=now, zone=zone, week_start=week_start)
    if stretch.start is None:
        raise InvalidInput(f"the time {words!r:.100} has no beginning: give when instead")
    return stretch.start


def read_end(
    words: str,
    *,
    now: datetime,
    zone: str | None,
    week_start: WeekStart | str = WeekStart.MONDAY,
) -> datetime:
    """Return the end in UTC of a time in ISO 8601 or in words: of a day, its last moment.

    A date with a time is that moment.

    Raises:
        InvalidInput: the words cannot be read, or the time has no end.
    """
    if not _is_date(words):
        try:
            return read_moment(words, zone)
        except InvalidInput:
            pass
    stretch = read_exactly(words, now=now, zone=zone, week_start=week_start, vague=False)
    if stretch.end is None:
        raise InvalidInput(
            f'the time {words!r:.100} has no end: name a day, such as "2026-12-31" or "in 30 days"'
        )
    return stretch.end


_READERS: Mapping[str, Callable[..., datetime]] = {
    "happened_at": read_happened,
    "as_of": read_as_of,
    "date_to": read_end,
    "expires_at": read_end,
}


def _is_date(words: str) -> bool:
    """Return whether the words are a date in ISO 8601 without a time."""
    try:
        date.fromisoformat(words.strip())
    except ValueError:
        return False
    return True
