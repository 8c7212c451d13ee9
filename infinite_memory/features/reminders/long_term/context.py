"""What the context of a memory says of a trigger, and how it is written there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.conversation.trigger import Trigger
from infinite_memory.core.values.memory import JsonValue, Kind, Memory
from infinite_memory.features.reminders.states import State
from infinite_memory.features.reminders.triggers.reading import trigger_from_json, trigger_to_json

if TYPE_CHECKING:
    from infinite_memory.times import NamedDay

STATE = "reminder"
"""The name in a context of the state of a reminder that was closed or opened again."""

DAYS = "days"
"""The name in that state of the days of another memory that are over."""

_TRIGGER = "trigger"
_ENABLED_AT = "enabled_at"
_EARLIER_FIRINGS = "earlier_firings"
_OWN = (_ENABLED_AT, _EARLIER_FIRINGS)


def read_trigger_of(memory: Memory) -> Trigger | None:
    """Return the trigger of a memory, None if it is no long-term memory, or cannot be read."""
    value = memory.context.get(_TRIGGER)
    if memory.kind is not Kind.REMINDER or not isinstance(value, Mapping):
        return None
    try:
        return trigger_from_json({k: v for k, v in value.items() if k not in _OWN})
    except InvalidInput:
        return None


def read_enabled_at(memory: Memory) -> datetime | None:
    """Return since when the trigger is switched on, None if it is off.

    Whether its condition was approved is another question: anybody can write this.
    """
    value = _read_trigger(memory).get(_ENABLED_AT)
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return None if moment is None or moment.utcoffset() is None else moment


def read_earlier_firings(memory: Memory) -> float:
    """Return the firings of earlier triggers of the memory, which do not count for this one."""
    value = _read_trigger(memory).get(_EARLIER_FIRINGS)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else 0.0  # type: ignore[arg-type]


def read_situation(memory: Memory, name: str) -> str | None:
    """Return `created_context` or `updated_context` of a memory, None without it."""
    value = memory.context.get(name)
    return value if isinstance(value, str) and value.strip() else None


def write_trigger(
    trigger: Trigger, *, enabled_at: datetime | None, earlier_firings: float = 0.0
) -> dict[str, JsonValue]:
    """Return the field of the context that holds a trigger, as a mapping to merge into it."""
    fields: dict[str, JsonValue] = {
        name: value for name, value in trigger_to_json(trigger).items() if value is not None
    }
    if enabled_at is not None:
        fields[_ENABLED_AT] = iso(enabled_at)
    if earlier_firings:
        fields[_EARLIER_FIRINGS] = earlier_firings
    return {_TRIGGER: fields}


def _read_trigger(memory: Memory) -> Mapping[str, JsonValue]:
    value = memory.context.get(_TRIGGER)
    return value if isinstance(value, Mapping) else {}


def read_state(memory: Memory) -> Mapping[str, JsonValue]:
    """Return the `state` of a reminder or of a day and `at` which moment it was stored.

    It is empty for what nobody closed. Of another memory than a reminder, `days` are the beginnings
    of the days that are over.
    """
    value = memory.context.get(STATE)
    return value if isinstance(value, Mapping) else {}


def is_closed(memory: Memory) -> bool:
    """Return whether somebody stored that a reminder, or a day that a memory names, is over."""
    return read_state(memory).get("state") not in (None, State.OPEN)


def is_day_over(memory: Memory, day: NamedDay) -> bool:
    """Return whether somebody stored that a day which a memory names is done or dropped.

    Of days that recur one is done, and all are dropped.
    """
    if not is_closed(memory):
        return False
    state, days = read_state(memory), read_state(memory).get(DAYS)
    is_named = isinstance(days, list | tuple) and iso(day.start) in days
    return is_named or (day.recurs and state["state"] == State.DROPPED)
