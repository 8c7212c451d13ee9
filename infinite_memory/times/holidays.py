"""Holidays that have one date, the same every year and everywhere."""

from __future__ import annotations

from infinite_memory.times.chinese_words import DIGITS, HOLIDAYS
from infinite_memory.times.english_words import PARTS
from infinite_memory.times.match import Doubt, Found, Source
from infinite_memory.times.recurring import day_of_year

__all__ = ["chinese_holiday", "holiday"]

_CHRISTMAS, _EVE, _NEW_YEAR, _LAST = (12, 25), (12, 24), (1, 1), (12, 31)
# The longer of two that begin alike comes first.
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
_BY_FIRST: dict[str, list[tuple[list[str], tuple[int, int]]]] = {}
for _name, _date in _NAMES:
    _BY_FIRST.setdefault(_name.split()[0], []).append((_name.split(), _date))
_MARKS = frozenset({"'s", "’s", "'", "’", "."})
# "Over Christmas" may be many days, and "the Christmas" is rather part of another name.
_NOT_AFTER = frozenset("over during throughout within a an merry happy father".split())
# Any other word may make another thing of the name: Christmas tree, New Year resolutions.
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


def holiday(source: Source, place: int) -> Found | None:
    """Return the day in each year of the English holiday that begins at `place`."""
    first, before = source.word(place), source.word(place - 1)
    if before in _NOT_AFTER:
        return None
    named = _BY_FIRST.get(first, _BY_FIRST.get(first.removesuffix("s"), []))
    token = source.at(place)
    if first == "nye" and token is not None and token.raw == "Nye":
        return None  # It is a name.
    for words, (month, day) in named:
        end = _after(source, place, words)
        if end is None:
            continue
        word = source.word(end)
        # "New Year's" is the eve as often as the day.
        if source.sign(end) in _OWNING or source.word(end - 1) == "years":
            return None
        if before == "the" and not _of_a_year(source, end):
            return None
        if word and word not in _FOLLOWING and word not in PARTS:
            return None
        return Found(day_of_year(month, day), end, Doubt.PREPOSITION)
    return None


def _of_a_year(source: Source, place: int) -> bool:
    token = source.at(place + 1)
    return source.word(place) == "of" and token is not None and token.kind == "number"


def _after(source: Source, place: int, words: list[str]) -> int | None:
    """Return the place after the words of a name, which may have marks: New Year's Eve."""
    for word in words:
        if source.word(place) not in (word, f"{word}s"):
            return None
        place += 1
        if source.sign(place) in _MARKS and word != words[-1]:
            place += 1
    return place


def chinese_holiday(source: Source, place: int) -> Found | None:
    """Return the day in each year of the Chinese holiday that begins at `place`."""
    word = source.han(place)
    date, end = HOLIDAYS.get(word), place + 1
    if date is None:
        date, end = _by_date(source, place)
    if date is None or source.han(end) in _DAYS_ZH or source.sign(end) in _THINGS_ZH:
        return None
    if source.han(end) in ("前", "后") and _is_counted(source, end + 1):
        return None
    return Found(day_of_year(*date), end, Doubt.PREPOSITION)


def _is_counted(source: Source, place: int) -> bool:
    """Tell whether so many days before or after are meant, or the eve: 前三天, 前夕."""
    token, word = source.at(place), source.han(place)
    number = token is not None and token.kind == "number"
    return number or word in DIGITS or word.startswith("半") or source.sign(place) == "夕"


def _by_date(source: Source, place: int) -> tuple[tuple[int, int] | None, int]:
    """Return the date of 五一 and 六一, which are numbers where something is counted by them."""
    two = source.han(place) + source.han(place + 1)
    if two not in ("五一", "六一") or source.han(place - 1) in DIGITS:
        return None, place
    token, end = source.at(place + 2), place + 2
    follows = source.han(end)
    closed = token is None or token.kind != "han" or follows in _CLOSING_ZH
    return ((5, 1) if two == "五一" else (6, 1)) if closed else None, end
