"""Times of a clock of twelve hours, which shows each of them twice a day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

from attrs import frozen

from infinite_memory.times.calendar import Calendar, Grain, Period
from infinite_memory.times.recurring import Cycle, Time, clock_time, combined, following

__all__ = ["Dial", "dial_time", "next_on_dial", "together"]

# Unless a part of the day is said, three may be at night or in the afternoon, but nine is not.
_FIRST_CLEAR = 7
# Three in the morning and half past five in the evening are within no part of the day as it is.
_WIDER = {(5, 12): 0, (18, 0): 16}


@frozen
class Dial(Cycle):
    """A time of the clock that is twelve hours later where a part of the day says so.

    It is `clear` if it is a time by itself too, and `said` rather than shown in digits.
    """

    later: Callable[[date], Period | None]
    clear: bool
    said: bool

    @property
    def both(self) -> tuple[Cycle, Cycle]:
        """The time itself, and that of the other half of the day."""
        return (
            Cycle(self.grain, self.every, self.at),
            Cycle(self.grain, self.every, self.later),
        )


def dial_time(hour: int, minute: int | None, *, clear: bool | None = None, said: bool) -> Dial:
    """Return a time of which the hour, 1 to 12, is that of a clock of twelve hours.

    From seven to noon it is clear unless it is said not to be.
    """
    early, late = clock_time(hour % 12, minute), clock_time(hour % 12 + 12, minute)
    one, two = (late, early) if hour == 12 else (early, late)
    settled = hour >= _FIRST_CLEAR if clear is None else clear
    return Dial(one.grain, one.every, one.at, two.at, settled, said)


def together(one: Time, two: Time, calendar: Calendar) -> Time | None:
    """Return the finer time within the coarser, None if it comes there never or more than once.

    Half past nine is 21:30 within an evening.
    """
    fine, coarse = (one, two) if one.grain < two.grain else (two, one)
    if not isinstance(fine, Cycle) or fine.grain >= Grain.PART:
        return combined(one, two, calendar)
    if coarse.grain is Grain.PART:
        return _within_part(fine, coarse, calendar)
    if isinstance(fine, Dial) and not fine.clear:
        return None
    return combined(one, two, calendar)


def _within_part(clock: Cycle, part: Time, calendar: Calendar) -> Time | None:
    part = _widened(part)
    for cycle in clock.both if isinstance(clock, Dial) else (clock,):
        time = combined(cycle, part, calendar)
        if isinstance(time, Period) or (time is not None and time.at(calendar.today) is not None):
            return time
    return None


def _widened(part: Time) -> Time:
    """Return a part of the day with the hours that people count to it: three in the morning."""
    if isinstance(part, Period):
        return _with_hours_before(part)
    at = part.at

    def inside(day: date) -> Period | None:
        found = at(day)
        return None if found is None else _with_hours_before(found)

    return Cycle(part.grain, part.every, inside)


def _with_hours_before(part: Period) -> Period:
    start, end = part.start, part.end
    if start is None or end is None:
        return part
    if (start.hour, end.hour) in _WIDER:
        return Period(start.replace(hour=_WIDER[start.hour, end.hour]), end, part.grain)
    return part


def next_on_dial(time: Dial, calendar: Calendar, limit: datetime) -> Period:
    """Return the first at `limit` or later, in whichever half of the day it is."""
    both = [following(cycle, calendar, limit, strictly=False) for cycle in time.both]
    return min(both, key=lambda period: period.start or limit)
