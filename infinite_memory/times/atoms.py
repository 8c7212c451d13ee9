"""A single time in either language, and a range that shares a name: March 3-5, 3-5月."""

from __future__ import annotations

from datetime import date

from attrs import evolve

from infinite_memory.times.calendar import Grain, Period
from infinite_memory.times.chinese import match_chinese
from infinite_memory.times.clock import joins_range, match_clock_words, match_hours
from infinite_memory.times.dates import match_digits
from infinite_memory.times.english import is_verb, match_english, match_month_and_day
from infinite_memory.times.numbers import read_chinese_number, read_ordinal
from infinite_memory.times.recurring import Cycle, day_of_month, day_of_year, months_of_year
from infinite_memory.times.tokenizer import Cursor, Doubt, Match
from infinite_memory.times.vague import match_few
from infinite_memory.times.words import MONTHS, UNITS

_OF_MONTH = ("of", "the", "month")
_JOINING = frozenset({"of", "in", "on", "at", "the", ",", "@", "'s", "’s", "的", "在"})


def match_atom(cursor: Cursor, position: int) -> Match | None:
    """Return the single time that begins at `position`, None if none does.

    Raises:
        ValueError: there is no such day or time.
    """
    # The order matters: "5 March" is tried before the bare number 5.
    return (
        match_span(cursor, position)
        or _match_day_of_this_month(cursor, position)
        or match_few(cursor, position)
        or match_english(cursor, position)
        or match_clock_words(cursor, position)
        or _match_named_unit(cursor, position)
        or match_chinese(cursor, position)
        or match_digits(cursor, position)
    )


def skip_joining_words(cursor: Cursor, position: int) -> int:
    """Return the position after the words that join a time to a longer time, such as "of the"."""
    for _ in range(3):
        values = cursor.word(position), cursor.sign(position), cursor.han(position)
        if _JOINING.isdisjoint(values):
            break
        position += 1
    return position


def _match_day_of_this_month(cursor: Cursor, position: int) -> Match | None:
    """Return the day in "the 1st of the month"."""
    begin = position + 1 if cursor.word(position) == "the" else position
    token, ordinal = cursor.at(begin), read_ordinal(cursor, begin)
    if ordinal is None and token is not None and token.kind == "number" and token.groups[1]:
        ordinal = int(token.groups[0] or "0"), begin + 1
    if ordinal is None or tuple(map(cursor.word, range(ordinal[1], ordinal[1] + 3))) != _OF_MONTH:
        return None
    return Match(day_of_month(ordinal[0]), ordinal[1] + 3)


def _match_named_unit(cursor: Cursor, position: int) -> Match | None:
    """Return the time in "the year 2024", "the 1990s" or "the month of March"."""
    begin = position + 1 if cursor.word(position) == "the" else position
    if (cursor.word(begin), cursor.word(begin + 1)) == ("month", "of"):
        month = match_month_and_day(cursor, begin + 2)
        named = month is not None and month.time.grain is Grain.MONTH
        return evolve(month, doubt=Doubt.NONE) if month is not None and named else None
    begin = begin + 1 if cursor.word(begin) == "year" else begin
    token = cursor.at(begin)
    if begin == position or token is None or token.kind not in ("number", "decade"):
        return None
    match = match_digits(cursor, begin)
    return None if match is None or match.time.grain < Grain.YEAR else match


def match_span(cursor: Cursor, position: int) -> Match | None:
    """Return the days, months or hours that begin at `position`, None if none do.

    Raises:
        ValueError: the month has no such day.
    """
    begin = position + 1 if cursor.word(position) == "the" else position
    return (
        _match_days_before_month(cursor, begin)
        or _match_days_after_month(cursor, begin)
        or match_hours(cursor, begin)
        or _match_chinese_days(cursor, begin)
        or _match_chinese_months(cursor, begin)
    )


def _read_pair(cursor: Cursor, position: int) -> tuple[int, int, int] | None:
    """Return two rising numbers that are joined to a range, and the next position."""
    token = cursor.at(position)
    if token is not None and token.kind == "figures":
        first, minute, half, second, *more = token.groups
        if minute or half or any(more):
            return None
        start, end, after = int(first or "0"), int(second or "0"), position + 1
    else:
        first_number = _read_figure(cursor, position)
        is_joined = first_number is not None and joins_range(cursor, first_number[1])
        second_number = None
        if first_number is not None and is_joined:
            second_position = first_number[1] + (
                2 if cursor.word(first_number[1] + 1) == "the" else 1
            )
            second_number = _read_figure(cursor, second_position)
        if first_number is None or second_number is None:
            return None
        start, end, after = first_number[0], second_number[0], second_number[1]
    return (start, end, after) if 0 < start < end else None


def _read_figure(cursor: Cursor, position: int) -> tuple[int, int] | None:
    token = cursor.at(position)
    if token is not None and token.kind == "number" and len(token.groups[0] or "") <= 2:
        return int(token.groups[0] or "0"), position + 1
    # In 四月到五月 the name of a month, not a number, follows 到 ("to").
    number = read_chinese_number(cursor, position) if cursor.han(position) else None
    return number if number is not None and number[0] < 100 else None


def _match_days_before_month(cursor: Cursor, position: int) -> Match | None:
    """Return the days in "5 to 10 March"."""
    pair = _read_pair(cursor, position)
    if pair is None:
        return None
    after = pair[2] + 1 if cursor.word(pair[2]) == "of" else pair[2]
    month = MONTHS.get(cursor.word(after))
    if month is None:
        return None
    # In "3 to 5 may work" the preposition says nothing about the month.
    doubt = Doubt.COMPANY if is_verb(cursor, after) else Doubt.NONE
    return Match(_days_of_month(month, pair[0], pair[1]), after + 1, doubt)


def _match_days_after_month(cursor: Cursor, position: int) -> Match | None:
    """Return the days in "March 3-5"."""
    month = MONTHS.get(cursor.word(position))
    if month is None:
        return None
    begin = position + 2 if cursor.sign(position + 1) == "." else position + 1
    pair = _read_pair(cursor, begin)
    if pair is None or cursor.han(begin):
        return None
    follows = cursor.word(pair[2])
    if follows in MONTHS or follows in UNITS or cursor.han(pair[2]):
        return None
    doubt = Doubt.PREPOSITION if is_verb(cursor, position) else Doubt.NONE
    return Match(_days_of_month(month, pair[0], pair[1]), pair[2], doubt)


def _days_of_month(month: int, first: int, last: int) -> Cycle:
    begin, end = day_of_year(month, first), day_of_year(month, last)

    def at(day: date) -> Period | None:
        first_day, last_day = begin.at(day), end.at(day)
        return (
            None
            if first_day is None or last_day is None
            else Period(first_day.start, last_day.end, Grain.WEEKEND)
        )

    return Cycle(Grain.WEEKEND, Grain.YEAR, at)


def _match_chinese_months(cursor: Cursor, position: int) -> Match | None:
    """Return the months in 3-5月 and 三到五月."""
    pair = _read_pair(cursor, position)
    if pair is None or cursor.han(pair[2]) not in ("月", "月份") or pair[1] > 12:
        return None
    if cursor.han(pair[2] + 1) in ("前", "后"):
        return None
    cycle = months_of_year(pair[0], pair[1] - pair[0] + 1, Grain.QUARTER)
    return Match(cycle, pair[2] + 1)


def _match_chinese_days(cursor: Cursor, position: int) -> Match | None:
    """Return the days in 3月1-5日."""
    month = read_chinese_number(cursor, position)
    if month is None or cursor.han(month[1]) != "月" or not 1 <= month[0] <= 12:
        return None
    pair = _read_pair(cursor, month[1] + 1)
    if pair is None or cursor.han(pair[2]) not in ("日", "号"):
        return None
    return Match(_days_of_month(month[0], pair[0], pair[1]), pair[2] + 1)
