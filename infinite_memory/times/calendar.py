"""The user's calendar: days, weeks, months and years around the present moment.

A time is a naive datetime on the user's clock. Its `fold` marks the second pass of an hour that
occurs twice. A time that the clocks skip means the same distance after the change: a day without a
midnight begins with its first moment.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, time, timedelta
from enum import IntEnum, StrEnum

from attrs import field, frozen

from infinite_memory.core.clock import find_zone
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.time_range import TimeRange


class WeekStart(StrEnum):
    """The day that a week begins with."""

    MONDAY = "monday"
    SATURDAY = "saturday"
    SUNDAY = "sunday"


_FIRST_DAYS = {WeekStart.MONDAY: 0, WeekStart.SATURDAY: 5, WeekStart.SUNDAY: 6}


class Grain(IntEnum):
    """How coarse a period is; `MOMENT` is a period that no finer time can refine."""

    MOMENT = 0
    SECOND = 1
    MINUTE = 2
    HOUR = 3
    PART = 4
    DAY = 5
    WEEKEND = 6
    WEEK = 7
    FORTNIGHT = 8
    THIRD = 9
    MONTH = 10
    QUARTER = 11
    HALF = 12
    YEAR = 13
    DECADE = 14


_ELAPSING = {
    Grain.SECOND: timedelta(seconds=1),
    Grain.MINUTE: timedelta(minutes=1),
    Grain.HOUR: timedelta(hours=1),
}
_MONTHS = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.HALF: 6, Grain.YEAR: 12, Grain.DECADE: 120}
_HALVES = {
    Grain.HOUR: (Grain.MINUTE, 30),
    Grain.DAY: (Grain.HOUR, 12),
    Grain.MONTH: (Grain.DAY, 15),
    Grain.YEAR: (Grain.MONTH, 6),
}
HALVED = frozenset(_HALVES)
"""The units that may be halved, as in "half a year"."""

_DAYS = {Grain.DAY: 1, Grain.WEEK: 7, Grain.FORTNIGHT: 14}


@frozen
class Period:
    """A half-open period on the user's clock; None means without bound.

    A bound is aware if the words gave an offset from UTC.
    """

    start: datetime | None
    end: datetime | None
    grain: Grain = Grain.MOMENT


def _to_utc(moment: datetime) -> datetime:
    # Adding hours to a datetime of another zone would ignore changes of its clock.
    return moment.astimezone(UTC)


@frozen(kw_only=True)
class Calendar:
    """The user's clock and calendar at the moment `now`, which is aware.

    `zone` is an IANA name, None for the machine's time zone. `plans` says that of the days that a
    name may mean, such as "Friday", the next one is meant, and not the last one.
    """

    now: datetime = field(converter=_to_utc)
    zone: str | None
    week_start: WeekStart
    plans: bool = False
    clock: datetime = field(init=False)
    today: date = field(init=False)

    def __attrs_post_init__(self) -> None:
        clock = self.local(self.now)
        object.__setattr__(self, "clock", clock)
        object.__setattr__(self, "today", clock.date())

    def utc(self, moment: datetime) -> datetime:
        """Return a time on the user's clock as an aware datetime in UTC."""
        if moment.tzinfo is None and self.zone is not None:
            moment = moment.replace(tzinfo=find_zone(self.zone))
        return moment.astimezone(UTC)

    def local(self, moment: datetime) -> datetime:
        """Return the time on the user's clock at an aware datetime."""
        zone = None if self.zone is None else find_zone(self.zone)
        local_time = moment.astimezone(zone).replace(tzinfo=None, fold=0)
        return local_time if self.utc(local_time) == moment else local_time.replace(fold=1)

    def range_of(self, period: Period) -> TimeRange:
        """Return a period as a range in UTC."""
        return TimeRange(
            None if period.start is None else self.utc(period.start),
            None if period.end is None else self.utc(period.end),
        )

    def day_of(self, moment: datetime) -> tuple[date, datetime | None]:
        """Return the day of an aware datetime, and the start of the next day in UTC.

        A day lasts from its midnight to the next, as in `unit`. The last possible day has no next
        day. A local time outside the years 1 to 9999 is replaced by the time in UTC.
        """
        try:
            day = self.local(moment).date()
            # The clocks may change over midnight.
            while self.utc(_midnight(day)) > moment:
                day -= timedelta(days=1)
            while (end := self.utc(_midnight(day + timedelta(days=1)))) <= moment:
                day += timedelta(days=1)
        except (ValueError, OverflowError, OSError):
            day = moment.astimezone(UTC).date()
            if day >= date.max:
                return day, None
            end = _midnight(day + timedelta(days=1)).replace(tzinfo=UTC)
        return day, end

    def weekday_of(self, week: date, weekday: int) -> date:
        """Return the day number `weekday`, Monday being 0, of the week that begins on `week`."""
        return week + timedelta(days=(weekday - week.weekday()) % 7)

    def week_of(self, day: date) -> date:
        """Return the first day of the week that `day` is in."""
        return day - timedelta(days=(day.weekday() - _FIRST_DAYS[self.week_start]) % 7)

    def unit(self, grain: Grain, offset: int) -> Period:
        """Return the whole unit of time that lies `offset` units after the present unit."""
        if grain in _ELAPSING:
            return self._clock_unit(grain, offset)
        if grain in _DAYS:
            first = self.today if grain is Grain.DAY else self.week_of(self.today)
            if grain is Grain.FORTNIGHT:
                first -= timedelta(days=7)
            first += offset * timedelta(days=_DAYS[grain])
            return days(first, _DAYS[grain], grain)
        length = _MONTHS[grain]
        present = self.today.year * 12 + self.today.month - 1
        return months(present // length * length + offset * length, length, grain)

    def halves_ago(self, grain: Grain, halves: int) -> Period:
        """Return the time that lies so many halves of an hour, day, month or year back.

        It is the half hour, the hour, the week or the month that contains that moment.
        """
        if grain is Grain.HOUR:
            start = self._back(30 * halves, 30)
            return Period(self.local(start), self.local(start + timedelta(minutes=30)), Grain.HOUR)
        if grain is Grain.DAY:
            return self.unit(Grain.HOUR, -12 * halves)
        if grain is Grain.MONTH:
            return days(self.week_of(self.today - timedelta(days=15 * halves)), 7, Grain.WEEK)
        return self.unit(Grain.MONTH, -6 * halves)

    def quarters_ago(self, quarters: int) -> Period:
        """Return the whole quarter of an hour that lies so many quarters back."""
        start = self._back(15 * quarters, 15)
        return Period(self.local(start), self.local(start + timedelta(minutes=15)), Grain.HOUR)

    def past_halves(self, grain: Grain, halves: int) -> Period:
        """Return the last halves of an hour, day, month (15 days each) or year, up to now."""
        unit, number = _HALVES[grain]
        return self.past(unit, halves * number)

    def past(self, grain: Grain, number: int) -> Period:
        """Return the last `number` hours, or the time since the start of the day so long ago."""
        return Period(self._away(grain, -number), self.clock)

    def coming(self, grain: Grain, number: int) -> Period:
        """Return the next `number` hours, or the time to the end of the day so far ahead."""
        end = self._away(grain, number)
        return Period(self.clock, end if grain in _ELAPSING else end + timedelta(days=1))

    def away(self, grain: Grain, number: int) -> date:
        """Return the day that lies so many days, weeks, months or years after today.

        In a month without such a day it is the last day.
        """
        return self._away(grain, number).date()

    def _away(self, grain: Grain, number: int) -> datetime:
        if grain in _ELAPSING:
            return self.local(self.now + number * _ELAPSING[grain])
        if grain in _DAYS:
            return _midnight(self.today + number * timedelta(days=_DAYS[grain]))
        month = self.today.year * 12 + self.today.month - 1 + number * _MONTHS[grain]
        year, month = month // 12, month % 12 + 1
        date(year, month, 1)
        return datetime(year, month, min(self.today.day, monthrange(year, month)[1]))  # noqa: DTZ001

    def _back(self, minutes: int, step: int) -> datetime:
        """Return the start of the whole `step` minutes of the clock so many minutes back."""
        moment = self.utc(self._clock_unit(Grain.MINUTE, -minutes).start or self.clock)
        return moment - timedelta(minutes=self.local(moment).minute % step)

    def _clock_unit(self, grain: Grain, offset: int) -> Period:
        local_time = self.local(self.now + offset * _ELAPSING[grain])
        since_start = timedelta(microseconds=local_time.microsecond)
        if grain >= Grain.MINUTE:
            since_start += timedelta(seconds=local_time.second)
        if grain >= Grain.HOUR:
            since_start += timedelta(minutes=local_time.minute)
        start = self.utc(local_time) - since_start
        return Period(self.local(start), self.local(start + _ELAPSING[grain]), grain)


def calendar_at(now: datetime, zone: str | None, week_start: WeekStart | str) -> Calendar:
    """Return the user's calendar at the moment `now`.

    Raises:
        InvalidInput: `now` has no time zone, or the zone or the first day of the week is unknown.
    """
    if not isinstance(now, datetime) or now.utcoffset() is None:
        raise InvalidInput(f"now {now!r:.100} has no time zone: give one, such as tzinfo=UTC")
    try:
        return Calendar(now=now, zone=zone, week_start=WeekStart(week_start))
    except (ValueError, OverflowError, OSError, LookupError) as error:
        raise InvalidInput(
            f"now {now.isoformat()}, zone {zone!r:.100}, week_start {week_start!r:.100}"
            f" cannot be used: {error}"
        ) from error


def days(first: date, number: int, grain: Grain) -> Period:
    """Return `number` whole days from `first` on."""
    return Period(_midnight(first), _midnight(first + timedelta(days=number)), grain)


def months(first: int, number: int, grain: Grain) -> Period:
    """Return `number` whole months; `first` counts the months from January of the year 0."""
    end = first + number
    return Period(
        _midnight(date(first // 12, first % 12 + 1, 1)),
        _midnight(date(end // 12, end % 12 + 1, 1)),
        grain,
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time())
