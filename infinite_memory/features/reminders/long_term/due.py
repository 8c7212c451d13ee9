"""Due: when a reminder is due, by its own date, by the words of its text, or by its condition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from math import inf

from attrs import frozen

from infinite_memory import times
from infinite_memory.core.clock import Deadline, current_deadline
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.conversation.trigger import Occasion
from infinite_memory.core.values.memory import JsonValue, Memory
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.long_term.book import Moment, TrackedMemory
from infinite_memory.features.reminders.long_term.checking import (
    CODE_SECONDS,
    Checked,
    begin_code,
    check_conditions,
    is_code,
)
from infinite_memory.features.reminders.long_term.context import read_state

DEFAULT_WITHIN = timedelta(days=7)
"""How far ahead reminders are looked for."""

# A day of the year may be so long past when it is told; a day may have an hour more.
_PAST, _LONGEST_DAY = timedelta(days=60), timedelta(hours=25)
_MOST_WITHIN = timedelta(days=366)
_STEP = timedelta(hours=1)
_MOST_LOOKED_AHEAD = 2000
_TIME_PARTS = frozenset({"on", "since", "until", "between", "weekdays", "recurs"})


@frozen(kw_only=True)
class Due:
    """The reminders whose condition holds, each with its moment.

    Of the `conditions` that were to be checked, there was no time for the `unchecked` ones.
    """

    moments: Mapping[TrackedMemory, datetime]
    conditions: int
    unchecked: Sequence[TrackedMemory]


def find_due(
    services: Services,
    entries: Iterable[TrackedMemory],
    *,
    within: timedelta = DEFAULT_WITHIN,
    code_seconds: float = CODE_SECONDS,
    ahead_seconds: float = inf,
) -> Due:
    """Return which conditions of `entries` hold by their time alone.

    A condition holds now or, for rules, at a full hour ahead. Conditions that are code have
    `code_seconds` together, looking ahead `ahead_seconds`.
    """
    now = services.clock()
    triggers = [entry for entry in entries if _depends_on_time(entry)]
    code = begin_code(services, triggers, now, seconds=code_seconds)
    checked = _check_now(services, triggers, now, code)
    moments = {entry: now for each in checked for entry in each.holding}
    unchecked = [entry for each in checked for entry in each.unchecked]
    waiting = [entry for entry in triggers if entry not in moments and not is_code(entry)]
    waiting = waiting[:_MOST_LOOKED_AHEAD]
    ahead = current_deadline().shortened_to(ahead_seconds)
    for hour in _list_hours(services, now, within):
        if ahead.is_over:
            unchecked += [entry for entry in waiting if entry not in unchecked]
            break
        held = _check_now(services, waiting, hour, code)
        moments |= {entry: hour for each in held for entry in each.holding}
        waiting = [entry for entry in waiting if entry not in moments]
    return Due(moments=moments, conditions=sum(each.count for each in checked), unchecked=unchecked)


def find_tracked_moment(services: Services, entry: TrackedMemory, today: datetime) -> Moment | None:
    """Return what `find_moment` finds, read once, and once a day if its days recur.

    Reading a text takes a millisecond.
    """
    read = entry.moment
    if read is None or (read[0] != today and read[1] is not None and read[1].recurs):
        read = entry.moment = today, find_moment(services, entry.memory, today)
    return read[1]


def find_moment(services: Services, reminder: Memory, today: datetime) -> Moment | None:
    """Return when a reminder without a condition is due, None if it has no date.

    Its own date counts first, then the day that its text names, also in the past. Of days that
    recur it is the first one from `today` on, unless its own date is later.
    """
    date = read_date(reminder)
    days = find_named_days(services, reminder, told_at(reminder) - _PAST)
    each = find_next(services, reminder, today) if any(day.recurs for day in days) else None
    if each is not None and (date is None or date < today):
        return each
    if date is not None:
        return Moment(at=date, is_timed=is_timed(services, date), recurs=each is not None)
    if days:
        coming = [day for day in days if day.end > told_at(reminder)]
        day = min(coming or days, key=lambda day: day.start)
        return Moment(at=day.start, is_timed=day.is_timed)
    return _find_past_day(services, reminder)


def find_next(services: Services, reminder: Memory, since: datetime) -> Moment | None:
    """Return the first of the recurring days of a text that is not over at `since`."""
    days = [day for day in find_named_days(services, reminder, since) if day.recurs]
    if not days:
        return None
    first = min(days, key=lambda day: day.start)
    return Moment(at=first.start, is_timed=first.is_timed, recurs=True)


def is_timed(services: Services, moment: datetime) -> bool:
    """Return whether a moment is another one than the beginning of a day."""
    local = in_zone(moment, services.config.time_zone)
    return (local.hour, local.minute) != (0, 0)


def told_at(memory: Memory) -> datetime:
    """Return when a memory was told: what was said of a time ahead was said before it."""
    return min(memory.happened_at, memory.stored_at)


def find_open_since(memory: Memory) -> datetime:
    """Return from when on a memory can end a reminder: told, or opened again."""
    value = read_state(memory).get("at")
    with suppress(ValueError):
        if isinstance(value, str) and (at := datetime.fromisoformat(value)).utcoffset() is not None:
            return max(at, told_at(memory))
    return told_at(memory)


def find_named_days(
    services: Services, memory: Memory, since: datetime
) -> tuple[times.NamedDay, ...]:
    """Return the days in a text that are not over at `since`, as they were meant when told."""
    config = services.config
    return times.find_days(
        memory.text,
        told_at=told_at(memory),
        since=since,
        zone=config.time_zone,
        week_start=config.week_start,
    )


def _find_past_day(services: Services, reminder: Memory) -> Moment | None:
    """Return the single day that a text names as a question does: "yesterday", "last Friday"."""
    config = services.config
    reading = times.find_range(
        reminder.text,
        now=told_at(reminder),
        zone=config.time_zone,
        week_start=config.week_start,
    )
    start, end = (None, None) if reading is None else (reading.range.start, reading.range.end)
    if start is None or end is None or end - start > _LONGEST_DAY:
        return None
    return Moment(at=start, is_timed=False)


def find_today(services: Services) -> tuple[datetime, datetime]:
    """Return the beginning of today and of tomorrow in the configured time zone."""
    local = in_zone(services.clock(), services.config.time_zone)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return midnight.astimezone(UTC), (midnight + timedelta(days=1)).astimezone(UTC)


def check_within(within: object) -> None:
    """Refuse what is no time ahead.

    Raises:
        InvalidInput: `within` is no timedelta of 0 to 366 days.
    """
    if not isinstance(within, timedelta) or not timedelta(0) <= within <= _MOST_WITHIN:
        raise InvalidInput(
            f"within {within!r:.100} cannot be used: give a timedelta of 0 to 366 days"
        )


def read_date(reminder: Memory) -> datetime | None:
    """Return the time of a reminder, None if it was stored without a time."""
    if reminder.valid_from is not None or reminder.valid_to is not None:
        return reminder.valid_from or reminder.valid_to
    # Without a time of its own it happened when it was stored.
    return reminder.happened_at if reminder.happened_at > reminder.stored_at else None


def _list_hours(services: Services, now: datetime, within: timedelta) -> Iterator[datetime]:
    """Yield the full hours ahead in the configured time zone, whose offset may be half an hour."""
    local = in_zone(now, services.config.time_zone)
    hour = now - timedelta(minutes=local.minute, seconds=local.second, microseconds=now.microsecond)
    while (hour := hour + _STEP) <= now + within:
        yield hour


def _depends_on_time(entry: TrackedMemory) -> bool:
    """Return whether a trigger has a part on the time: a rule at any depth, or `Date` in code.

    Without one nothing is due: "no message is about work" holds whenever nobody says anything.
    """
    if entry.trigger is None:
        return False
    if is_code(entry):
        return "Date" in str(entry.trigger.condition)
    parts: list[JsonValue] = [entry.trigger.condition]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            if not _TIME_PARTS.isdisjoint(part):
                return True
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    return False


def _check_now(
    services: Services, triggers: Sequence[TrackedMemory], moment: datetime, code: Deadline
) -> list[Checked]:
    """Return which memories may come up at a moment without any message, each by itself.

    The conversation and the scope of an occasion are those of the memory.
    """
    local = in_zone(moment, services.config.time_zone)
    places: defaultdict[tuple[str, str], list[TrackedMemory]] = defaultdict(list)
    # The places that were checked the longest ago come first, as there may not be time for all.
    for entry in sorted(triggers, key=lambda entry: entry.turn):
        places[entry.conversation_id, entry.memory.scope].append(entry)
    return [
        check_conditions(
            services,
            entries,
            Occasion(now=local, conversation_id=conversation, scope=scope),
            code=code,
        )
        for (conversation, scope), entries in places.items()
    ]
