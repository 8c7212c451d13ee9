"""Store the state of a reminder, or of the day that a memory names: done, dropped, or open again.

A reminder that is done is archived. Another memory stays as it is, and only its day is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.checks import check_choice
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.conversation.trigger import Trigger
from infinite_memory.core.values.memory import JsonValue, Kind, Memory, Status
from infinite_memory.core.values.receipt import Receipt
from infinite_memory.engine.load_memories import get_memory
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.revise import revise
from infinite_memory.features.reminders.coming import DATED
from infinite_memory.features.reminders.long_term.context import (
    DAYS,
    STATE,
    is_day_over,
    read_state,
    read_trigger_of,
)
from infinite_memory.features.reminders.long_term.due import (
    find_moment,
    find_named_days,
    find_next,
    find_today,
)
from infinite_memory.features.reminders.states import State


def settle(services: Services, memory_id: str, state: str) -> Receipt:
    """Store the state of a reminder; see `Triggers.done`.

    Raises:
        NotFound: there is no such memory.
        InvalidInput: it is no reminder and names no day, or recurs by its condition.
        Conflict: another client has just changed it.
    """
    chosen = check_choice(state, State, "state")
    memory = get_memory(services, memory_id)
    if memory.kind is not Kind.REMINDER:
        return _settle_day(services, memory, chosen)
    trigger = read_trigger_of(memory)
    if chosen is State.DONE and trigger is not None and "recurs" in str(trigger.condition):
        raise InvalidInput(
            f"{memory_id!r} recurs by its condition and moves on by itself: drop it to end it"
        )
    now = services.clock()
    status = Status.CURRENT if chosen is State.OPEN else Status.ARCHIVED
    fields: dict[str, JsonValue] = {"state": chosen, "at": iso(now)}
    changes: dict[str, object] = {"status": status}
    following = _find_following(services, memory, trigger) if chosen is State.DONE else None
    if following is not None:
        changes = {"valid_from": following, "valid_to": None}
    elif memory.status is status and read_state(memory).get("state") == chosen != State.OPEN:
        return _change(services, memory, {})
    return _change(services, memory, {**changes, "context": {**memory.context, STATE: fields}})


def _settle_day(services: Services, memory: Memory, chosen: State) -> Receipt:
    """Store that the next open day of a memory that is no reminder is over, or all are open."""
    today, _ = find_today(services)
    days = find_named_days(services, memory, today) if memory.kind in DATED else ()
    if not days:
        raise InvalidInput(
            f"{memory.id!r} is a {memory.kind} that names no day to come, and a reminder or a day"
            f" is {chosen}: forget it, or let a newer memory supersede it"
        )
    over: list[JsonValue] = [iso(day.start) for day in days if is_day_over(memory, day)]
    left = [day.start for day in days if not is_day_over(memory, day)]
    if not over if chosen is State.OPEN else not left:
        return _change(services, memory, {})
    over = [] if chosen is State.OPEN else [*over, iso(min(left))]
    fields: dict[str, JsonValue] = {"state": chosen, "at": iso(services.clock()), DAYS: over}
    return _change(services, memory, {"context": {**memory.context, STATE: fields}})


def _change(services: Services, memory: Memory, changes: Mapping[str, object]) -> Receipt:
    """Change a memory as it was read; its receipt says whether anything is another than before."""
    changes = {"context": memory.context, **changes}
    return revise(services, memory.id, revision=memory.revision, changes=changes)


def _find_following(services: Services, memory: Memory, trigger: Trigger | None) -> datetime | None:
    """Return when a reminder whose days recur is due next, None for one that ends."""
    if memory.status is not Status.CURRENT or trigger is not None:
        return None
    today, _ = find_today(services)
    present = find_moment(services, memory, today)
    if present is None or not present.recurs:
        return None
    after = find_next(services, memory, max(today, present.at) + timedelta(days=1))
    return None if after is None else after.at
