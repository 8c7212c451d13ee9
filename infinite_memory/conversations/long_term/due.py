"""Due: the reminders whose moment has come, or comes soon."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from infinite_memory.conversations.long_term.book import TrackedMemory, read_book
from infinite_memory.conversations.long_term.checking import check_conditions
from infinite_memory.conversations.long_term.values import DueReminder
from infinite_memory.errors import InvalidInput
from infinite_memory.model.conversation.message import check_conversation_id
from infinite_memory.model.conversation.trigger import Language, Occasion, Trigger
from infinite_memory.model.memory import JsonValue, Memory
from infinite_memory.model.timestamps import in_zone
from infinite_memory.operations.reminders import due_at
from infinite_memory.operations.scopes import choose_scopes
from infinite_memory.operations.services import Services

__all__ = ["DEFAULT_WITHIN", "find_due", "find_holding_now"]

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
) -> tuple[DueReminder, ...]:
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
    triggers = [entry for entry in selected if _depends_on_time(entry.trigger)]
    moments = {
        entry.memory.id: moment
        for entry in selected
        if entry.trigger is None
        and (moment := due_at(entry.memory)) is not None
        and now - _OVERDUE <= moment <= now + within
    }
    moments |= _find_moments(services, triggers, now, within)
    due = [
        _describe(entry, moments[entry.memory.id])
        for entry in selected
        if entry.memory.id in moments
    ]
    due.sort(key=lambda reminder: (reminder.due_at, reminder.id))
    services.note_read(entry.memory for entry in selected if entry.memory.id in moments)
    return tuple(due)


def find_holding_now(
    services: Services, scopes: Collection[str], *, code_seconds: float
) -> list[Memory]:
    """Return the long-term memories in `scopes` whose condition of time holds without a message.

    Conditions that are code are checked for `code_seconds`, and as long as the last of them takes.
    """
    triggers = [
        entry
        for entry in read_book(services).values()
        if _depends_on_time(entry.trigger) and entry.memory.scope in scopes
    ]
    code_until = time.monotonic() + code_seconds
    holding = _check_now(services, triggers, services.clock(), code_until=code_until)
    ordered = sorted(holding, key=lambda entry: (entry.memory.happened_at, entry.memory.id))
    return [entry.memory for entry in ordered]


def _find_moments(
    services: Services, triggers: Sequence[TrackedMemory], now: datetime, within: timedelta
) -> dict[str, datetime]:
    """Return when the conditions hold without any message: now, or for rules at a later hour."""
    moments = {
        entry.memory.id: now for entry in _check_now(services, triggers, now, code_until=None)
    }
    waiting = [
        entry
        for entry in triggers
        if entry.memory.id not in moments and not _is_code(entry.trigger)
    ][:_MOST_LOOKED_AHEAD]
    # The full hours of the configured time zone, whose offset may be half an hour.
    local = in_zone(now, services.config.time_zone)
    hour = now - timedelta(minutes=local.minute, seconds=local.second, microseconds=now.microsecond)
    while waiting and (hour := hour + _STEP) <= now + within:
        held = _check_now(services, waiting, hour, code_until=None)
        moments |= {entry.memory.id: hour for entry in held}
        waiting = [entry for entry in waiting if entry.memory.id not in moments]
    return moments


def _is_code(trigger: Trigger | None) -> bool:
    return trigger is not None and trigger.language is Language.JAVASCRIPT


def _depends_on_time(trigger: Trigger | None) -> bool:
    """Return whether a trigger has a part on the time: a rule at any depth, or `Date` in code.

    Without one nothing is due: "no message is about work" holds whenever nobody says anything.
    """
    if trigger is None:
        return False
    if _is_code(trigger):
        return "Date" in str(trigger.condition)
    parts: list[JsonValue] = [trigger.condition]
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
    services: Services,
    triggers: Sequence[TrackedMemory],
    moment: datetime,
    *,
    code_until: float | None,
) -> Sequence[TrackedMemory]:
    """Return the memories that may come up at a moment without any message, each by itself.

    The conversation and the scope of an occasion are those of the memory.
    """
    local = in_zone(moment, services.config.time_zone)
    places: defaultdict[tuple[str, str], list[TrackedMemory]] = defaultdict(list)
    for entry in triggers:
        places[entry.conversation_id, entry.memory.scope].append(entry)
    holding: list[TrackedMemory] = []
    for (conversation, scope), entries in places.items():
        occasion = Occasion(now=local, conversation_id=conversation, scope=scope)
        checked = check_conditions(services, entries, occasion, code_until=code_until)
        holding += checked.holding
    return holding


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
