"""The reminders that come up at a prompt by themselves: due ones, and those that it triggers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from threading import Thread

from infinite_memory.core.clock import current_deadline, within
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.conversation.message import check_messages
from infinite_memory.core.values.conversation.trigger import Occasion
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.engine.retrieval.trust import may_be_pushed
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.coming import list_reminders, make_place
from infinite_memory.features.reminders.long_term.book import TrackedMemory, read_book
from infinite_memory.features.reminders.long_term.checking import (
    CODE_SECONDS,
    begin_code,
    check_conditions,
    is_code,
)
from infinite_memory.features.reminders.long_term.due import find_today, find_tracked_moment
from infinite_memory.features.reminders.long_term.values import DEFAULT_CONVERSATION
from infinite_memory.features.reminders.states import DUE

_SECONDS = 0.05
"""How long a prompt waits for its conditions together."""


def find_prompted(
    services: Services,
    messages: object,
    scopes: Collection[str] | None,
    *,
    conversation_id: str,
    since: datetime,
    without: Collection[str],
) -> list[tuple[datetime, Memory]]:
    """Return the reminders in `scopes`, None for all, that `messages` bring up, with their moments.

    First come those whose date was reached `since` a moment, the earliest first, then those whose
    condition holds for them. A reminder of another conversation, what may not be shown
    unasked, and the ids in `without` are left out. Conditions for which there is no time come first
    at the next prompt. Nothing counts as fired yet: `count_firing` does that.
    """
    now = services.clock()
    selected = [
        entry
        for entry in read_book(services).values()
        if entry.memory.id not in without
        and (scopes is None or entry.memory.scope in scopes)
        and entry.belongs_to(conversation_id)
        and may_be_pushed(entry.memory)
    ]
    today, _ = find_today(services)
    reached = [
        entry
        for entry in selected
        if entry.trigger is None
        and (moment := find_tracked_moment(services, entry, today)) is not None
        and since <= moment.at <= now
    ]
    days = list_reminders(services, reached, make_place(services, None))
    dated = [(day.at, day.memory) for day in days if day.when in DUE and day.at <= now]
    occasion = Occasion(
        now=in_zone(now, services.config.time_zone),
        messages=check_messages(
            messages,
            max_bytes=services.config.limits.max_text_bytes,
            zone=services.config.time_zone,
        ),
        conversation_id=conversation_id or DEFAULT_CONVERSATION,
        participants=None,
    )
    held = _find_holding(services, [entry for entry in selected if entry.trigger], occasion)
    return [*dated, *((now, each) for each in held)]


def start_conditions(services: Services) -> None:
    """Start the process of conditions that are code, in the background, for the next prompt."""
    code = [entry for entry in read_book(services).values() if entry.trigger and is_code(entry)]
    if code:
        now = services.clock()
        Thread(target=_begin_code, args=(services, code, now), daemon=True).start()


def _begin_code(services: Services, code: Sequence[TrackedMemory], now: datetime) -> None:
    with suppress(InfiniteMemoryError):  # the store may be closed by now
        begin_code(services, code, now, seconds=0)


def _find_holding(
    services: Services, triggers: Sequence[TrackedMemory], occasion: Occasion
) -> list[Memory]:
    """Return the memories whose condition is known to hold in time, oldest first."""
    deadline = current_deadline().shortened_to(_SECONDS)
    holding: list[TrackedMemory] = []
    code = [entry for entry in triggers if is_code(entry)]

    def check_code() -> None:
        # A late one comes last, so that it takes nobody's time. The process of the conditions may
        # take long to start, and is started again for the next prompt; the store may be closed.
        with suppress(InfiniteMemoryError):
            limit = begin_code(services, code, occasion.now, seconds=CODE_SECONDS)
            for entry in sorted(code, key=lambda entry: (entry.was_late, entry.turn)):
                holding.extend(check_conditions(services, [entry], occasion, code=limit).holding)
        _begin_code(services, code, occasion.now)

    thread = Thread(target=check_code, name="conditions of a prompt", daemon=True)
    if code:
        thread.start()
    with within(deadline):
        rules = [entry for entry in triggers if not is_code(entry)]
        decided = [*check_conditions(services, rules, occasion, code=deadline).holding]
    if code:
        thread.join(deadline.seconds_left)
    decided += holding
    decided.sort(key=lambda entry: (entry.memory.happened_at, entry.memory.id))
    return [entry.memory for entry in decided]
