"""Holidays that move from year to year, by the calendars of the library `holidays`."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache

from attrs import frozen

from infinite_memory.times.calendar import Grain, Period, days
from infinite_memory.times.recurring import Cycle

_YEARS_IN_CACHE = 1024


@frozen
class Movable:
    """A holiday in a country, under the name that the library gives it in American English.

    It lasts `length` days from `offset` days after the first day of that name.
    """

    country: str
    name: str
    offset: int = 0
    length: int = 1


_GOOD_FRIDAY = "Good Friday"
_EASTER = {
    "good friday": Movable("GB", _GOOD_FRIDAY),
    "easter sunday": Movable("GB", _GOOD_FRIDAY, 2),
    "easter monday": Movable("GB", _GOOD_FRIDAY, 3),
    "easter": Movable("GB", _GOOD_FRIDAY, 0, 4),
    "ascension day": Movable("GB", _GOOD_FRIDAY, 41),
    "pentecost": Movable("GB", _GOOD_FRIDAY, 51, 2),
}
_SPRING = Movable("CN", "Chinese New Year (Spring Festival)", -1, 8)
# A longer name comes before a shorter one with the same beginning.
MOVABLE = {
    **_EASTER,
    **dict.fromkeys(("thanksgiving day", "thanksgiving"), Movable("US", "Thanksgiving Day")),
    "black friday": Movable("US", "Thanksgiving Day", 1),
    "memorial day": Movable("US", "Memorial Day"),
    "labor day": Movable("US", "Labor Day"),
    "independence day": Movable("US", "Independence Day"),
    **dict.fromkeys(
        ("mlk day", "martin luther king day"), Movable("US", "Martin Luther King Jr. Day")
    ),
    **dict.fromkeys(("chinese new year", "lunar new year"), _SPRING),
}
"""Movable holidays by their English names."""

MOVABLE_ZH = {
    "春节": _SPRING,
    "大年初一": Movable("CN", _SPRING.name),
    "除夕": Movable("CN", _SPRING.name, -1),
    "元宵节": Movable("CN", _SPRING.name, 14),
    **dict.fromkeys(("清明节", "清明"), Movable("TW", "Tomb-Sweeping Day")),
    **dict.fromkeys(("端午节", "端午"), Movable("TW", "Dragon Boat Festival")),
    **dict.fromkeys(("中秋节", "中秋"), Movable("TW", "Mid-Autumn Festival")),
    "感恩节": MOVABLE["thanksgiving"],
    "复活节": MOVABLE["easter"],
}
"""Movable holidays by their Chinese names."""


def cycle_of(holiday: Movable | tuple[int, int]) -> Cycle:
    """Return a holiday in each year; a pair is the month and day of a holiday with a fixed date."""

    def at(day: date) -> Period | None:
        first = _first_day(holiday, day.year)
        if first is None:
            return None
        return days(first, length, grain)

    length = holiday.length if isinstance(holiday, Movable) else 1
    grain = Grain.DAY if length == 1 else Grain.WEEKEND
    return Cycle(grain, Grain.YEAR, at)


def holiday_week(holiday: Movable | tuple[int, int], *, around: bool) -> Cycle:
    """Return the calendar week of a holiday, or `around` it the day before to five days after."""

    def at(day: date) -> Period | None:
        first = _first_day(holiday, day.year)
        if first is None:
            return None
        begin = first - timedelta(days=1 if around else first.weekday())
        return days(begin, 8 if around else 7, Grain.WEEK)

    return Cycle(Grain.WEEK, Grain.YEAR, at)


def holiday_weekend(holiday: Movable | tuple[int, int]) -> Cycle:
    """Return a holiday with the weekend that is nearest, and the days between."""

    def at(day: date) -> Period | None:
        first = _first_day(holiday, day.year)
        if first is None:
            return None
        # Of a Monday or a Tuesday the weekend before.
        since_saturday = (first.weekday() + 2) % 7
        begin = first - timedelta(days=since_saturday if since_saturday < 4 else 0)
        end = first + timedelta(days=1 if 2 <= since_saturday < 4 else 7 - first.weekday())
        return days(begin, (end - begin).days, Grain.WEEKEND)

    return Cycle(Grain.WEEKEND, Grain.YEAR, at)


def _first_day(holiday: Movable | tuple[int, int], year: int) -> date | None:
    if not isinstance(holiday, Movable):
        return date(year, *holiday)
    named = _first_of_name(holiday.country, holiday.name, year)
    return None if named is None else named + timedelta(days=holiday.offset)


@lru_cache(_YEARS_IN_CACHE)
def _first_of_name(country: str, name: str, year: int) -> date | None:
    """Return the first day of that name in a year, None if the calendar does not know it."""
    # Imported at first use: it takes as long as all of a command.
    from holidays import country_holidays  # noqa: PLC0415

    calendar = country_holidays(country, years=year, language="en_US", observed=False)
    named = [day for day, names in calendar.items() if name in names.split("; ")]
    return min(named, default=None)
