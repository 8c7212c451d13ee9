"""Halves and quarters of a unit: half an hour ago, the past year and a half, 半年前."""

from __future__ import annotations

from collections.abc import Callable

from infinite_memory.times.calendar import HALVED, Grain
from infinite_memory.times.chinese_words import UNITS as CHINESE_UNITS
from infinite_memory.times.english_words import UNITS
from infinite_memory.times.match import Found, Source

__all__ = ["HALVES_ZH", "english_halves", "halves_ago", "halves_past"]

Number = Callable[[Source, int], tuple[int, int] | None]

HALVES_ZH = {"半年": Grain.YEAR, "半天": Grain.DAY}
"""Halves that are one word."""

_QUARTERS_ZH = {"一刻钟": 1, "三刻钟": 3}
_AGO_ZH = frozenset({"前", "之前", "以前"})


def halves_ago(source: Source, place: int, number: Number) -> Found | None:
    """Return what lies halves or quarters of a unit away, in either language; `number` reads one.

    Raises:
        ValueError: such a half is not counted.
    """
    calendar = source.calendar
    quarters = _quarters(source, place)
    if quarters is not None and _ago(source, quarters[1]):
        return Found(calendar.quarters_ago(quarters[0]), quarters[1] + 1)
    measured = english_halves(source, place, number) or _chinese(source, place, number)
    if measured is None or not _ago(source, measured[2]):
        return None
    halves, grain, after = measured
    return Found(calendar.halves_ago(grain, halves), after + 1)


def halves_past(source: Source, place: int, number: Number) -> Found | None:
    """Return halves of a unit up to now, whose words begin at `place`: half year, 半个月."""
    measured = english_halves(source, place, number) or _chinese(source, place, number)
    if measured is None or _ago(source, measured[2]):
        return None
    halves, grain, after = measured
    return Found(source.calendar.past_halves(grain, halves), after)


def _ago(source: Source, place: int) -> bool:
    return source.word(place) == "ago" or source.han(place) in _AGO_ZH


def _quarters(source: Source, place: int) -> tuple[int, int] | None:
    words = [source.word(place + number) for number in range(5)]
    if words[:2] in (["a", "quarter"], ["three", "quarters"]) and words[2:] == ["of", "an", "hour"]:
        return (1 if words[0] == "a" else 3), place + 5
    quarters = _QUARTERS_ZH.get(source.han(place))
    return None if quarters is None else (quarters, place + 1)


def english_halves(source: Source, place: int, number: Number) -> tuple[int, Grain, int] | None:
    """Return how many halves of which unit begin at `place`, and the place after them."""
    begin = place + 1 if source.word(place) == "a" else place
    if source.word(begin) == "half":
        article = source.word(begin + 1) in ("a", "an")
        return _unit(source, begin + 2 if article and begin == place else begin + 1, 1)
    counted = number(source, place)
    if counted is None:
        # The past year and a half.
        return _and_a_half(source, place, 1)
    count, after = counted
    if _words(source, after) == ("and", "a", "half"):
        return _unit(source, after + 3, 2 * count + 1)
    return _and_a_half(source, after, count)


def _and_a_half(source: Source, place: int, count: int) -> tuple[int, Grain, int] | None:
    if _words(source, place + 1) != ("and", "a", "half"):
        return None
    found = _unit(source, place, 2 * count + 1)
    return None if found is None else (*found[:2], place + 4)


def _unit(source: Source, place: int, halves: int) -> tuple[int, Grain, int] | None:
    grain, length = UNITS.get(source.word(place), (Grain.MOMENT, 0))
    return (halves, grain, place + 1) if grain in HALVED and length == 1 else None


def _words(source: Source, place: int) -> tuple[str, str, str]:
    return source.word(place), source.word(place + 1), source.word(place + 2)


def _chinese(source: Source, place: int, number: Number) -> tuple[int, Grain, int] | None:
    word = source.han(place)
    if word in HALVES_ZH:
        return 1, HALVES_ZH[word], place + 1
    if word in ("半", "半个"):
        return _chinese_unit(source, place + 1, 1, counted=word == "半个")
    counted = number(source, place)
    if counted is None:
        return None
    count, after = counted
    # 一个半小时, 一小时半, 两年半, 两个半月.
    if (source.han(after), source.han(after + 1)) == ("个", "半"):
        return _chinese_unit(source, after + 2, 2 * count + 1, counted=True)
    if source.han(after + 1) == "半" and source.han(after) not in ("月", "点", "点钟"):
        found = _chinese_unit(source, after, 2 * count + 1, counted=False)
        return None if found is None or count >= 1000 else (*found[:2], after + 2)
    return None


def _chinese_unit(
    source: Source, place: int, halves: int, *, counted: bool
) -> tuple[int, Grain, int] | None:
    """Return a unit with its halves; a month has to be `counted`, as in 半个月."""
    word = source.han(place)
    grain = UNITS[CHINESE_UNITS[word]][0] if word in CHINESE_UNITS else Grain.MOMENT
    if grain not in HALVED or (word == "日") or (word == "月" and not counted):
        return None
    return halves, grain, place + 1
