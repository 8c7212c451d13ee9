"""Due: the reminders whose moment has come, or comes soon."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from math import inf

from attrs import frozen

from infinite_memory.core.clock import Deadline, current_deadline
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.conversation.message import check_conversation_id
from infinite_memory.core.values.conversation.trigger import Occasion
from infinite_memory.core.values.memory import JsonValue, Memory
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.engine.scopes import choose_scopes
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.long_term.book import TrackedMemory, read_book
from infinite_memory.features.reminders.long_term.checking import (
    CODE_SECONDS,
    Checked,
    begin_code,
    check_conditions,
    is_code,
)
from infinite_memory.features.reminders.long_term.values import DueReminder, DueReminders

DEFAULT_WITHIN = timedelta(days=7)
"""How far ahead reminders are looked for."""

_OVERDUE = timedelta(days=7)
_MOST_WITHIN = timedelta(days=366)
_STEP = timedelta(hours=1)
_MOST_LOOKED_AHEAD = 2000
_TIME_PARTS = frozenset({"on", "since", "until", "between", "weekdays", "recurs"})


@frozen(kw_only=True)
class Due:
    """The reminders that are due, each with its moment, the earliest first.

    Of the `conditions` that were to be checked, there was no time for the `unchecked` ones.
    """

    reminders: Sequence[tuple[datetime, TrackedMemory]]
    conditions: int
    unchecked: Sequence[TrackedMemory]


def find_due(
    services: Services,
    scopes: Collection[str] | None,
    *,
    within: timedelta = DEFAULT_WITHIN,
    conversation_id: str | None = None,
    code_seconds: float = CODE_SECONDS,
    ahead_seconds: float = inf,
) -> Due:
    """Return what is due in `scopes`, None for all: the one decision on it.

    Due is a reminder with a date, from a week ago until `within` from now, and one whose condition,
    which decides where it has both, holds by its time alone, now or, for rules, at a full hour
    ahead. Conditions that are code have `code_seconds` together, looking ahead `ahead_seconds`.
    """
    now = services.clock()
    selected = [
        entry
        for entry in read_book(services).values()
        if (scopes is None or entry.memory.scope in scopes)
        and conversation_id in (None, entry.conversation_id)
    ]
    moments = find_dated(selected, now - _OVERDUE, now + within)
    triggers = [entry for entry in selected if _depends_on_time(entry)]
    code = begin_code(services, triggers, now, seconds=code_seconds)
    checked = _check_now(services, triggers, now, code)
    moments |= {entry: now for each in checked for entry in each.holding}
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
    due = ((moment, entry) for entry, moment in moments.items())
    return Due(
        reminders=sorted(due, key=lambda pair: (pair[0], pair[1].memory.id)),
        conditions=sum(each.count for each in checked),
        unchecked=unchecked,
    )


def find_dated(
    entries: Iterable[TrackedMemory], since: datetime, until: datetime
) -> dict[TrackedMemory, datetime]:
    """Return the reminders without a condition whose moment is in a span of time."""
    return {
        entry: moment
        for entry in entries
        if entry.trigger is None
        and (moment := read_date(entry.memory)) is not None
        and since <= moment <= until
    }


def list_due(
    services: Services,
    *,
    within: timedelta,
    conversation_id: str | None,
    scope: str | Iterable[str] | None,
) -> DueReminders:
    """Return the reminders that are due, the earliest first; see `Triggers.due`.

    Raises:
        InvalidInput: a value cannot be used.
        UnknownScope: there is no such scope.
    """
    check_within(within)
    conversation = None if conversation_id is None else check_conversation_id(conversation_id)
    scopes = choose_scopes(scope, services, conversation).scopes
    due = find_due(services, scopes, within=within, conversation_id=conversation)
    services.note_read(entry.memory for _, entry in due.reminders)
    return DueReminders(
        (_describe_reminder(entry, moment) for moment, entry in due.reminders),
        conditions=due.conditions,
        unchecked=[entry.name for entry in due.unchecked],
    )


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


def _describe_reminder(entry: TrackedMemory, moment: datetime) -> DueReminder:
    memory = entry.memory
    return DueReminder(
        id=memory.id,
        name=memory.title,
        text=memory.text,
        scope=memory.scope,
        conversation_id=memory.conversation_id,
        due_at=moment,
        is_trigger=entry.trigger is not None,
        important=memory.important,
    )
