"""How times are put together: within one another, from one to another, since one."""

from __future__ import annotations

from datetime import datetime, timedelta

from attrs import evolve

from infinite_memory.times.atoms import atom, inwards
from infinite_memory.times.calendar import Calendar, Grain, Period
from infinite_memory.times.chinese_words import DIGITS, HOLIDAYS, WEEKDAYS
from infinite_memory.times.english import month_and_day
from infinite_memory.times.match import Doubt, Found, Source
from infinite_memory.times.parts import end_of, numbered_after, part
from infinite_memory.times.recurring import (
    Cycle,
    Time,
    day_of_month,
    following,
    latest,
    latest_before,
)
from infinite_memory.times.spans import hours, span
from infinite_memory.times.twelve_hour import Dial, next_on_dial, together

__all__ = ["expression", "period_of"]

_UNTIL = frozenset({"until", "till"})
_TO = frozenset({"to", "through", "thru"})
_BOUNDS = {
    **{("up", word): "until" for word in ("to", "until", "till")},
    **{("prior", "to"): "before", ("later", "than"): "after", ("ever", "since"): "since"},
}
_AND = frozenset({"and"})
_DASHES = frozenset({"-", "–", "—", "~", "～"})
_SINCE_ZH = frozenset({"以来", "至今", "开始", "起"})
_BEFORE_ZH = frozenset({"以前", "之前"})
_CLOSING_ZH = frozenset({"之间", "期间"})
_AFTER_ZH = frozenset({"以后", "之后"})
_FORMER_ZH = frozenset("妻夫女男任排门台端景途辈言锋缀同老公面续期勤卫院备")
_ONWARDS = frozenset({"onwards", "onward"})
_MOST_PARTS = 4


def expression(source: Source, place: int) -> Found | None:
    """Return the whole expression of time that begins at `place`, None if none does.

    Raises:
        ValueError: there is no such day or time.
    """
    found = _bounded(source, place) or _between(source, place) or _from(source, place)
    return None if found is not None and _is_unclear(found.time) else found


def period_of(found: Found, calendar: Calendar) -> Period:
    """Return what was found, of a time that comes again the last that has begun."""
    return latest(found.time, calendar)


def _is_unclear(time: Time) -> bool:
    return isinstance(time, Dial) and not time.clear


def _simple(source: Source, place: int) -> Found | None:
    """Return a time with all that is said of it: Friday last week at 3 pm."""
    found = part(source, place) or atom(source, place)
    if found is None:
        return None
    for _ in range(_MOST_PARTS):
        begin = inwards(source, found.end)
        behind = numbered_after(source, begin, found)
        if behind is not None:
            found = behind
            continue
        other = _other(source, begin, found)
        if other is None:
            break
        if {source.word(found.end - 1), source.word(other.end - 1)} == {"eve", "midnight"}:
            raise ValueError("it may be the night before or after: name the day")
        time = together(found.time, other.time, source.calendar)
        if time is None:
            break
        found = Found(time, other.end, _doubt(found, other))
    return found


def _other(source: Source, place: int, found: Found) -> Found | None:
    """Return what is said next of a time: a day or an hour with the part of the day behind it."""
    other = part(source, place) or atom(source, place)
    if other is None or not _waits(found.time.grain, other.time.grain):
        return other
    hours = atom(source, inwards(source, other.end))
    if hours is None or hours.time.grain is not Grain.PART:
        return other
    time = together(other.time, hours.time, source.calendar)
    return other if time is None else Found(time, hours.end, _doubt(other, hours))


def _waits(first: Grain, second: Grain) -> bool:
    """Tell whether a part of the day may follow: 9 on Monday night, Monday at 9 in the evening."""
    if first < Grain.PART:
        return second is Grain.DAY
    return Grain.MOMENT < second < Grain.PART


def _doubt(one: Found, other: Found) -> Doubt:
    """Return the doubt of two times together: none if one is sure, or it is a name and a year."""
    if Doubt.NONE in (one.doubt, other.doubt):
        return Doubt.NONE
    if {one.time.grain, other.time.grain} == {Grain.DAY, Grain.PART}:
        return min(one.doubt, other.doubt)  # On Christmas morning.
    year = Grain.YEAR in (one.time.grain, other.time.grain)
    named = {one.time.grain, other.time.grain} & {
        *(Grain.MONTH, Grain.QUARTER, Grain.HALF, Grain.WEEK, Grain.THIRD, Grain.DAY),
        Grain.WEEKEND,
    }
    return Doubt.NONE if year and named else max(one.doubt, other.doubt)


def _bounded(source: Source, place: int) -> Found | None:
    """Return what begins with since, after, before or until."""
    word, calendar = source.word(place), source.calendar
    two = (word, source.word(place + 1))
    if two in _BOUNDS:
        word, place = _BOUNDS[two], place + 1
    if word not in ("since", "after", "before", *_UNTIL):
        return None
    found = end_of(source, place + 1) or _simple(source, place + 1)
    if found is None or _is_unclear(found.time):
        return None
    first = latest(found.time, calendar)
    if word == "since":
        if source.word(found.end) in _UNTIL:
            end = _simple(source, found.end + 1)
            return None if end is None else _span(source, found, end, inclusive=False)
        return _open(found, Period(first.start, None))
    if word == "after":
        return _open(found, Period(_close(first), None))
    return _open(found, Period(None, first.start))


def _between(source: Source, place: int) -> Found | None:
    """Return what begins with between or from, in either language."""
    word, han = source.word(place), source.han(place)
    if word == "between":
        shared = span(source, place + 1)
        return _simple(source, place + 1) if shared else _joined(source, place + 1, _AND)
    if han in ("在", "从", "自", "自从"):
        found = _from(source, place + 1)
        if han == "在" or found is None or _is_open(found) or _is_unclear(found.time):
            return found
        if han == "自从":
            return _open(found, Period(latest(found.time, source.calendar).start, None))
        return found if source.han(found.end - 1) else None
    if word != "from":
        return None
    found = _joined(source, place + 1, _TO) or _joined(source, place + 1, _UNTIL, inclusive=False)
    if found is not None:
        return found
    start = _simple(source, place + 1)
    if start is None or _is_unclear(start.time):
        return None
    first, after = latest(start.time, source.calendar), start.end
    if source.word(after) in _ONWARDS or (
        source.word(after) == "on" and not source.word(after + 1)
    ):
        return _open(evolve(start, end=after + 1), Period(first.start, None))
    return evolve(start, doubt=Doubt(max(start.doubt - 1, 0)))


def _is_open(found: Found) -> bool:
    return isinstance(found.time, Period) and found.time.end is None


def _joined(
    source: Source, place: int, words: frozenset[str], *, inclusive: bool = True
) -> Found | None:
    first = _simple(source, place)
    if first is None:
        return None
    # In "May 3 and 5" the first time ends before its conjunction.
    if not (source.word(first.end) in words or (words == _TO and _dash(source, first.end))):
        return None
    second = _last_part(source, first, first.end + 1)
    if second is None:
        return None
    return _span(source, first, second, inclusive=inclusive)


def _dash(source: Source, place: int) -> bool:
    return source.sign(place) in _DASHES


def _last_part(source: Source, first: Found, place: int) -> Found | None:
    """Return the second time of two; after a day of a month, a number may be enough."""
    second = _simple(source, place)
    token = source.at(place)
    if (
        token is not None
        and token.kind == "number"
        and len(token.groups[0] or "") <= 2
        and first.time.grain is Grain.DAY
        and month_and_day(source, place) is None
        and not source.han(place + 1)
    ):
        return Found(day_of_month(int(token.groups[0] or "0")), place + 1)
    if second is None:
        return None
    return _same_half(source, first, second) if _is_shifted(source, first, second) else second


def _is_shifted(source: Source, first: Found, second: Found) -> bool:
    """Tell whether both are times such as 8:30 and the first is said to be in the evening."""
    shown, other = source.at(first.end - 1), source.at(second.end - 1)
    if shown is None or other is None or not shown.kind == other.kind == "clock":
        return False
    begin = latest(first.time, source.calendar).start
    spoken = begin is not None and begin.hour == int(shown.groups[0] or "0") + 12
    return spoken and shown.groups[3] is None and other.groups[3] is None


def _same_half(source: Source, first: Found, second: Found) -> Found:
    """Return 21:30 in 昨晚8:30到9:30: a part of the day that is not repeated holds on."""
    begin, clock = latest(first.time, source.calendar).start, second.time
    if begin is None or not isinstance(clock, Cycle):
        return second
    then = clock.at(begin.date())
    if clock.every is not Grain.DAY or begin.hour < 12 or then is None or then.start is None:
        return second
    if then.start.hour >= 12 or then.end is None:
        return second
    half = timedelta(hours=12)
    later = Period(then.start + half, then.end + half, then.grain)
    return Found(later, second.end, second.doubt)


def _from(source: Source, place: int) -> Found | None:
    """Return a time, or one with words after it that make it a longer one: March to May."""
    found = _simple(source, place)
    if found is None:
        return None
    han, calendar = source.han(found.end), source.calendar
    if source.word(found.end) in _ONWARDS and not _is_unclear(found.time):
        first = latest(found.time, calendar)
        return _open(evolve(found, end=found.end + 1), Period(first.start, None))
    if source.word(found.end) in ("from", "between"):
        return _hours(source, found) or found
    if han in ("到", "至", "和", "与") or source.word(found.end) in _TO or _dash(source, found.end):
        second = _last_part(source, found, found.end + 1)
        if second is None:
            return found
        both = _span(source, found, second, inclusive=True)
        if han in ("和", "与"):
            closed = source.han(both.end) == "之间"
            return evolve(both, end=both.end + 1) if closed else found
        return evolve(both, end=both.end + 1) if source.han(both.end) in _CLOSING_ZH else both
    return _bounded_in_chinese(source, found)


def _bounded_in_chinese(source: Source, found: Found) -> Found:
    """Return a time with 以来, 之前 or 之后 behind it, as it is if none of them is there."""
    han, calendar = source.han(found.end), source.calendar
    if _is_unclear(found.time):
        return found
    if han == "期间":
        return evolve(found, end=found.end + 1)
    first = latest(found.time, calendar)
    if han in _SINCE_ZH:
        end = calendar.clock if han == "至今" else None
        return _open(evolve(found, end=found.end + 1), Period(first.start, end))
    dated = _is_dated(source, found)
    if han in _BEFORE_ZH or (han == "前" and dated):
        # Before the end of a month is before it is over.
        ends = source.han(found.end - 1).endswith(("底", "末")) and first.grain is Grain.THIRD
        limit = first.end if ends else first.start
        return _open(evolve(found, end=found.end + 1), Period(None, limit))
    if han in _AFTER_ZH or (han == "后" and dated):
        return _open(evolve(found, end=found.end + 1), Period(_close(first), None))
    return found


def _is_dated(source: Source, found: Found) -> bool:
    """Tell whether 前 behind a time is "before" it: 三月五日前, but not 三月前, nor 五日前两天."""
    last, follows = source.han(found.end - 1), source.han(found.end + 1)
    token = source.at(found.end + 1)
    counted = follows in DIGITS or (token is not None and token.kind == "number")
    if counted or follows.startswith("半") or source.sign(found.end + 1) in _FORMER_ZH:
        return False
    if last == "年":
        return found.time.grain is Grain.YEAR
    return last in ("日", "号") or last in WEEKDAYS or last in HOLIDAYS


def _hours(source: Source, day: Found) -> Found | None:
    """Return the hours in "yesterday from 2 pm to 4 pm"."""
    between = source.word(day.end) == "between"
    shared = hours(source, day.end + 1)
    if shared is not None:
        both = together(day.time, shared.time, source.calendar)
        return None if both is None else Found(both, shared.end)
    first = _simple(source, day.end + 1)
    time = None if first is None else together(day.time, first.time, source.calendar)
    if first is None or time is None:
        return None
    if not (source.word(first.end) in (("and",) if between else _TO) or _dash(source, first.end)):
        return None
    second = _simple(source, first.end + 1)
    if second is None or second.time.grain >= Grain.DAY:
        return None
    begin = Found(time, first.end)
    second = _same_half(source, begin, second) if _is_shifted(source, begin, second) else second
    return _span(source, begin, second, inclusive=True)


def _open(found: Found, period: Period) -> Found:
    return Found(period, found.end, Doubt(max(found.doubt - 1, 0)))


def _span(source: Source, first: Found, second: Found, *, inclusive: bool) -> Found:
    """Return the time from the first to the end of the second, or to its beginning.

    Of times that come again the second is the next one after the first.
    """
    calendar = source.calendar
    one: Time = first.time
    two: Time = second.time
    if _is_unclear(one):
        raise ValueError("it may be in either half of the day")
    if isinstance(one, Cycle) and isinstance(two, Period):
        two = _end_of_day(two) if one.grain < Grain.DAY else two
        begin = latest_before(one, calendar, _local(calendar, two))
    else:
        begin = latest(one, calendar)
    if isinstance(two, Dial) and two.said:
        # From nine to three: in the afternoon.
        two = next_on_dial(two, calendar, _local(calendar, begin))
    if isinstance(two, Cycle):
        two = following(two, calendar, _local(calendar, begin), strictly=False)
    end = _close(two) if inclusive else two.start
    doubt = Doubt(max(min(first.doubt, second.doubt) - 1, 0))
    return Found(Period(begin.start, end), second.end, doubt)


def _end_of_day(time: Period) -> Period:
    """Return the midnight that a day ends with for that it begins with: 10 pm to midnight."""
    start, end, day = time.start, time.end, timedelta(days=1)
    if time.grain is not Grain.HOUR or start is None or end is None or start.hour:
        return time
    return Period(start + day, end + day, time.grain)


def _local(calendar: Calendar, period: Period) -> datetime:
    start = period.start
    if start is None:
        raise ValueError("it has no beginning")
    return start if start.tzinfo is None else calendar.local(start)


def _close(period: Period) -> datetime | None:
    """Return the end of a period, of a time of the clock its beginning: to 14:00 is up to then."""
    return period.start if period.grain <= Grain.HOUR else period.end
