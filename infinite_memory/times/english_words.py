"""The English words of time."""

from __future__ import annotations

from infinite_memory.times.calendar import Grain

__all__ = [
    "COUNTED",
    "MONTHS",
    "NUMBERS",
    "ORDINALS",
    "PARTS",
    "SEASONS",
    "SHORT",
    "THIRDS",
    "UNITS",
    "WEEKDAYS",
]

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = {
    **{name: number for number, name in enumerate(_MONTH_NAMES, 1)},
    **{name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)},
    "sept": 9,
}
WEEKDAYS = {
    **{name: number for number, name in enumerate(_DAY_NAMES)},
    **{name[:3]: number for number, name in enumerate(_DAY_NAMES)},
    **{"tues": 1, "weds": 2, "thur": 3, "thurs": 3},
}
SHORT = frozenset({*WEEKDAYS, *MONTHS} - {*_MONTH_NAMES, *_DAY_NAMES}) | {
    *("may", "march", "april", "june", "august")
}
"""Names that are also other words or people: in a sentence they need something beside them."""

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each, on the northern half of the earth."""

PARTS = {
    **{"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 29)},
    **{"noon": (12, 13), "midday": (12, 13), "midnight": (0, 1)},
}
"""Hours of the day, which may lie after its midnight."""

THIRDS = {
    **dict.fromkeys(("early", "beginning", "start"), 0),
    **dict.fromkeys(("mid", "middle"), 1),
    **dict.fromkeys(("late", "end"), 2),
}
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth"),
    *("seventeenth", "eighteenth", "nineteenth", "twentieth"),
)
ORDINALS = {name: number for number, name in enumerate(_ORDINALS, 1)}
_ONES = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
NUMBERS = {
    **{name: number for number, name in enumerate(_ONES, 1)},
    **{"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80},
    "ninety": 90,
}
_UNIT_NAMES = {
    **{"second": (Grain.SECOND, 1), "minute": (Grain.MINUTE, 1), "hour": (Grain.HOUR, 1)},
    **{"day": (Grain.DAY, 1), "week": (Grain.WEEK, 1), "fortnight": (Grain.WEEK, 2)},
    **{"month": (Grain.MONTH, 1), "quarter": (Grain.QUARTER, 1), "year": (Grain.YEAR, 1)},
    "decade": (Grain.DECADE, 1),
}
UNITS = {
    **_UNIT_NAMES,
    **{f"{name}s": unit for name, unit in _UNIT_NAMES.items()},
    **{"min": (Grain.MINUTE, 1), "mins": (Grain.MINUTE, 1), "secs": (Grain.SECOND, 1)},
    **{"hr": (Grain.HOUR, 1), "hrs": (Grain.HOUR, 1), "wk": (Grain.WEEK, 1)},
    **{"wks": (Grain.WEEK, 1), "sec": (Grain.SECOND, 1)},
    **{"yr": (Grain.YEAR, 1), "yrs": (Grain.YEAR, 1)},
}
"""Units of time: the grain, and how many of it they are."""

COUNTED = {
    **{"h": UNITS["hour"], "d": UNITS["day"], "w": UNITS["week"], "mo": UNITS["month"]},
    **{"mos": UNITS["month"], "yr": UNITS["year"], "yrs": UNITS["year"]},
    **{name: UNITS[name] for name in ("hr", "hrs", "wk", "wks", "min", "mins")},
}
"""Short names of units, which need a number before them."""
