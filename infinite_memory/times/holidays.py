"""The names of holidays, and the days around them."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta

from attrs import frozen

from infinite_memory.times.calendar import Grain, Period, days
from infinite_memory.times.recurring import Cycle
from infinite_memory.times.tokenizer import Cursor, Doubt, Match
from infinite_memory.times.words import DIGITS_ZH, HOLIDAYS_ZH, PARTS


@frozen
class Movable:
    """A holiday by `rule`, which gives a day in a year, None in a year without the holiday.

    It lasts `length` days from `offset` days after that day.
    """

    rule: Callable[[int], date | None]
    offset: int = 0
    length: int = 1


def _compute_easter(year: int) -> date | None:
    """Return Easter Sunday by the anonymous Gregorian computus."""
    if year < _GREGORIAN:
        return None
    century, in_century = divmod(year, 100)
    golden = year % 19
    corrected = century - (century + 8) // 25 + 1
    epact = (19 * golden + century - century // 4 - corrected // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (in_century // 4) - epact - in_century % 4) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def _find_weekday(year: int, month: int, weekday: int, number: int) -> date:
    """Return the weekday of that number in a month, Monday being 0; -1 is the last."""
    first, length = monthrange(year, month)
    days_in = range(1 + (weekday - first) % 7, length + 1, 7)
    return date(year, month, days_in[number if number < 0 else number - 1])


def _compute_thanksgiving(year: int) -> date | None:
    """Return the fourth Thursday of November, before 1942 the day that was proclaimed."""
    if year < 1862:
        return None
    if year in _PROCLAIMED:
        return date(year, *_PROCLAIMED[year])
    return _find_weekday(year, 11, 3, 4 if year >= 1942 else -1)


def _compute_memorial_day(year: int) -> date | None:
    if year < 1888:
        return None
    return _find_weekday(year, 5, 0, -1) if year >= 1971 else date(year, 5, 30)


def _compute_labor_day(year: int) -> date | None:
    return _find_weekday(year, 9, 0, 1) if year >= 1894 else None


def _compute_independence_day(year: int) -> date | None:
    return date(year, 7, 4) if year >= 1870 else None


def _compute_martin_luther_king_day(year: int) -> date | None:
    return _find_weekday(year, 1, 0, 3) if year >= 1986 else None


def _look_up_moon(month: int, day: int, digits: str) -> Callable[[int], date | None]:
    """Return a rule by the days after a date in each year of the lunar calendar's table."""

    def rule(year: int) -> date | None:
        if not 0 <= year - _FIRST_MOON < len(digits):
            return None
        return date(year, month, day) + timedelta(days=int(digits[year - _FIRST_MOON], 36))

    return rule


def _compute_qingming(year: int) -> date | None:
    """Return the day on which the sun reaches 15 degrees in China, within the table's years."""
    if not _FIRST_MOON <= year <= 2100:
        return None
    in_century = year % 100
    century = 5.59 if year < 2000 else 4.81
    return date(year, 4, int(in_century * 0.2422 + century) - in_century // 4)


_GREGORIAN = 1583
_PROCLAIMED = {
    **{1862: (4, 10), 1865: (12, 7), 1869: (11, 18)},
    **{1939: (11, 23), 1940: (11, 21), 1941: (11, 20)},
}
# The months of the Chinese calendar begin with new moons in Beijing, which no short formula gives
# to the day. A digit of base 36 a year, from 1901 to 2100.
_FIRST_MOON = 1901
_SPRING_FESTIVAL = _look_up_moon(
    1,
    20,
    "uj9rf5od2lath6pf3mcvj8rg4od3lash6pf4mbuj7qg5od2l9sh7pe4nbtj8qg5od1kash7qe3mbti8r"
    "g5odvk9sh7qf3lbui8rg4nc2k9ti6pe3lbuj8rg5nc2l9sh6oe3mbuj8qf4nc2lash6pd3mcuj8qf4nd"
    "1k9sg6pe3mbui7qg4nd2k9sh6pe4lati7qg5nc1k",
)
_DRAGON_BOAT = _look_up_moon(
    5,
    27,
    "oe4mbuj7qf5nd2l9rh6oe4mati8qf5oc1k9rh6pe3mbti8rf5nd1j9sh6pe2lati8rg4nc1j9si6pe3l"
    "atj8qf4mc1k9sh6od3matj8qf4nc1karg6od3mbti7qe4nd1k9sg5oe3mb0i7qf4nc2j8rh5oe3lati7"
    "qf5nc1k8rh6oe3lasi8qf5nb0j9rh6pd2lasi8rg",
)
_MID_AUTUMN = _look_up_moon(
    9,
    6,
    "lati7qg4mcuj9sh6odwkatj7qf4mbuk9sh6odwlati8pe4nbuk9rg5od2lbti7qe4ncuk9rg5oe2lbth"
    "6pf4ncvj8rg5oe3lati6pf5mcuj8rg6od2l9si7pf4nbuj9rg6pd2lasi7qe4mbtj9sg5od1kati7qf3"
    "mbuj9rh5nd2kati6pe4mbuk8rg5nc2lati7oe3nc",
)
_THANKSGIVING = Movable(_compute_thanksgiving)
_SPRING = Movable(_SPRING_FESTIVAL, -1, 8)
# A longer name comes before a shorter one with the same beginning.
MOVABLE = {
    "good friday": Movable(_compute_easter, -2),
    "easter sunday": Movable(_compute_easter),
    "easter monday": Movable(_compute_easter, 1),
    "easter": Movable(_compute_easter, -2, 4),
    "ascension day": Movable(_compute_easter, 39),
    "pentecost": Movable(_compute_easter, 49, 2),
    **dict.fromkeys(("thanksgiving day", "thanksgiving"), _THANKSGIVING),
    "black friday": Movable(_compute_thanksgiving, 1),
    "memorial day": Movable(_compute_memorial_day),
    "labor day": Movable(_compute_labor_day),
    "independence day": Movable(_compute_independence_day),
    **dict.fromkeys(
        ("mlk day", "martin luther king day"), Movable(_compute_martin_luther_king_day)
    ),
    **dict.fromkeys(("chinese new year", "lunar new year"), _SPRING),
}
"""Movable holidays by their English names."""

MOVABLE_ZH = {
    "春节": _SPRING,
    "大年初一": Movable(_SPRING_FESTIVAL),
    "除夕": Movable(_SPRING_FESTIVAL, -1),
    "元宵节": Movable(_SPRING_FESTIVAL, 14),
    **dict.fromkeys(("清明节", "清明"), Movable(_compute_qingming)),
    **dict.fromkeys(("端午节", "端午"), Movable(_DRAGON_BOAT)),
    **dict.fromkeys(("中秋节", "中秋"), Movable(_MID_AUTUMN)),
    "感恩节": _THANKSGIVING,
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
HOLIDAY_NAMES = tuple(name for name, _ in _ALL_NAMES)
"""The English names of all holidays."""

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
    day = holiday.rule(year)
    return None if day is None else day + timedelta(days=holiday.offset)


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
