"""Recurrences of iCalendar (RFC 5545, section 3.3.10), by python-dateutil."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from itertools import takewhile
from typing import Any

from attrs import define, field

from infinite_memory.core.errors import ConfigurationError, InvalidInput, requiring
from infinite_memory.features.reminders.triggers.rules.dates import read_local_time
from infinite_memory.features.reminders.triggers.rules.moment import Moment

_DAY = timedelta(days=1)
_LONGEST_MINUTES = 366 * 24 * 60
_MOST_TIMES = 10_000
_LONGEST_COUNT = 100 * 366 * _DAY
_MOST_CHARS = 500
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_PARTS = (
    *("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYSETPOS", "BYMONTH", "BYMONTHDAY"),
    *("BYYEARDAY", "BYWEEKNO", "BYDAY", "BYHOUR", "BYMINUTE"),
)
_DAYS = ("BYDAY", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO")
_LETTERS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_MOST_TIMES_A_DAY = 96
# The days of the month and of the week repeat after 400 years.
_CYCLE_YEARS = 400
_LATEST_YEAR = 9899
_FIRST_START = datetime(2000, 1, 1)  # noqa: DTZ001 - a time on the clock of any zone
_LAST = datetime(9998, 1, 1)  # noqa: DTZ001
_UNTIL = re.compile(r"([0-9]{8})(?:T([0-9]{6})(Z?))?")
_EXAMPLE = '{"recurs": "FREQ=WEEKLY;BYDAY=MO", "start": "2026-01-05"}'


def compile_recurs(rules: Mapping[str, object], place: str) -> Callable[[Moment], bool]:
    """Return the check whether an occurrence lasts at the moment.

    `rules` has `recurs`, a rule of iCalendar; `start`, the first day or time; and `lasts_minutes`,
    without which an occurrence lasts for the whole of its day. All times are on the clock of the
    configured zone. Without a `start`, a rule that does not need it has always recurred.

    Raises:
        InvalidInput: a part of them cannot be used.
        ConfigurationError: the package that lists the occurrences is not installed.
    """
    parts = _read_rule(rules["recurs"], place)
    start = _FIRST_START
    if "start" in rules:
        start = read_local_time(rules["start"], place.removesuffix("recurs") + "start")
    else:
        _check_without_start(parts, place)
    minutes = rules.get("lasts_minutes")
    lasts = None if minutes is None else _read_minutes(minutes, place.removesuffix("recurs"))
    until = _read_until(parts.pop("UNTIL", None), place)
    _fill_from_start(parts, start)
    recurrence = _Recurrence(parts=parts, start=start, until=until, lasts=lasts)
    try:
        recurrence.begin()
    except ConfigurationError:
        raise
    # dateutil raises whatever its arithmetic meets.
    except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
        raise InvalidInput(
            f"{place}: {rules['recurs']!r:.200} cannot be used ({error!s:.100}): write a rule of"
            f" iCalendar, as in {_EXAMPLE}"
        ) from error
    return recurrence.holds


@define(eq=False, kw_only=True)
class _Recurrence:
    """The occurrences of a rule; the occurrences of the last day that was asked about are kept."""

    parts: dict[str, str]
    start: datetime
    until: datetime | None
    lasts: timedelta | None
    _counted: list[datetime] | None = field(default=None, init=False)
    _kept: tuple[date, list[datetime]] | None = field(default=None, init=False)

    def begin(self) -> None:
        """List the occurrences of a rule that ends by a count; any further rule is tried out.

        Raises:
            ValueError: the rule cannot be used, or never comes.
        """
        # A rule that never comes is followed to the end of the calendar, which this brings near.
        years = (_LATEST_YEAR - self.start.year) // _CYCLE_YEARS * _CYCLE_YEARS
        start = self.start.replace(year=self.start.year + years)
        begins = iter(self._make_rule(start, self.parts))
        if "COUNT" in self.parts:
            last = start + _LONGEST_COUNT
            counted = takewhile(lambda begin: begin < last, begins)
            self._counted = [begin.replace(year=begin.year - years) for begin in counted]
            if len(self._counted) < int(self.parts["COUNT"]):
                raise ValueError("it does not come so often within 100 years")
        elif next(begins, None) is None:
            raise ValueError("it does not come within 100 years")

    def holds(self, moment: Moment) -> bool:
        """Return whether an occurrence lasts at the moment."""
        now = moment.local
        if not self.start <= now < _LAST:
            return False
        begins = self._counted
        if begins is None:
            kept = self._kept
            if kept is None or kept[0] != now.date():
                kept = self._kept = (now.date(), self._list_around(now))
            begins = kept[1]
        position = bisect_right(begins, now)
        if not position:
            return False
        last = begins[position - 1]
        if self.until is not None and last > moment.local_time(self.until):
            return False
        return last.date() == now.date() if self.lasts is None else now < last + self.lasts

    def _list_around(self, now: datetime) -> list[datetime]:
        """Return the occurrences that may last on the day of `now`, in order.

        Only a whole number of periods is skipped, so the rule counts as if from its start.
        """
        since = max(self.start, now - (self.lasts or _DAY) - _DAY)
        until = datetime.combine(now.date(), datetime.min.time()) + _DAY
        rule = self._make_rule(self._skip_to(since), self.parts)
        occurrences: list[datetime] = rule.between(since, until, inc=True)
        return [begin for begin in occurrences if begin >= self.start]

    def _skip_to(self, moment: datetime) -> datetime:
        """Return the beginning of the last period before `moment` in which the rule recurs."""
        interval, start = int(self.parts.get("INTERVAL", 1)), self.start
        frequency = self.parts["FREQ"]
        if frequency in ("DAILY", "WEEKLY"):
            days = interval
            if frequency == "WEEKLY":
                days *= 7
                first = _LETTERS.index(self.parts.get("WKST", "MO"))
                start -= ((start.weekday() - first) % 7) * _DAY
            return start + max(0, (moment - start).days // days) * days * _DAY
        months = interval * (1 if frequency == "MONTHLY" else 12)
        begun = start.year * 12 + (start.month - 1 if frequency == "MONTHLY" else 0)
        passed = moment.year * 12 + moment.month - 1 - begun
        month = begun + max(0, passed // months) * months
        return start.replace(year=month // 12, month=month % 12 + 1, day=1)

    def _make_rule(self, start: datetime, parts: Mapping[str, str]) -> Any:
        with requiring("triggers", "to use recurrences", "give dates"):
            from dateutil.rrule import rrulestr  # noqa: PLC0415 - it takes 20 ms to load

        return rrulestr(";".join(f"{name}={value}" for name, value in parts.items()), dtstart=start)


def _read_rule(value: object, place: str) -> dict[str, str]:
    text = value.strip().upper().removeprefix("RRULE:") if isinstance(value, str) else ""
    parts = dict(_split_parts(text))
    if len(text) > _MOST_CHARS or "FREQ" not in parts:
        raise InvalidInput(
            f"{place}: {value!r:.100} is no rule of iCalendar: write it as in {_EXAMPLE}"
        )
    for name, part in parts.items():
        if name not in _PARTS:
            raise InvalidInput(
                f"{place}: there is no part {name!r:.40}: a rule has {', '.join(_PARTS)}"
            )
        if not part:
            raise InvalidInput(f"{place}: {name} is empty: give it a value, or leave it out")
    if parts["FREQ"] not in _FREQUENCIES:
        raise InvalidInput(
            f"{place}: FREQ={parts['FREQ']:.40} cannot be used: give {', '.join(_FREQUENCIES)}; for"
            ' hours of the day, add "between": "09:00-10:00"'
        )
    for name, high in (("INTERVAL", 1000), ("COUNT", _MOST_TIMES)):
        number = parts.get(name, "1")
        if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= high):
            raise InvalidInput(f"{place}: {name}={number:.40} cannot be used: give 1 to {high:,}")
    times = math.prod(parts.get(name, "").count(",") + 1 for name in ("BYHOUR", "BYMINUTE"))
    if times > _MOST_TIMES_A_DAY:
        raise InvalidInput(
            f"{place}: it comes {times:,} times a day and the limit is {_MOST_TIMES_A_DAY}: give"
            ' lasts_minutes, or "between": "09:00-17:00"'
        )
    if "COUNT" in parts and "UNTIL" in parts:
        raise InvalidInput(f"{place}: COUNT and UNTIL exclude each other: leave one of them out")
    return parts


def _split_parts(text: str) -> Iterator[tuple[str, str]]:
    for part in text.rstrip(";").split(";"):
        name, _, value = part.partition("=")
        yield name.strip(), value.strip()


def _check_without_start(parts: Mapping[str, str], place: str) -> None:
    is_complete = parts["FREQ"] == "DAILY" or any(name in parts for name in _DAYS)
    if not is_complete or parts.get("INTERVAL", "1") != "1" or "COUNT" in parts:
        raise InvalidInput(
            f'{place}: this rule counts from a first day: add "start", such as "2026-01-05", or'
            ' "2026-01-05T09:00"'
        )


def _fill_from_start(parts: dict[str, str], start: datetime) -> None:
    """Write the parts into a rule that it leaves to its start; see RFC 5545, section 3.3.10."""
    if not any(name in parts for name in _DAYS):
        if parts["FREQ"] == "WEEKLY":
            parts["BYDAY"] = _LETTERS[start.weekday()]
        elif parts["FREQ"] in ("MONTHLY", "YEARLY"):
            parts["BYMONTHDAY"] = str(start.day)
            if parts["FREQ"] == "YEARLY":
                parts.setdefault("BYMONTH", str(start.month))


def _read_minutes(value: object, place: str) -> timedelta:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < float(str(value)) <= _LONGEST_MINUTES:
        raise InvalidInput(
            f"{place}lasts_minutes {value!r:.100} cannot be used: give a number of minutes, up to a"
            " year"
        )
    return timedelta(minutes=float(str(value)))


def _read_until(text: str | None, place: str) -> datetime | None:
    """Return the last time at which an occurrence may begin, None without a limit."""
    if text is None:
        return None
    match = _UNTIL.fullmatch(text)
    try:
        if match is None:
            raise ValueError("it is not in the form YYYYMMDD or YYYYMMDDThhmmssZ")
        moment = datetime.strptime(match[1] + (match[2] or "235959"), "%Y%m%d%H%M%S")  # noqa: DTZ007
    except ValueError as error:
        raise InvalidInput(
            f"{place}: UNTIL={text:.40} cannot be read ({error}): write UNTIL=20261231"
        ) from error
    return moment.replace(tzinfo=UTC) if match[3] else moment
