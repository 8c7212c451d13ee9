"""The days of movable holidays, compared with the library `holidays` in every year it knows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache

import pytest
from holidays import country_holidays
from holidays.calendars.chinese import _ChineseLunisolar

from infinite_memory.times.calendar import Period
from infinite_memory.times.holidays import MOVABLE, MOVABLE_ZH, cycle_of

_moon = _ChineseLunisolar()
_EASTER = ("GB", "Good Friday")
_SPRING = ("CN", "Chinese New Year (Spring Festival)")
# Country and name of a day, the days from it to the holiday, and how many days that lasts.
_THANKSGIVING = (("US", "Thanksgiving Day"), 0, 1)
_TOMBS = (("TW", "Tomb-Sweeping Day"), 0, 1)
_DRAGON_BOAT = (("TW", "Dragon Boat Festival"), 0, 1)
_MID_AUTUMN = (("TW", "Mid-Autumn Festival"), 0, 1)
_KING = (("US", "Martin Luther King Jr. Day"), 0, 1)
_HOLIDAYS: dict[str, tuple[tuple[str, str], int, int]] = {
    "good friday": (_EASTER, 0, 1),
    "easter sunday": (_EASTER, 2, 1),
    "easter monday": (_EASTER, 3, 1),
    "easter": (_EASTER, 0, 4),
    "ascension day": (_EASTER, 41, 1),
    "pentecost": (_EASTER, 51, 2),
    "thanksgiving day": _THANKSGIVING,
    "thanksgiving": _THANKSGIVING,
    "black friday": (_THANKSGIVING[0], 1, 1),
    "memorial day": (("US", "Memorial Day"), 0, 1),
    "labor day": (("US", "Labor Day"), 0, 1),
    "independence day": (("US", "Independence Day"), 0, 1),
    "mlk day": _KING,
    "martin luther king day": _KING,
    "chinese new year": (_SPRING, -1, 8),
    "lunar new year": (_SPRING, -1, 8),
    "春节": (_SPRING, -1, 8),
    "大年初一": (_SPRING, 0, 1),
    "除夕": (_SPRING, -1, 1),
    "元宵节": (_SPRING, 14, 1),
    "清明节": _TOMBS,
    "清明": _TOMBS,
    "端午节": _DRAGON_BOAT,
    "端午": _DRAGON_BOAT,
    "中秋节": _MID_AUTUMN,
    "中秋": _MID_AUTUMN,
    "感恩节": _THANKSGIVING,
    "复活节": (_EASTER, 0, 4),
}


@lru_cache(None)
def first_of_name(country: str, name: str, year: int) -> date | None:
    calendar = country_holidays(country, years=year, language="en_US", observed=False)
    return min((day for day, names in calendar.items() if name in names.split("; ")), default=None)


def ours(name: str, year: int) -> Period | None:
    return cycle_of((MOVABLE | MOVABLE_ZH)[name]).at(date(year, 7, 1))


def test_every_movable_holiday_is_that_of_the_library_in_every_year_that_it_knows() -> None:
    assert set(_HOLIDAYS) == set(MOVABLE | MOVABLE_ZH)
    wrong, compared = [], 0
    for name, (source, offset, length) in _HOLIDAYS.items():
        for year in range(1862, 2101):
            known = first_of_name(*source, year)
            if known is None:
                continue
            compared += 1
            period = ours(name, year)
            begin = known + timedelta(days=offset)
            assert period is not None, (name, year)
            assert period.start is not None
            assert period.end is not None
            if (period.start.date(), (period.end - period.start).days) != (begin, length):
                wrong.append((name, year, period, begin))
    assert not wrong
    assert compared > 4000


@pytest.mark.parametrize(
    ("name", "day_of"),
    [
        ("大年初一", _moon.lunar_new_year_date),
        ("清明", _moon.qingming_date),
        ("端午", _moon.dragon_boat_date),
        ("中秋", _moon.mid_autumn_date),
    ],
)
def test_a_day_of_the_lunar_calendar_is_known_from_1901_to_2100(
    name: str, day_of: Callable[[int], tuple[date | None, bool]]
) -> None:
    for year in range(1901, 2101):
        period = ours(name, year)
        assert period is not None
        assert period.start is not None
        assert period.start.date() == day_of(year)[0]
    assert ours(name, 1900) is None
    assert ours(name, 2101) is None


@pytest.mark.parametrize("name", [*MOVABLE, *MOVABLE_ZH])
def test_no_year_of_the_calendar_is_an_error(name: str) -> None:
    for year in (1, 2, 1582, 1583, 9999):
        ours(name, year)


def test_easter_is_that_of_the_gregorian_calendar_beyond_the_years_of_the_library() -> None:
    sundays = {1583: (4, 10), 1818: (3, 22), 2285: (3, 22), 2500: (4, 18)}
    for year, day in sundays.items():
        period = ours("easter sunday", year)
        assert period is not None
        assert period.start is not None
        assert (period.start.month, period.start.day) == day
