"""Due: the reminders whose moment has come, or comes soon."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from attrs import define, field, frozen

from infinite_memory.core.clock import Deadline, current_deadline
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.conversation.message import check_conversation_id
from infinite_memory.core.values.conversation.trigger import Occasion
from infinite_memory.core.values.memory import JsonValue, Memory
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.engine.scopes import choose_scopes
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.dates import due_at
from infinite_memory.features.reminders.long_term.book import TrackedMemory, read_book
from infinite_memory.features.reminders.long_term.checking import (
    CODE_SECONDS,
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


def find_due(
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
    if not isinstance(within, timedelta) or not timedelta(0) <= within <= _MOST_WITHIN:
        raise InvalidInput(
            f"within {within!r:.100} cannot be used: give a timedelta of 0 to 366 days"
        )
    conversation = None if conversation_id is None else check_conversation_id(conversation_id)
    scopes = choose_scopes(scope, "", services, conversation).scopes
    now = services.clock()
    selected = [
        entry
        for entry in read_book(services).values()
        if (scopes is None or entry.memory.scope in scopes)
        and conversation in (None, entry.conversation_id)
    ]
    triggers = [entry for entry in selected if _depends_on_time(entry)]
    moments = {
        entry.memory.id: moment
        for entry in selected
        if entry.trigger is None
        and (moment := due_at(entry.memory)) is not None
        and now - _OVERDUE <= moment <= now + within
    }
    found, checked = _find_moments(services, triggers, now, within)
    moments |= found
    due = [
        _describe(entry, moments[entry.memory.id])
        for entry in selected
        if entry.memory.id in moments
    ]
    due.sort(key=lambda reminder: (reminder.due_at, reminder.id))
    services.note_read(entry.memory for entry in selected if entry.memory.id in moments)
    return DueReminders(
        due,
        conditions=checked.count,
        unchecked=[entry.name for entry in checked.unchecked],
    )


@frozen(kw_only=True)
class HoldingNow:
    """The long-term memories whose condition holds now.

    Of the `conditions` that were to be checked, there was no time for so many `unchecked` ones.
    """

    memories: Sequence[Memory]
    conditions: int
    unchecked: int


def find_holding_now(
    services: Services, scopes: Collection[str], *, code_seconds: float
) -> HoldingNow:
    """Return the long-term memories in `scopes` whose condition of time holds without a message.

    Conditions that are code have `code_seconds` together.
    """
    triggers = [
        entry
        for entry in read_book(services).values()
        if _depends_on_time(entry) and entry.memory.scope in scopes
    ]
    now = services.clock()
    code = begin_code(services, triggers, now, seconds=code_seconds)
    checked = _check_now(services, triggers, now, code)
    ordered = sorted(checked.holding, key=lambda entry: (entry.memory.happened_at, entry.memory.id))
    return HoldingNow(
        memories=[entry.memory for entry in ordered],
        conditions=checked.count,
        unchecked=len(checked.unchecked),
    )


@define
class _CheckedNow:
    """What was checked of many conversations, as in `Checked`."""

    holding: list[TrackedMemory] = field(factory=list)
    unchecked: list[TrackedMemory] = field(factory=list)
    count: int = 0


def _find_moments(
    services: Services, triggers: Sequence[TrackedMemory], now: datetime, within: timedelta
) -> tuple[dict[str, datetime], _CheckedNow]:
    """Return when the conditions hold without any message: now, or for rules at a later hour.

    The second value is what was checked for now.
    """
    code = begin_code(services, triggers, now, seconds=CODE_SECONDS)
    checked = _check_now(services, triggers, now, code)
    moments = {entry.memory.id: now for entry in checked.holding}
    waiting = [
        entry for entry in triggers if entry.memory.id not in moments and not is_code(entry)
    ][:_MOST_LOOKED_AHEAD]
    # The full hours of the configured time zone, whose offset may be half an hour.
    local = in_zone(now, services.config.time_zone)
    hour = now - timedelta(minutes=local.minute, seconds=local.second, microseconds=now.microsecond)
    while waiting and (hour := hour + _STEP) <= now + within:
        if current_deadline().is_over:
            checked.unchecked += waiting
            break
        held = _check_now(services, waiting, hour, code).holding
        moments |= {entry.memory.id: hour for entry in held}
        waiting = [entry for entry in waiting if entry.memory.id not in moments]
    return moments, checked


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
) -> _CheckedNow:
    """Return the memories that may come up at a moment without any message, each by itself.

    The conversation and the scope of an occasion are those of the memory.
    """
    local = in_zone(moment, services.config.time_zone)
    places: defaultdict[tuple[str, str], list[TrackedMemory]] = defaultdict(list)
    # The places that were checked the longest ago come first, as there may not be time for all.
    for entry in sorted(triggers, key=lambda entry: entry.turn):
        places[entry.conversation_id, entry.memory.scope].append(entry)
    found = _CheckedNow()
    for (conversation, scope), entries in places.items():
        occasion = Occasion(now=local, conversation_id=conversation, scope=scope)
        checked = check_conditions(services, entries, occasion, code=code)
        found.holding += checked.holding
        found.unchecked += checked.unchecked
        found.count += checked.count
    return found


def _describe(entry: TrackedMemory, moment: datetime) -> DueReminder:
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
