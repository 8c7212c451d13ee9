"""Activate: the long-term memories that come up in a conversation now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from random import Random
from typing import TypeVar

from infinite_memory.core.values.checks import check_context, check_count, check_labels
from infinite_memory.core.values.conversation.message import check_messages
from infinite_memory.core.values.conversation.trigger import Occasion
from infinite_memory.core.values.scope import fold_name
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.engine.scopes import ALL, choose_scope
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.long_term.book import TrackedMemory, select_tracked
from infinite_memory.features.reminders.long_term.checking import (
    CODE_SECONDS,
    begin_code,
    check_conditions,
    find_resting,
)
from infinite_memory.features.reminders.long_term.finding import check_conversation
from infinite_memory.features.reminders.long_term.firing import count_firing, read_firings
from infinite_memory.features.reminders.long_term.values import (
    Activation,
    LongTermMemory,
    TriggerFailure,
)

_RANDOM = 2
_SEED_BYTES = 6
_MAX_SEED = 2**53


Value = TypeVar("Value")


def draw(values: Sequence[Value], seed: int) -> Iterator[Value]:
    """Yield the values in a random order that the seed decides, each once.

    The first steps of the shuffle by Fisher and Yates (Knuth, The Art of Computer Programming,
    volume 2, algorithm P): the next value is at the place i + floor(u * (n - i)), where u is the
    next number of `random.Random(seed)`, which gives the same numbers in every version of Python.
    """
    numbers, order = Random(seed), list(range(len(values)))
    for place in range(len(order)):
        chosen = place + int(numbers.random() * (len(order) - place))
        order[place], order[chosen] = order[chosen], order[place]
        yield values[order[place]]


def activate(
    services: Services,
    messages: object,
    conversation_id: object,
    *,
    participants: object,
    scope: str | Iterable[str] | None,
    seed: int | None,
) -> Activation:
    """Return the memories that come up; see `Triggers.activate`.

    Raises:
        InvalidInput: a value cannot be used.
        UnknownScope: there is no such scope.
    """
    if scope is not None and not isinstance(scope, str):
        scope = check_labels(scope, "scope")
    occasion = _read_occasion(services, messages, conversation_id, participants, scope)
    number = _read_seed(services, seed)
    tracked = select_tracked(services, occasion.conversation_id, scope, holding=True)
    now = services.clock()
    code = begin_code(services, tracked, occasion.now, seconds=CODE_SECONDS)
    checked = check_conditions(services, tracked, occasion, code=code)
    excluded = {id(entry) for entry in (*checked.holding, *checked.resting, *checked.disabled)}
    candidates = [entry for entry in tracked if id(entry) not in excluded]
    drawn = _draw_memories(services, candidates, number, now)
    fired = [entry.memory for entry in checked.holding]
    others = [entry.memory for entry in drawn]
    count_firing(services, fired, others, now)
    services.note_returned([*fired, *others])
    return Activation(
        conversation_id=occasion.conversation_id,
        activated=tuple(describe_all(services, checked.holding)),
        random=tuple(describe_all(services, drawn)),
        seed=number,
        total=len(tracked),
        disabled=len(checked.disabled),
        resting=len(checked.resting),
        failures=tuple(
            TriggerFailure(id=entry.memory.id, name=entry.name, error=entry.error or "")
            for entry in checked.failing
        ),
        conditions=checked.count,
        unchecked=tuple(entry.name for entry in checked.unchecked),
    )


def describe_all(services: Services, tracked: Sequence[TrackedMemory]) -> list[LongTermMemory]:
    """Return long-term memories as a caller gets them, with their firings until now."""
    firings = read_firings(services, [entry.memory for entry in tracked]) if tracked else {}
    return [entry.describe(services, firings[entry.memory.id]) for entry in tracked]


def _read_occasion(
    services: Services,
    messages: object,
    conversation_id: object,
    participants: object,
    scope: str | Iterable[str] | None,
) -> Occasion:
    conversation = check_conversation(conversation_id)
    limits, zone = services.config.limits, services.config.time_zone
    people = check_context({"participants": participants}, max_bytes=limits.max_context_bytes)
    return Occasion(
        now=in_zone(services.clock(), zone),
        messages=check_messages(messages, max_bytes=limits.max_text_bytes, zone=zone),
        conversation_id=conversation,
        participants=people["participants"],
        scope=_name_scope(services, conversation, scope),
    )


def _read_seed(services: Services, seed: object) -> int:
    if seed is None:
        return int.from_bytes(services.random_bytes(_SEED_BYTES), "big")
    return check_count(seed, "seed", low=0, high=_MAX_SEED)


def _name_scope(
    services: Services, conversation_id: str, scope: str | Iterable[str] | None
) -> str | None:
    """Return the scope that a call is about, the first of several; ALL names none."""
    named = [scope] if isinstance(scope, str) else list(scope or ())
    wanted = next((name for name in named if fold_name(str(name)) != fold_name(ALL)), None)
    return choose_scope(wanted, services, conversation_id)


def _draw_memories(
    services: Services, tracked: Sequence[TrackedMemory], seed: int, now: datetime
) -> list[TrackedMemory]:
    """Return at most two memories by the seed, without those that rest now."""
    by_id = sorted(tracked, key=lambda entry: entry.memory.id)
    drawn = (entry for entry in draw(by_id, seed) if not find_resting(services, [entry], now))
    return list(islice(drawn, _RANDOM))
