"""English words of time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from infinite_memory.times.calendar import Grain, Period, days
from infinite_memory.times.english_words import (
    COUNTED,
    MONTHS,
    ORDINALS,
    PARTS,
    SEASONS,
    SHORT,
    UNITS,
    WEEKDAYS,
)
from infinite_memory.times.halves import halves_ago, halves_past
from infinite_memory.times.holidays import holiday
from infinite_memory.times.match import Doubt, Found, Source
from infinite_memory.times.numbers import number_at, ordinal_at
from infinite_memory.times.recurring import (
    Cycle,
    clock_time,
    day_of_month,
    day_of_year,
    following,
    iso_week,
    last,
    month_of_year,
    months_of_year,
    nearest_weekend,
    part_of_day,
    this,
    weekday,
    weekend,
)

__all__ = ["english", "is_verb", "month_and_day"]

_LAST = frozenset({"last", "past", "previous", "prior"})
_THIS = frozenset({"this", "current"})
_NEXT = frozenset({"next", "coming", "upcoming"})
_ABBREVIATED = frozenset(SHORT - {"may", "march", "april", "june", "august"})
_DATED = frozenset({Grain.WEEK, Grain.MONTH, Grain.YEAR})
_LONG = _DATED | {Grain.DECADE}
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1, "yday": -1, "tmrw": 1}
# Of what is given back.
_GIVEN = frozenset(
    "get gets got give gives gave me us you him her them my your our his their its the these those"
    " want wants wanted need needs have has had take takes took win wins won save saves saved of"
    " put puts pay pays paid send sends sent go goes went step steps look looks every".split()
)
_MEASURES = UNITS | COUNTED
# "Last minute" is said of changes, and "last day" of school.
_UNCLEAR = frozenset({Grain.SECOND, Grain.MINUTE, Grain.DAY})
# What makes spring a framework, and fall a verb.
_NO_SEASON = {
    "spring": frozenset(
        "boot framework mvc cloud data security batch roll rolls cleaning back".split()
    ),
    "fall": frozenset(
        "back through asleep in off over behind short apart into down for onto".split()
    ),
}


def english(source: Source, place: int) -> Found | None:
    """Return the English time whose words begin at `place`, None if none does.

    Raises:
        ValueError: there is no such day or time.
    """
    begin = place + 1 if source.word(place) == "the" else place
    if begin != place and source.word(begin) == "last":
        stretch = _the_last(source, begin)
        if stretch is not None:
            return stretch
    for reader in _READERS:
        found = reader(source, begin)
        if found is not None:
            return found
    return None


def month_and_day(source: Source, place: int) -> Found | None:
    """Return a month, with its day where one stands before or after it."""
    month = MONTHS.get(source.word(place))
    if month is not None:
        return _named_month(source, place, month)
    token = source.at(place)
    if token is None or token.kind != "number" or len(token.groups[0] or "") > 2:
        return None
    after = place + 1
    if source.word(after) == "of" and token.groups[1] is not None:
        after += 1
    month = MONTHS.get(source.word(after))
    if month is None:
        return None
    unsure = token.groups[1] is None and is_verb(source, after)
    doubt = Doubt.PREPOSITION if unsure else Doubt.NONE
    return Found(day_of_year(month, int(token.groups[0] or "0")), after + 1, doubt)


def _named_month(source: Source, place: int, month: int) -> Found:
    after = place + 1
    if source.word(place) in _ABBREVIATED and source.sign(after) == ".":
        after += 1
    bare = Found(month_of_year(month), after, _month_doubt(source, place))
    number = after + 1 if source.word(after) == "the" else after
    token, ordinal = source.at(number), ordinal_at(source, number)
    if ordinal is not None and source.word(ordinal[1]) not in UNITS:
        if source.word(place - 1) in ("in", "of"):
            return bare  # "In March first" is no day.
        doubt = Doubt.PREPOSITION if is_verb(source, place) else Doubt.NONE
        return Found(day_of_year(month, ordinal[0]), ordinal[1], doubt)
    if token is None or token.kind != "number" or len(token.groups[0] or "") > 2:
        return bare
    if token.groups[1] is None and number != after:
        return bare
    sure = token.groups[1] is not None or not is_verb(source, place)
    doubt = Doubt.NONE if sure else Doubt.PREPOSITION
    return Found(day_of_year(month, int(token.groups[0] or "0")), number + 1, doubt)


def _month_doubt(source: Source, place: int) -> Doubt:
    return Doubt.PREPOSITION if source.word(place) in SHORT else Doubt.NONE


def is_verb(source: Source, place: int) -> bool:
    """Tell whether this may be a verb: may, march in small letters or at the beginning."""
    token = source.at(place)
    return (
        token is not None
        and token.value in ("may", "march", "mar", "sun", "sat", "dec", "jan")
        and (token.raw[0].islower() or place == 0)
    )


def _day(source: Source, place: int) -> Found | None:
    calendar, word = source.calendar, source.word(place)
    if word in _DAYS:
        return Found(calendar.unit(Grain.DAY, _DAYS[word]), place + 1)
    if word == "tonight":
        return _night(source, 0, place + 1)
    if word == "now":
        return Found(Period(calendar.clock, calendar.clock), place + 1, Doubt.COMPANY)
    three = tuple(source.word(place + number) for number in range(3))
    if three == ("day", "before", "yesterday"):
        return Found(calendar.unit(Grain.DAY, -2), place + 3)
    if three == ("day", "after", "tomorrow"):
        return Found(calendar.unit(Grain.DAY, 2), place + 3)
    if three == ("night", "before", "last"):
        return _night(source, -2, place + 3)
    if three == ("weekend", "before", "last"):
        first = last(weekend(calendar), calendar).start
        return None if first is None else Found(_week_before(first, 2), place + 3)
    for words, offset in ((("before", "last"), -2), (("after", "next"), 2)):
        if three[1:] == words and three[0] in UNITS and UNITS[three[0]][0] > Grain.DAY:
            grain, number = UNITS[three[0]]
            return Found(calendar.unit(grain, offset * number), place + 3)
    return None


def _counted(source: Source, place: int) -> Found | None:
    """Return what lies a number of units away: three days ago, two Fridays ago, in a week."""
    calendar = source.calendar
    halved = halves_ago(source, place, number_at)
    if halved is not None:
        return halved
    ahead = source.word(place) == "in"
    number = number_at(source, place + 1 if ahead else place)
    if number is None:
        return None
    count, after = number
    word = source.word(after)
    ago = source.word(after + 1) == "ago" or _is_back(source, place, after + 1)
    hence = (source.word(after + 1), source.word(after + 2)) == ("from", "now")
    if word in _MEASURES and (ago or ahead or hence):
        grain, length = _MEASURES[word]
        offset = count * length * (-1 if ago else 1)
        if ahead and (ago or hence):
            return None
        end = after + (2 if ago else 3 if hence else 1)
        if ago and grain > Grain.DAY and source.word(end) == "today":
            return _anniversary(source, grain, offset, end + 1)
        if ago and source.word(end) in WEEKDAYS:
            raise ValueError("it may be the day of that week, or so long before the last one")
        # "Done in two days" says how long it took.
        doubt = Doubt.COMPANY if ahead else Doubt.NONE
        return Found(calendar.unit(grain, offset), end, doubt)
    name = word.removesuffix("s") if word not in WEEKDAYS else word
    if ago and not ahead and name == "night":
        return _night(source, -count, after + 2)
    if not ago or ahead or (name not in WEEKDAYS and name != "weekend"):
        return None
    cycle = weekend(calendar) if name == "weekend" else weekday(WEEKDAYS[name], calendar)
    first = last(cycle, calendar).start
    if first is None:
        return None
    length = 2 if name == "weekend" else 1
    start = first.date() - (count - 1) * timedelta(days=7)
    return Found(days(start, length, cycle.grain), after + 2)


def _is_back(source: Source, place: int, after: int) -> bool:
    """Tell whether "back" is "ago": two weeks back, but not "get two weeks back"."""
    before = source.word(place - 1)
    moved = source.word(after + 1) in ("to", "into", "from") or before.endswith("ing")
    return source.word(after) == "back" and before not in _GIVEN and not moved


def _relative(source: Source, place: int) -> Found | None:
    """Return what begins with last, this or next."""
    word = source.word(place)
    if word in ("this", "these") and source.word(place + 1) in _LAST | _NEXT:
        place, word = place + 1, source.word(place + 1)
    if word not in _LAST | _THIS | _NEXT:
        return None
    found = (
        _stretch(source, place, word)
        or _whole_unit(source, place, word)
        or _named(source, place, word)
    )
    return None if found is None or _counts_from(source, found) else found


def _counts_from(source: Source, found: Found) -> bool:
    """Tell whether what follows changes the meaning: the last Friday of March."""
    word = source.word(found.end)
    within = word == "in" and source.word(found.end + 1) in MONTHS
    return word == "of" or (within and found.time.grain < Grain.YEAR)


def _stretch(source: Source, place: int, word: str) -> Found | None:
    """Return a number of units up to now, or from now: the past ten days."""
    halved = halves_past(source, place + 1, number_at) if word in ("last", "past") else None
    if halved is not None:
        return halved
    number = number_at(source, place + 1)
    if number is None and word in ("past", "coming") and source.word(place + 1) in UNITS:
        number = 1, place + 1
    if number is None or source.word(number[1]) not in _MEASURES or word in _THIS:
        return None
    count, after = number
    if source.word(after) == "d" and count in (2, 3):
        return None  # "The last 3d print" has dimensions.
    grain, length = _MEASURES[source.word(after)]
    if count < 1:
        raise ValueError("there is no such number of them")
    calendar = source.calendar
    if word in _NEXT:
        return Found(calendar.coming(grain, count * length), after + 1)
    if word in ("previous", "prior"):
        first, end = calendar.unit(grain, -count * length), calendar.unit(grain, -1)
        return Found(Period(first.start, end.end), after + 1)
    return Found(calendar.past(grain, count * length), after + 1)


def _the_last(source: Source, place: int) -> Found | None:
    """Return the seven days up to now in "the last week"; "last week" is that of the calendar."""
    grain, length = UNITS.get(source.word(place + 1), (Grain.MOMENT, 0))
    if source.word(place + 1).endswith("s") or grain not in _LONG or length > 1:
        return None
    found = Found(source.calendar.past(grain, 1), place + 2)
    return None if _counts_from(source, found) else found


def _whole_unit(source: Source, place: int, word: str) -> Found | None:
    unit = source.word(place + 1)
    if unit not in UNITS or unit.endswith("s") or unit in ("min",):
        return None
    grain, length = UNITS[unit]
    if length > 1 and word in _LAST:
        return Found(source.calendar.past(grain, length), place + 2)
    if length > 1 or grain in _UNCLEAR:
        return None
    if word == "last" and grain is Grain.HOUR:
        return Found(source.calendar.past(grain, 1), place + 2)
    return Found(source.calendar.unit(grain, _offset(word)), place + 2)


def _named(source: Source, place: int, word: str) -> Found | None:
    """Return last Friday, this March, next summer, last night, the last weekend."""
    calendar, name = source.calendar, source.word(place + 1)
    if name == "weekend" and word not in _LAST:
        return Found(nearest_weekend(calendar, _offset(word)), place + 2)
    if name in PARTS and name != "midnight":
        cycle = part_of_day(*PARTS[name])
        period = cycle.at(calendar.today + timedelta(days=_offset(word)))
        return None if period is None else Found(period, place + 2)
    found = _bare(source, place + 1)
    if found is None or not isinstance(found.time, Cycle):
        return None
    if word in _LAST:
        return Found(last(found.time, calendar), found.end)
    if word in _THIS:
        # "This may work" and "this march" name no month.
        token = source.at(place + 1)
        verb = name in ("may", "march") and token is not None and token.raw[0].islower()
        doubt = Doubt.COMPANY if verb and found.end == place + 2 else Doubt.NONE
        return Found(this(found.time, calendar), found.end, doubt)
    period = following(found.time, calendar, calendar.clock, strictly=True)
    return Found(period, found.end)


def _offset(word: str) -> int:
    return -1 if word in _LAST else 1 if word in _NEXT else 0


def _bare(source: Source, place: int) -> Found | None:
    """Return a name that comes again: Friday, March, summer, the weekend, Q2, morning."""
    word, after = source.word(place), place + 1
    named = holiday(source, place)
    if named is not None:
        return named
    if word in WEEKDAYS:
        cycle = weekday(WEEKDAYS[word], source.calendar)
        if (source.word(after), source.word(after + 1)) == ("before", "last"):
            first = last(cycle, source.calendar).start
            return None if first is None else Found(_week_before(first), after + 2)
        doubt = Doubt.PREPOSITION if word in SHORT else Doubt.NONE
        return Found(cycle, after, doubt)
    if word == "weekend":
        return Found(weekend(source.calendar), after, Doubt.PREPOSITION)
    if word in SEASONS and source.word(after) not in _NO_SEASON.get(word, ()):
        cycle = months_of_year(SEASONS[word], 3, Grain.QUARTER)
        return Found(cycle, after, Doubt.PREPOSITION)
    if word in PARTS:
        begin, end = PARTS[word]
        # A range goes up to noon, and not to one o'clock.
        part = clock_time(begin) if end - begin == 1 else part_of_day(begin, end)
        return Found(part, after, Doubt.COMPANY)
    month = month_and_day(source, place)
    if month is not None:
        return month
    token = source.at(place)
    if token is not None and token.kind == "quarter" and token.groups[0] == token.groups[2]:
        return Found(months_of_year(int(token.groups[1] or "1") * 3 - 2, 3, Grain.QUARTER), after)
    return None


def _week_before(day: datetime, length: int = 1) -> Period:
    grain = Grain.DAY if length == 1 else Grain.WEEKEND
    return days(day.date() - timedelta(days=7), length, grain)


def _night(source: Source, offset: int, end: int) -> Found | None:
    night = part_of_day(*PARTS["night"]).at(source.calendar.today + timedelta(days=offset))
    return None if night is None else Found(night, end)


def _anniversary(source: Source, grain: Grain, offset: int, end: int) -> Found | None:
    """Return the day in "a year ago today"."""
    day = source.calendar.away(grain, offset)
    return None if grain not in _DATED else Found(days(day, 1, Grain.DAY), end)


def _ordinal(source: Source, place: int) -> Found | None:
    """Return the second quarter, the first half, the 15th, week 12."""
    token, word = source.at(place), source.word(place)
    number = ORDINALS.get(word)
    if token is not None and token.kind == "number" and token.groups[1] is not None:
        number = int(token.groups[0] or "0")
    unit = source.word(place + 1)
    if number is not None and 1 <= number <= 4 and unit == "quarter":
        cycle = months_of_year(number * 3 - 2, 3, Grain.QUARTER)
        return Found(cycle, place + 2, Doubt.PREPOSITION)
    if number is not None and 1 <= number <= 2 and unit == "half":
        cycle = months_of_year(number * 6 - 5, 6, Grain.HALF)
        return Found(cycle, place + 2, Doubt.COMPANY)
    if number is not None and word not in ORDINALS:
        return Found(day_of_month(number), place + 1, Doubt.COMPANY)
    following_number = number_at(source, place + 1)
    if word == "week" and following_number is not None and following_number[0] < 100:
        return Found(iso_week(following_number[0]), following_number[1], Doubt.COMPANY)
    return None


_READERS: tuple[Callable[[Source, int], Found | None], ...] = (
    _day,
    _counted,
    _relative,
    _bare,
    _ordinal,
)
