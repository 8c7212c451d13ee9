"""Two days, months or hours that share what is said once: March 3-5, 2 to 4 pm, 3-5月."""

from __future__ import annotations

from datetime import date

from infinite_memory.times.calendar import Grain, Period
from infinite_memory.times.english import is_verb
from infinite_memory.times.english_words import MONTHS, UNITS
from infinite_memory.times.match import Doubt, Found, Source
from infinite_memory.times.numbers import counted_number
from infinite_memory.times.recurring import Cycle, day_of_year, months_of_year, part_of_day

__all__ = ["hours", "span"]

_JOINS = frozenset({"to", "through", "thru", "-", "–", "—", "到", "至"})


def span(source: Source, place: int) -> Found | None:
    """Return the days, months or hours that begin at `place`, None if none do.

    Raises:
        ValueError: the month has no such day.
    """
    begin = place + 1 if source.word(place) == "the" else place
    return (
        _days_before_month(source, begin)
        or _days_after_month(source, begin)
        or hours(source, begin)
        or _chinese_days(source, begin)
        or _chinese_months(source, begin)
    )


def _pair(source: Source, place: int) -> tuple[int, int, int] | None:
    """Return two numbers of which the second is larger, and the place after them."""
    token = source.at(place)
    if token is not None and token.kind == "figures":
        first, minute, half, second, *more = token.groups
        if minute or half or any(more):
            return None
        one, two, after = int(first or "0"), int(second or "0"), place + 1
    else:
        left = _figure(source, place)
        joined = left is not None and _joins(source, left[1])
        right = None
        if left is not None and joined:
            second_place = left[1] + (2 if source.word(left[1] + 1) == "the" else 1)
            right = _figure(source, second_place)
        if left is None or right is None:
            return None
        one, two, after = left[0], right[0], right[1]
    return (one, two, after) if 0 < one < two else None


def _joins(source: Source, place: int) -> bool:
    between = source.word(place) == "and" and source.word(place - 2) == "between"
    said = {source.word(place), source.sign(place), source.han(place)}
    return between or not _JOINS.isdisjoint(said)


def _figure(source: Source, place: int) -> tuple[int, int] | None:
    token = source.at(place)
    if token is not None and token.kind == "number" and len(token.groups[0] or "") <= 2:
        return int(token.groups[0] or "0"), place + 1
    # 四月到五月 has no number after its first word.
    number = counted_number(source, place) if source.han(place) else None
    return number if number is not None and number[0] < 100 else None


def _days_before_month(source: Source, place: int) -> Found | None:
    """Return the days in "5 to 10 March"."""
    two = _pair(source, place)
    if two is None:
        return None
    after = two[2] + 1 if source.word(two[2]) == "of" else two[2]
    month = MONTHS.get(source.word(after))
    if month is None:
        return None
    # In "3 to 5 may work" the preposition belongs to the numbers.
    doubt = Doubt.COMPANY if is_verb(source, after) else Doubt.NONE
    return Found(_days(month, two[0], two[1]), after + 1, doubt)


def _days_after_month(source: Source, place: int) -> Found | None:
    """Return the days in "March 3-5"."""
    month = MONTHS.get(source.word(place))
    if month is None:
        return None
    begin = place + 2 if source.sign(place + 1) == "." else place + 1
    two = _pair(source, begin)
    if two is None or source.han(begin):
        return None
    follows = source.word(two[2])
    if follows in MONTHS or follows in UNITS or source.han(two[2]):
        return None
    doubt = Doubt.PREPOSITION if is_verb(source, place) else Doubt.NONE
    return Found(_days(month, two[0], two[1]), two[2], doubt)


def _days(month: int, first: int, last: int) -> Cycle:
    begin, end = day_of_year(month, first), day_of_year(month, last)

    def at(day: date) -> Period | None:
        one, two = begin.at(day), end.at(day)
        return None if one is None or two is None else Period(one.start, two.end, Grain.WEEKEND)

    return Cycle(Grain.WEEKEND, Grain.YEAR, at)


def hours(source: Source, place: int) -> Found | None:
    """Return the hours in "2 to 4 pm", "2-4pm" and "14:00-16:00".

    Raises:
        ValueError: there is no such hour.
    """
    token = source.at(place)
    if token is None:
        return None
    if token.kind == "figures":
        first, second, after = token.groups[:3], token.groups[3:], place + 1
    else:
        other = source.at(place + 2)
        if other is None or not _joins(source, place + 1):
            return None
        first, second, after = _clock(token.groups, token.kind), None, place + 3
        if other.kind in ("clock", "ampm"):
            second = _clock(other.groups, other.kind)
        if not first or not second or first[2] is not None or second[2] is None:
            return None
    if second is None or (second[2] is None and (first[1] is None or second[1] is None)):
        return None
    begin, end = _minutes(first, second)
    return Found(part_of_day(begin / 60, end / 60), after, Doubt.COMPANY)


_Clock = tuple[str | None, ...]


def _clock(groups: _Clock, kind: str) -> _Clock:
    """Return hour, minute and half of the day of a token, nothing if it is no time."""
    if kind == "number":
        return (groups[0], None, None) if groups[1] is None and len(groups[0] or "") <= 2 else ()
    if kind == "ampm":
        return groups[0], None, groups[1]
    return (groups[0], groups[1], groups[3]) if kind == "clock" and groups[2] is None else ()


def _minutes(first: _Clock, second: _Clock) -> tuple[int, int]:
    """Return the minutes from midnight to the two times; the end may lie after the next."""
    begin, end = _of_day(first), _of_day(second)
    if first[2] is None and second[2] is not None and int(first[0] or "0") <= 12:
        # 2 to 4 pm begins at 2 pm, 10 to 2 pm in the morning.
        begin = begin % 720 + end // 720 * 720
        begin = begin if begin < end else (begin + 720) % 1440
    return begin, end if begin < end else end + 1440


def _of_day(clock: _Clock) -> int:
    hour, minute = int(clock[0] or "0"), int(clock[1] or "0")
    if minute > 59 or hour > 23 or (clock[2] is not None and not 1 <= hour <= 12):
        raise ValueError(f"there is no time {hour}:{minute:02}")
    if clock[2] is not None:
        hour = hour % 12 + (12 if clock[2].lower() == "p" else 0)
    return hour * 60 + minute


def _chinese_months(source: Source, place: int) -> Found | None:
    """Return the months in 3-5月 and 三到五月."""
    two = _pair(source, place)
    if two is None or source.han(two[2]) not in ("月", "月份") or two[1] > 12:
        return None
    if source.han(two[2] + 1) in ("前", "后"):
        return None
    cycle = months_of_year(two[0], two[1] - two[0] + 1, Grain.QUARTER)
    return Found(cycle, two[2] + 1)


def _chinese_days(source: Source, place: int) -> Found | None:
    """Return the days in 3月1-5日."""
    month = counted_number(source, place)
    if month is None or source.han(month[1]) != "月" or not 1 <= month[0] <= 12:
        return None
    two = _pair(source, month[1] + 1)
    if two is None or source.han(two[2]) not in ("日", "号"):
        return None
    return Found(_days(month[0], two[0], two[1]), two[2] + 1)
