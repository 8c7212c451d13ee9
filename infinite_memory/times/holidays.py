"""The names of holidays, and the days around them."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache

from attrs import frozen

from infinite_memory.times.calendar import Grain, Period, days
from infinite_memory.times.recurring import Cycle
from infinite_memory.times.tokenizer import Cursor, Doubt, Match
from infinite_memory.times.words import DIGITS_ZH, HOLIDAYS_ZH, PARTS

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

_CHRISTMAS, _EVE, _NEW_YEAR, _LAST = (12, 25), (12, 24), (1, 1), (12, 31)
# A longer name comes before a shorter one with the same beginning.
_NAMES: tuple[tuple[str, tuple[int, int]], ...] = (
    *(("christmas eve", _EVE), ("christmas day", _CHRISTMAS), ("christmas", _CHRISTMAS)),
    *(("xmas eve", _EVE), ("xmas day", _CHRISTMAS), ("xmas", _CHRISTMAS)),
    *(("boxing day", (12, 26)), ("nye", _LAST)),
    *(("new year eve", _LAST), ("new year day", _NEW_YEAR), ("new year", _NEW_YEAR)),
    *(("halloween", (10, 31)), ("valentine day", (2, 14)), ("april fool day", (4, 1))),
    *(("st patrick day", (3, 17)), ("saint patrick day", (3, 17)), ("may day", (5, 1))),
    *(("all saint day", (11, 1)), ("bastille day", (7, 14)), ("canada day", (7, 1))),
    *(("juneteenth", (6, 19)), ("women day", (3, 8)), ("international women day", (3, 8))),
)
_Holiday = Movable | tuple[int, int]
_BY_FIRST: dict[str, list[tuple[list[str], _Holiday]]] = {}
_ALL_NAMES: tuple[tuple[str, _Holiday], ...] = (*_NAMES, *MOVABLE.items())
for _name, _date in _ALL_NAMES:
    _BY_FIRST.setdefault(_name.split()[0], []).append((_name.split(), _date))
_MARKS = frozenset({"'s", "’s", "'", "’", "."})
# "Over Christmas" may be many days, and "a merry Christmas" is not a date.
_DURING = frozenset({"over", "during"})
_DAYS_AROUND = frozenset({"week", "weekend", "holidays", "break"})
_NOT_AFTER = frozenset("over during throughout within a an merry happy father".split())
# Only these may follow: other words change the meaning, as in Christmas tree, New Year resolutions.
_FOLLOWING = frozenset(
    "of in at on to through until till and or last this next before after from between with"
    " without we i you he she they it was is were are did do does had has have will would when"
    " what where who how which that the a an my our his her their for by but so because then"
    " about as if not today yesterday tomorrow alone too again together please onwards onward"
    " since while went came got said during thru".split()
)
_OWNING = frozenset({"'s", "’s"})
# 国庆期间 and 国庆长假 are several days; 圣诞树 and 五一路 are things.
_DAYS_ZH = frozenset({"期间", "前后", "天", "周", "号", "年"})
_THINGS_ZH = frozenset("假长黄小连树老礼卡帽歌贺快装袜档促购特夜晚跨联新路街广大村镇队班")
_CLOSING_ZH = frozenset(
    {"以来", "至今", "之前", "以前", "之后", "以后", "到", "至", "和", "与", "的"}
)


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


def match_holiday(cursor: Cursor, position: int) -> Match | None:
    """Return the day in each year of the English holiday that begins at `position`."""
    first, before = cursor.word(position), cursor.word(position - 1)
    is_around = cursor.lenient and before in _DURING
    if before in _NOT_AFTER and not is_around:
        return None
    named = _BY_FIRST.get(first, _BY_FIRST.get(first.removesuffix("s"), []))
    token = cursor.at(position)
    if first == "nye" and token is not None and token.raw == "Nye":
        return None  # A family name.
    for words, holiday in named:
        end = _skip_name(cursor, position, words)
        if end is None:
            continue
        word = cursor.word(end)
        token_after = cursor.at(end)
        is_week_end = token_after is not None and token_after.value == "week-end"
        if cursor.lenient and (word in _DAYS_AROUND or is_week_end or is_around):
            return _match_days_around(cursor, end, holiday, is_around=is_around)
        # "New Year's" may be the eve or the day.
        if cursor.sign(end) in _OWNING or cursor.word(end - 1) == "years":
            is_new_year = cursor.lenient and holiday == _NEW_YEAR
            return (
                Match(_eve_and_day(), end + (cursor.sign(end) in _OWNING)) if is_new_year else None
            )
        if before == "the" and not _is_of_year(cursor, end):
            return None
        if word and word not in _FOLLOWING and word not in PARTS:
            return None
        return Match(cycle_of(holiday), end, Doubt.PREPOSITION)
    return None


def _eve_and_day() -> Cycle:
    return Cycle(
        Grain.WEEKEND, Grain.YEAR, lambda day: days(date(day.year - 1, 12, 31), 2, Grain.WEEKEND)
    )


def _match_days_around(
    cursor: Cursor, position: int, holiday: _Holiday, *, is_around: bool
) -> Match:
    """Return the days in "over Christmas", "Christmas week" and "Memorial Day weekend"."""
    word = cursor.word(position)
    if word == "week":
        return Match(holiday_week(holiday, around=False), position + 1)
    token = cursor.at(position)
    if token is not None and token.value in ("weekend", "week-end"):
        return Match(holiday_weekend(holiday), position + 1)
    after = position + 1 if word in ("holidays", "break") and not is_around else position
    return Match(holiday_week(holiday, around=True), after)


def _is_of_year(cursor: Cursor, position: int) -> bool:
    token = cursor.at(position + 1)
    return cursor.word(position) == "of" and token is not None and token.kind == "number"


def _skip_name(cursor: Cursor, position: int, words: list[str]) -> int | None:
    """Return the position after the words of a name, which may hold signs: New Year's Eve."""
    for word in words:
        if cursor.word(position) not in (word, f"{word}s"):
            return None
        position += 1
        if cursor.sign(position) in _MARKS and word != words[-1]:
            position += 1
    return position


def match_chinese_holiday(cursor: Cursor, position: int) -> Match | None:
    """Return the day in each year of the Chinese holiday that begins at `position`."""
    word = cursor.han(position)
    holiday: _Holiday | None = HOLIDAYS_ZH.get(word, MOVABLE_ZH.get(word))
    end = position + 1
    if holiday is None:
        holiday, end = _read_date_name(cursor, position)
    if cursor.lenient and word == "十" and cursor.han(position + 1) == "一":
        # Only with 期间 or 长假, since 十一 is also a number, or the end of one.
        if cursor.han(position - 1) in DIGITS_ZH:
            return None
        return _match_days_around_zh(cursor, position + 2, HOLIDAYS_ZH["国庆"])
    if holiday is not None and cursor.lenient:
        around = _match_days_around_zh(cursor, end, holiday)
        if around is not None:
            return around
    if holiday is None or cursor.han(end) in _DAYS_ZH or cursor.sign(end) in _THINGS_ZH:
        return None
    if cursor.han(end) in ("前", "后") and _counts_days(cursor, end + 1):
        return None
    if cursor.han(end) == "那天" and cursor.lenient:
        return Match(cycle_of(holiday), end + 1)
    return Match(cycle_of(holiday), end, Doubt.PREPOSITION)


def _match_days_around_zh(cursor: Cursor, position: int, holiday: _Holiday) -> Match | None:
    """Return the days in 国庆期间, 国庆长假 and 春节假期."""
    after = position + 1 if cursor.han(position) == "期间" else None
    if (cursor.sign(position), cursor.sign(position + 1)) in (("长", "假"), ("假", "期")):
        after = position + 2
    if after is None:
        return None
    is_long = isinstance(holiday, Movable) and holiday.length > 1
    return Match(cycle_of(holiday) if is_long else holiday_week(holiday, around=True), after)


def _counts_days(cursor: Cursor, position: int) -> bool:
    """Return whether days before or after are counted, or the eve is meant: 前三天, 前夕."""
    token, word = cursor.at(position), cursor.han(position)
    is_number = token is not None and token.kind == "number"
    return is_number or word in DIGITS_ZH or word.startswith("半") or cursor.sign(position) == "夕"


def _read_date_name(cursor: Cursor, position: int) -> tuple[tuple[int, int] | None, int]:
    """Return the date of 五一 or 六一, None where they are numbers that count something."""
    name = cursor.han(position) + cursor.han(position + 1)
    if name not in ("五一", "六一") or cursor.han(position - 1) in DIGITS_ZH:
        return None, position
    token, end = cursor.at(position + 2), position + 2
    follows = cursor.han(end)
    is_closed = token is None or token.kind != "han" or follows in _CLOSING_ZH
    return ((5, 1) if name == "五一" else (6, 1)) if is_closed else None, end
