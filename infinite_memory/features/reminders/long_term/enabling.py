"""Enable and disable the triggers of long-term memories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from infinite_memory.core.errors import Conflict, InvalidInput
from infinite_memory.core.values.checks import check_labels
from infinite_memory.core.values.conversation.message import check_conversation_id
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.receipt import Outcome, Receipt, Searchable
from infinite_memory.engine.load_memories import get_memory
from infinite_memory.engine.retry import attempts
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.receipts import receipt_of
from infinite_memory.engine.writes.revise import revise
from infinite_memory.features.reminders.long_term.book import (
    SWITCHED_OFF,
    TrackedMemory,
    find_evaluator,
)
from infinite_memory.features.reminders.long_term.context import (
    read_earlier_firings,
    read_trigger_of,
    write_trigger,
)
from infinite_memory.features.reminders.long_term.finding import find_named


def enable(
    services: Services,
    names: str | Sequence[str],
    *,
    conversation_id: str | None,
    scope: str | Iterable[str] | None,
) -> tuple[Receipt, ...]:
    """Enable triggers, each with the condition that it has now; see `Triggers.enable`.

    Each is a change of its own, so that a handle of its scope sees the approval.

    Raises:
        NotFound: a memory does not exist; nothing was changed.
        InvalidInput: a condition cannot be used; nothing was changed.
        ConfigurationError: what the language of a condition needs is not installed.
    """
    selected = _find_all(services, names, conversation_id, scope)
    for tracked in selected:
        assert tracked.trigger is not None
        evaluator = find_evaluator(services, tracked.trigger.language)
        evaluator.prepare(tracked.trigger.condition)
    return tuple([_switch_trigger(services, tracked, is_on=True) for tracked in selected])


def disable(
    services: Services,
    names: str | Sequence[str],
    *,
    conversation_id: str | None,
    scope: str | Iterable[str] | None,
) -> tuple[Receipt, ...]:
    """Disable triggers, so that their memories come up no more; see `Triggers.disable`.

    Raises:
        NotFound: a memory does not exist; nothing was changed.
    """
    selected = _find_all(services, names, conversation_id, scope)
    return tuple([_switch_trigger(services, tracked, is_on=False) for tracked in selected])


def _find_all(
    services: Services,
    names: str | Sequence[str],
    conversation_id: str | None,
    scope: str | Iterable[str] | None,
) -> list[TrackedMemory]:
    conversation = None if conversation_id is None else check_conversation_id(conversation_id)
    if scope is not None and not isinstance(scope, str):
        scope = check_labels(scope, "scope")
    wanted = [names] if isinstance(names, str) else check_labels(names, "names")
    if not wanted:
        raise InvalidInput("names is an empty list: give the names of long-term memories")
    return [find_named(services, name, conversation, scope) for name in wanted]


def _switch_trigger(services: Services, tracked: TrackedMemory, *, is_on: bool) -> Receipt:
    """Switch a trigger on or off, and approve its condition if it is switched on.

    Raises:
        Conflict: the condition has changed since it was looked up, or other clients kept changing
            the memory.
    """
    memory_id, trigger = tracked.memory.id, tracked.trigger
    assert trigger is not None
    for attempt in attempts():
        memory = get_memory(services, memory_id)
        if read_trigger_of(memory) != trigger:
            raise Conflict(
                f"the trigger of {tracked.name!r:.100} has changed meanwhile: look at it again"
            )
        current = TrackedMemory.of(memory)
        reason = current.disabled_because(services)
        if (reason is None) if is_on else (reason == SWITCHED_OFF):
            return receipt_of(memory, Outcome.UNCHANGED, Searchable.WORDS)
        enabled_at = services.clock() if is_on else None
        earlier = read_earlier_firings(memory)
        fields = write_trigger(trigger, enabled_at=enabled_at, earlier_firings=earlier)
        with attempt:
            return revise(
                services,
                memory_id,
                revision=memory.revision,
                changes={"context": {**memory.context, **fields}},
                operation=Operation.TRIGGER if is_on else Operation.REVISE,
            )
    raise AssertionError
