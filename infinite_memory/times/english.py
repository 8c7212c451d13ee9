"""English words of time: yesterday, last Friday, three days ago, March 3, the past ten days."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from infinite_memory.times.calendar import Grain, Period, days
from infinite_memory.times.holidays import match_holiday
from infinite_memory.times.numbers import (
    match_halves_ago,
    match_past_halves,
    read_number,
    read_ordinal,
)
from infinite_memory.times.recurring import (
    Cycle,
    clock_time,
    day_of_month,
    day_of_year,
    iso_week,
    month_of_year,
    months_of_year,
    nearest_weekend,
    part_of_day,
    resolve_last,
    resolve_next,
    resolve_this,
    weekday,
    weekend,
)
from infinite_memory.times.tokenizer import Cursor, Doubt, Match
from infinite_memory.times.words import (
    COUNTED,
    MONTHS,
    ORDINALS,
    PARTS,
    SEASONS,
    SHORT,
    UNITS,
    WEEKDAYS,
)

_LAST = frozenset({"last", "past", "previous", "prior"})
_THIS = frozenset({"this", "current"})
_NEXT = frozenset({"next", "coming", "upcoming"})
_ABBREVIATED = frozenset(SHORT - {"may", "march", "april", "june", "august"})
_DATED = frozenset({Grain.WEEK, Grain.MONTH, Grain.YEAR})
_LONG = _DATED | {Grain.DECADE}
DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1, "yday": -1, "tmrw": 1}
"""Days by their distance from today."""
# Words before a length of time that is given or taken back, as in "get two weeks back".
_BEFORE_GIVEN_BACK = frozenset(
    "get gets got give gives gave me us you him her them my your our his their its the these those"
    " want wants wanted need needs have has had take takes took win wins won save saves saved of"
    " put puts pay pays paid send sends sent go goes went step steps look looks every".split()
)
_MEASURES = UNITS | COUNTED
# "Last minute" may describe a change, and "last day" the end of school.
_UNCLEAR = frozenset({Grain.SECOND, Grain.MINUTE, Grain.DAY})
# Words after which spring is a framework and fall a verb.
_NO_SEASON = {
    "spring": frozenset(
        "boot framework mvc cloud data security batch roll rolls cleaning back".split()
    ),
    "fall": frozenset(
        "back through asleep in off over behind short apart into down for onto".split()
    ),
}


def match_english(cursor: Cursor, position: int) -> Match | None:
    """Return the English time that begins at `position`, or None.

    Raises:
        ValueError: there is no such day or time.
    """
    begin = position + 1 if cursor.word(position) == "the" else position
    if begin != position and cursor.word(begin) == "last":
        stretch = _match_the_last(cursor, begin)
        if stretch is not None:
            return stretch
    for reader in _READERS:
        match = reader(cursor, begin)
        if match is not None:
            return match
    return None


def match_month_and_day(cursor: Cursor, position: int) -> Match | None:
    """Return a month, with its day if the day stands before or after it."""
    month = MONTHS.get(cursor.word(position))
    if month is not None:
        return _match_named_month(cursor, position, month)
    token = cursor.at(position)
    if token is None or token.kind != "number" or len(token.groups[0] or "") > 2:
        return None
    after = position + 1
    if cursor.word(after) == "of" and token.groups[1] is not None:
        after += 1
    month = MONTHS.get(cursor.word(after))
    if month is None:
        return None
    is_unsure = token.groups[1] is None and is_verb(cursor, after)
    doubt = Doubt.PREPOSITION if is_unsure else Doubt.NONE
    return Match(day_of_year(month, int(token.groups[0] or "0")), after + 1, doubt)


def _match_named_month(cursor: Cursor, position: int, month: int) -> Match:
    after = position + 1
    if cursor.word(position) in _ABBREVIATED and cursor.sign(after) == ".":
        after += 1
    month_alone = Match(month_of_year(month), after, _month_doubt(cursor, position))
    number = after + 1 if cursor.word(after) == "the" else after
    token, ordinal = cursor.at(number), read_ordinal(cursor, number)
    if ordinal is not None and cursor.word(ordinal[1]) not in UNITS:
        if cursor.word(position - 1) in ("in", "of"):
            return month_alone  # "In March first" names no day.
        doubt = Doubt.PREPOSITION if is_verb(cursor, position) else Doubt.NONE
        return Match(day_of_year(month, ordinal[0]), ordinal[1], doubt)
    if token is None or token.kind != "number" or len(token.groups[0] or "") > 2:
        return month_alone
    if token.groups[1] is None and number != after:
        return month_alone
    is_sure = token.groups[1] is not None or not is_verb(cursor, position)
    doubt = Doubt.NONE if is_sure else Doubt.PREPOSITION
    return Match(day_of_year(month, int(token.groups[0] or "0")), number + 1, doubt)


def _month_doubt(cursor: Cursor, position: int) -> Doubt:
    return Doubt.PREPOSITION if cursor.word(position) in SHORT else Doubt.NONE


def is_verb(cursor: Cursor, position: int) -> bool:
    """Return whether this may be a verb: may or march in small letters, or as the first word."""
    token = cursor.at(position)
    return (
        token is not None
        and token.value in ("may", "march", "mar", "sun", "sat", "dec", "jan")
        and (token.raw[0].islower() or position == 0)
    )


def _match_day(cursor: Cursor, position: int) -> Match | None:
    calendar, word = cursor.calendar, cursor.word(position)
    if word in DAYS:
        return Match(calendar.unit(Grain.DAY, DAYS[word]), position + 1)
    if word == "tonight":
        return _match_night(cursor, 0, position + 1)
    if word == "now":
        return Match(Period(calendar.clock, calendar.clock), position + 1, Doubt.COMPANY)
    three_words = tuple(cursor.word(position + number) for number in range(3))
    if three_words == ("day", "before", "yesterday"):
        return Match(calendar.unit(Grain.DAY, -2), position + 3)
    if three_words == ("day", "after", "tomorrow"):
        return Match(calendar.unit(Grain.DAY, 2), position + 3)
    if three_words == ("night", "before", "last"):
        return _match_night(cursor, -2, position + 3)
    if three_words == ("weekend", "before", "last"):
        first = resolve_last(weekend(calendar), calendar).start
        return None if first is None else Match(_week_before(first, 2), position + 3)
    for words, offset in ((("before", "last"), -2), (("after", "next"), 2)):
        if (
            three_words[1:] == words
            and three_words[0] in UNITS
            and UNITS[three_words[0]][0] > Grain.DAY
        ):
            grain, number = UNITS[three_words[0]]
            return Match(calendar.unit(grain, offset * number), position + 3)
    return None


def _match_distance(cursor: Cursor, position: int) -> Match | None:
    """Return a time at a counted distance: three days ago, two Fridays ago, in a week."""
    calendar = cursor.calendar
    halves = match_halves_ago(cursor, position, read_number)
    if halves is not None:
        return halves
    is_ahead = cursor.word(position) == "in"
    number = read_number(cursor, position + 1 if is_ahead else position)
    if number is None:
        return None
    count, after = number
    word = cursor.word(after)
    is_ago = cursor.word(after + 1) == "ago" or _means_ago(cursor, position, after + 1)
    is_hence = (cursor.word(after + 1), cursor.word(after + 2)) == ("from", "now")
    if word in _MEASURES and (is_ago or is_ahead or is_hence):
        grain, length = _MEASURES[word]
        offset = count * length * (-1 if is_ago else 1)
        if is_ahead and (is_ago or is_hence):
            return None
        end = after + (2 if is_ago else 3 if is_hence else 1)
        if is_ago and grain > Grain.DAY and cursor.word(end) == "today":
            return _match_anniversary(cursor, grain, offset, end + 1)
        if is_ago and cursor.word(end) in WEEKDAYS:
            raise ValueError(
                "it may be a day of that week, or a day so long before the last one of that name"
            )
        # "Done in two days" is a duration.
        doubt = Doubt.COMPANY if is_ahead else Doubt.NONE
        return Match(calendar.unit(grain, offset), end, doubt)
    name = word.removesuffix("s") if word not in WEEKDAYS else word
    if is_ago and not is_ahead and name == "night":
        return _match_night(cursor, -count, after + 2)
    if not is_ago or is_ahead or (name not in WEEKDAYS and name != "weekend"):
        return None
    cycle = weekend(calendar) if name == "weekend" else weekday(WEEKDAYS[name], calendar)
    first = resolve_last(cycle, calendar).start
    if first is None:
        return None
    length = 2 if name == "weekend" else 1
    start = first.date() - (count - 1) * timedelta(days=7)
    return Match(days(start, length, cycle.grain), after + 2)


def _means_ago(cursor: Cursor, position: int, after: int) -> bool:
    """Return whether "back" means "ago": two weeks back, but not "get two weeks back"."""
    before = cursor.word(position - 1)
    is_moved = cursor.word(after + 1) in ("to", "into", "from") or before.endswith("ing")
    return cursor.word(after) == "back" and before not in _BEFORE_GIVEN_BACK and not is_moved


def _match_relative(cursor: Cursor, position: int) -> Match | None:
    """Return a time that begins with last, this or next."""
    word = cursor.word(position)
    if word in ("this", "these") and cursor.word(position + 1) in _LAST | _NEXT:
        position, word = position + 1, cursor.word(position + 1)
    if word not in _LAST | _THIS | _NEXT:
        return None
    match = (
        _match_stretch(cursor, position, word)
        or _match_unit(cursor, position, word)
        or _match_modified_name(cursor, position, word)
    )
    return None if match is None or _is_qualified(cursor, match) else match


def _is_qualified(cursor: Cursor, match: Match) -> bool:
    """Return whether the next words change the meaning: the last Friday of March."""
    word = cursor.word(match.end)
    is_within = word == "in" and cursor.word(match.end + 1) in MONTHS
    return word == "of" or (is_within and match.time.grain < Grain.YEAR)


def _match_stretch(cursor: Cursor, position: int, word: str) -> Match | None:
    """Return a counted length of time up to now, or from now: the past ten days."""
    halves = (
        match_past_halves(cursor, position + 1, read_number) if word in ("last", "past") else None
    )
    if halves is not None:
        return halves
    number = read_number(cursor, position + 1)
    if number is None and word in ("past", "coming") and cursor.word(position + 1) in UNITS:
        number = 1, position + 1
    if number is None or cursor.word(number[1]) not in _MEASURES or word in _THIS:
        return None
    count, after = number
    if cursor.word(after) == "d" and count in (2, 3):
        return None  # "The last 3d print" is about dimensions.
    grain, length = _MEASURES[cursor.word(after)]
    if count < 1:
        raise ValueError("the number must be at least 1")
    calendar = cursor.calendar
    if word in _NEXT:
        return Match(calendar.coming(grain, count * length), after + 1)
    if word in ("previous", "prior"):
        first, end = calendar.unit(grain, -count * length), calendar.unit(grain, -1)
        return Match(Period(first.start, end.end), after + 1)
    return Match(calendar.past(grain, count * length), after + 1)


def _match_the_last(cursor: Cursor, position: int) -> Match | None:
    """Return "the last week", the seven days up to now; "last week" is a calendar week."""
    grain, length = UNITS.get(cursor.word(position + 1), (Grain.MOMENT, 0))
    if cursor.word(position + 1).endswith("s") or grain not in _LONG or length > 1:
        return None
    match = Match(cursor.calendar.past(grain, 1), position + 2)
    return None if _is_qualified(cursor, match) else match


def _match_unit(cursor: Cursor, position: int, word: str) -> Match | None:
    unit = cursor.word(position + 1)
    if unit not in UNITS or unit.endswith("s") or unit in ("min",):
        return None
    grain, length = UNITS[unit]
    if length > 1 and word in _LAST:
        return Match(cursor.calendar.past(grain, length), position + 2)
    if length > 1 or grain in _UNCLEAR:
        return None
    if word == "last" and grain is Grain.HOUR:
        return Match(cursor.calendar.past(grain, 1), position + 2)
    return Match(cursor.calendar.unit(grain, _offset_of(word)), position + 2)


def _match_modified_name(cursor: Cursor, position: int, word: str) -> Match | None:
    """Return a name after last, this or next: last Friday, next summer, the last weekend."""
    calendar, name = cursor.calendar, cursor.word(position + 1)
    if name == "weekend" and word not in _LAST:
        return Match(nearest_weekend(calendar, _offset_of(word)), position + 2)
    if name in PARTS and name != "midnight":
        cycle = part_of_day(*PARTS[name])
        period = cycle.at(calendar.today + timedelta(days=_offset_of(word)))
        return None if period is None else Match(period, position + 2)
    match = _match_name(cursor, position + 1)
    if match is None or not isinstance(match.time, Cycle):
        return None
    if word in _LAST:
        return Match(resolve_last(match.time, calendar), match.end)
    if word in _THIS:
        # "This may work" and "this march" name no month.
        token = cursor.at(position + 1)
        may_be_verb = name in ("may", "march") and token is not None and token.raw[0].islower()
        doubt = Doubt.COMPANY if may_be_verb and match.end == position + 2 else Doubt.NONE
        return Match(resolve_this(match.time, calendar), match.end, doubt)
    period = resolve_next(match.time, calendar, calendar.clock, strictly=True)
    return Match(period, match.end)


def _offset_of(word: str) -> int:
    return -1 if word in _LAST else 1 if word in _NEXT else 0


def _match_name(cursor: Cursor, position: int) -> Match | None:
    """Return a recurring time: Friday, March, summer, the weekend, Q2, morning."""
    word, after = cursor.word(position), position + 1
    holiday = match_holiday(cursor, position)
    if holiday is not None:
        return holiday
    if word in WEEKDAYS:
        cycle = weekday(WEEKDAYS[word], cursor.calendar)
        if (cursor.word(after), cursor.word(after + 1)) == ("before", "last"):
            first = resolve_last(cycle, cursor.calendar).start
            return None if first is None else Match(_week_before(first), after + 2)
        doubt = Doubt.PREPOSITION if word in SHORT else Doubt.NONE
        return Match(cycle, after, doubt)
    if word == "weekend":
        return Match(weekend(cursor.calendar), after, Doubt.PREPOSITION)
    if word in SEASONS and cursor.word(after) not in _NO_SEASON.get(word, ()):
        cycle = months_of_year(SEASONS[word], 3, Grain.QUARTER)
        return Match(cycle, after, Doubt.PREPOSITION)
    if word in PARTS:
        begin, end = PARTS[word]
        # Noon is a time of the clock, so that a range ends at noon and not at one o'clock.
        part = clock_time(begin) if end - begin == 1 else part_of_day(begin, end)
        return Match(part, after, Doubt.COMPANY)
    month = match_month_and_day(cursor, position)
    if month is not None:
        return month
    token = cursor.at(position)
    if token is not None and token.kind == "quarter" and token.groups[0] == token.groups[2]:
        return Match(months_of_year(int(token.groups[1] or "1") * 3 - 2, 3, Grain.QUARTER), after)
    return None


def _week_before(day: datetime, length: int = 1) -> Period:
    grain = Grain.DAY if length == 1 else Grain.WEEKEND
    return days(day.date() - timedelta(days=7), length, grain)


def _match_night(cursor: Cursor, offset: int, end: int) -> Match | None:
    night = part_of_day(*PARTS["night"]).at(cursor.calendar.today + timedelta(days=offset))
    return None if night is None else Match(night, end)


def _match_anniversary(cursor: Cursor, grain: Grain, offset: int, end: int) -> Match | None:
    """Return the day in "a year ago today"."""
    day = cursor.calendar.away(grain, offset)
    return None if grain not in _DATED else Match(days(day, 1, Grain.DAY), end)


def _match_ordinal(cursor: Cursor, position: int) -> Match | None:
    """Return a time by its number: the second quarter, the first half, the 15th, week 12."""
    token, word = cursor.at(position), cursor.word(position)
    number = ORDINALS.get(word)
    if token is not None and token.kind == "number" and token.groups[1] is not None:
        number = int(token.groups[0] or "0")
    unit = cursor.word(position + 1)
    if number is not None and 1 <= number <= 4 and unit in ("quarter", "qtr"):
        cycle = months_of_year(number * 3 - 2, 3, Grain.QUARTER)
        return Match(cycle, position + 2, Doubt.PREPOSITION)
    if number is not None and 1 <= number <= 2 and unit == "half":
        cycle = months_of_year(number * 6 - 5, 6, Grain.HALF)
        return Match(cycle, position + 2, Doubt.COMPANY)
    if number is not None and word not in ORDINALS:
        return Match(day_of_month(number), position + 1, Doubt.COMPANY)
    week_number = read_number(cursor, position + 1)
    if word == "week" and week_number is not None and week_number[0] < 100:
        return Match(iso_week(week_number[0]), week_number[1], Doubt.COMPANY)
    return None


_READERS: tuple[Callable[[Cursor, int], Match | None], ...] = (
    _match_day,
    _match_distance,
    _match_relative,
    _match_name,
    _match_ordinal,
)
