"""Recurring times such as March, Friday or 14:30, and the choice of an occurrence."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta

from attrs import frozen

from infinite_memory.times.calendar import Calendar, Grain, Period, days, months

# The cycles searched on both sides. 29 February occurs up to eight years away.
_CYCLES_AROUND = 9
# The beginning, middle and end of a part of the day, a day and a week, as shares of it.
_SHARES = {
    Grain.PART: ((0, 0.5), (0.25, 0.75), (1 / 3, 1)),
    Grain.DAY: ((0, 0.5), (0.4, 0.7), (2 / 3, 1)),
    Grain.WEEK: ((0, 3 / 7), (1 / 7, 5 / 7), (3 / 7, 1)),
}
_GRAINS_OF_THIRDS = {
    **{Grain.PART: Grain.PART, Grain.DAY: Grain.PART, Grain.WEEK: Grain.WEEKEND},
    **dict.fromkeys((Grain.MONTH, Grain.QUARTER, Grain.YEAR), Grain.THIRD),
}


@frozen
class Cycle:
    """A time that recurs once in every cycle: a day, a week, a month or a year.

    `every` is the length of a cycle. `at` returns the occurrence in the cycle of a day, None if
    that cycle has none.
    """

    grain: Grain
    every: Grain
    at: Callable[[date], Period | None]

    def around(self, calendar: Calendar, day: date) -> Iterator[Period]:
        """Yield the occurrences in the cycles around `day`, in the order of time."""
        for number in range(-_CYCLES_AROUND, _CYCLES_AROUND + 1):
            try:
                occurrence = self.at(_day_in_cycle(calendar, self.every, day, number))
            except (ValueError, OverflowError):
                continue  # Before the year 1, or after 9999.
            if occurrence is not None:
                yield occurrence


Time = Period | Cycle


def resolve_latest(time: Time, calendar: Calendar) -> Period:
    """Return the last occurrence that has begun; it may still be going on."""
    return resolve_latest_before(time, calendar, calendar.clock)


def resolve_latest_before(time: Time, calendar: Calendar, limit: datetime) -> Period:
    """Return the last occurrence that begins at `limit` or before."""
    if isinstance(time, Period):
        return time
    around = time.around(calendar, limit.date())
    return _require_one([occurrence for occurrence in around if _start(occurrence) <= limit][-1:])


def resolve_last(time: Cycle, calendar: Calendar) -> Period:
    """Return the last occurrence that is over."""
    around = time.around(calendar, calendar.today)
    return _require_one(
        [occurrence for occurrence in around if _end(occurrence) <= calendar.clock][-1:]
    )


def resolve_next(time: Cycle, calendar: Calendar, limit: datetime, *, strictly: bool) -> Period:
    """Return the first occurrence that begins after `limit` or, unless `strictly`, at it."""
    around = time.around(calendar, limit.date())
    return _require_one(
        [
            occurrence
            for occurrence in around
            if _start(occurrence) > limit or (not strictly and _start(occurrence) == limit)
        ][:1]
    )


def resolve_this(time: Cycle, calendar: Calendar) -> Period:
    """Return the occurrence in the present cycle: Friday of this week, March of this year."""
    occurrence = time.at(_day_in_cycle(calendar, time.every, calendar.today, 0))
    return _require_one([] if occurrence is None else [occurrence])


def intersect(first: Time, second: Time, calendar: Calendar) -> Time | None:
    """Return the finer time within the coarser time, None unless it occurs there exactly once."""
    if first.grain is second.grain is Grain.DAY:
        return _check_weekday(first, second)
    fine, coarse = (first, second) if first.grain < second.grain else (second, first)
    if fine.grain == coarse.grain or isinstance(fine, Period) or coarse.grain is Grain.MOMENT:
        return None
    if isinstance(coarse, Period):
        return _select_within(fine, coarse, calendar)
    at = coarse.at

    def inner(day: date) -> Period | None:
        outer = at(day)
        return None if outer is None else _select_within(fine, outer, calendar)

    return Cycle(fine.grain, coarse.every, inner)


def _check_weekday(first: Time, second: Time) -> Time | None:
    """Return the date in "Friday, 20 November", None if that day is not a Friday."""
    weekday_time, date_time = (first, second) if _is_weekday(first) else (second, first)
    if (
        not isinstance(weekday_time, Cycle)
        or not _is_weekday(weekday_time)
        or _is_weekday(date_time)
    ):
        return None

    def check(period: Period | None) -> Period | None:
        return (
            None if period is None or weekday_time.at(_start(period).date()) != period else period
        )

    if isinstance(date_time, Period):
        return check(date_time)
    at = date_time.at
    return Cycle(Grain.DAY, date_time.every, lambda day: check(at(day)))


def _is_weekday(time: Time) -> bool:
    return isinstance(time, Cycle) and time.every is Grain.WEEK


def _select_within(fine: Cycle, coarse: Period, calendar: Calendar) -> Period | None:
    if coarse.start is None or coarse.end is None or coarse.start.tzinfo is not None:
        return None
    if fine.grain is Grain.WEEK and fine.every is coarse.grain:
        return fine.at(
            coarse.start.date()
        )  # The first week of a year may begin in the year before.
    inside = [
        occurrence
        for occurrence in fine.around(calendar, coarse.start.date())
        if coarse.start <= _start(occurrence) < coarse.end
    ]
    return inside[0] if len(inside) == 1 else None


def month_of_year(month: int) -> Cycle:
    """Return a month, January being 1."""
    return months_of_year(month, 1, Grain.MONTH)


def months_of_year(first: int, number: int, grain: Grain) -> Cycle:
    """Return `number` months from `first` on: a quarter, a half, a season."""
    return Cycle(grain, Grain.YEAR, lambda day: months(day.year * 12 + first - 1, number, grain))


def day_of_year(month: int, number: int) -> Cycle:
    """Return a day such as 3 March."""

    def at(day: date) -> Period | None:
        if number > monthrange(day.year, month)[1]:
            return None
        return days(date(day.year, month, number), 1, Grain.DAY)

    if not 1 <= number <= monthrange(2000, month)[1]:
        raise ValueError(f"month {month} has no day {number}")
    return Cycle(Grain.DAY, Grain.YEAR, at)


def day_of_month(number: int) -> Cycle:
    """Return a day such as the 15th."""

    def at(day: date) -> Period | None:
        if number > monthrange(day.year, day.month)[1]:
            return None
        return days(day.replace(day=number), 1, Grain.DAY)

    if not 1 <= number <= 31:
        raise ValueError(f"no month has a day {number}")
    return Cycle(Grain.DAY, Grain.MONTH, at)


def iso_week(number: int) -> Cycle:
    """Return a week by its number in ISO 8601, which begins on Monday."""

    def at(day: date) -> Period | None:
        try:
            return days(date.fromisocalendar(day.year, number, 1), 7, Grain.WEEK)
        except ValueError:
            return None

    if not 1 <= number <= 53:
        raise ValueError(f"no year has a week {number}")
    return Cycle(Grain.WEEK, Grain.YEAR, at)


def weekday(number: int, calendar: Calendar) -> Cycle:
    """Return a day of the week, Monday being 0."""

    def at(day: date) -> Period:
        return days(calendar.weekday_of(calendar.week_of(day), number), 1, Grain.DAY)

    return Cycle(Grain.DAY, Grain.WEEK, at)


def weekend(calendar: Calendar) -> Cycle:
    """Return Saturday and Sunday."""

    def at(day: date) -> Period:
        saturday = calendar.week_of(day) + timedelta(days=(5 - calendar.week_of(day).weekday()) % 7)
        # Where weeks begin on Sunday, the weekend goes on into the next week.
        return days(saturday, 2, Grain.WEEKEND)

    return Cycle(Grain.WEEKEND, Grain.WEEK, at)


def nearest_weekend(calendar: Calendar, offset: int) -> Period:
    """Return the present or next weekend, moved by `offset` weeks."""
    saturday = calendar.today + timedelta(days=5 - calendar.today.weekday())
    return days(saturday + offset * timedelta(days=7), 2, Grain.WEEKEND)


def part_of_day(begin: float, end: float) -> Cycle:
    """Return the hours from `begin` to `end`; more than 24 means the next day."""
    return _hours_of_day(timedelta(hours=begin), timedelta(hours=end), Grain.PART)


def clock_time(hour: int, minute: int | None = None, second: int | None = None) -> Cycle:
    """Return a whole hour, minute or second of the clock."""
    begin = datetime(2000, 1, 1, hour, minute or 0, second or 0)  # noqa: DTZ001
    start = begin - datetime(2000, 1, 1)  # noqa: DTZ001
    if minute is None:
        return _hours_of_day(start, start + timedelta(hours=1), Grain.HOUR)
    if second is None:
        return _hours_of_day(start, start + timedelta(minutes=1), Grain.MINUTE)
    return _hours_of_day(start, start + timedelta(seconds=1), Grain.SECOND)


def third_of(time: Time, number: int) -> Time | None:
    """Return the beginning (0), middle (1) or end (2) of a part of a day, up to a year.

    A month is divided after its 10th and 20th day, a year into parts of four months, a quarter or
    season into its months. The parts of shorter times overlap: early last week is Monday to
    Wednesday, late last week Thursday to Sunday.
    """
    if time.grain not in _GRAINS_OF_THIRDS:
        return None
    grain = _GRAINS_OF_THIRDS[time.grain]
    if isinstance(time, Period):
        return _third_of_period(time, number)
    at = time.at

    def inner(day: date) -> Period | None:
        whole = at(day)
        return None if whole is None else _third_of_period(whole, number)

    return Cycle(grain, time.every, inner)


def _third_of_period(whole: Period, number: int) -> Period:
    start = _start(whole)
    if whole.grain in _SHARES:
        length, (first, last) = _end(whole) - start, _SHARES[whole.grain][number]
        return Period(start + first * length, start + last * length, _GRAINS_OF_THIRDS[whole.grain])
    if whole.grain is Grain.YEAR:
        return months(start.year * 12 + 4 * number, 4, Grain.THIRD)
    if whole.grain is Grain.QUARTER:
        return months(start.year * 12 + start.month - 1 + number, 1, Grain.THIRD)
    begin = start + timedelta(days=10 * number)
    end = _end(whole) if number == 2 else begin + timedelta(days=10)
    return Period(begin, end, Grain.THIRD)


def _hours_of_day(begin: timedelta, end: timedelta, grain: Grain) -> Cycle:
    def at(day: date) -> Period:
        midnight = datetime.combine(day, datetime.min.time())
        return Period(midnight + begin, midnight + end, grain)

    return Cycle(grain, Grain.DAY, at)


def _day_in_cycle(calendar: Calendar, every: Grain, day: date, number: int) -> date:
    """Return a day of the cycle that lies `number` cycles after that of `day`."""
    if every is Grain.DAY:
        return day + timedelta(days=number)
    if every is Grain.WEEK:
        return calendar.week_of(day) + number * timedelta(days=7)
    if every is Grain.MONTH:
        month = day.year * 12 + day.month - 1 + number
        return date(month // 12, month % 12 + 1, 1)
    return date(day.year + number, 1, 1)


def _start(period: Period) -> datetime:
    return period.start or datetime(1, 1, 1)  # noqa: DTZ001


def _end(period: Period) -> datetime:
    return period.end or datetime(9999, 12, 31)  # noqa: DTZ001


def _require_one(occurrences: list[Period]) -> Period:
    if not occurrences:
        raise ValueError("there is no such day")
    return occurrences[0]
