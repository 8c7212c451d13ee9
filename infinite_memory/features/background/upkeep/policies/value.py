"""How valuable a memory is, where a limit makes the upkeep choose."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from attrs import evolve

from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.record import Usage
from infinite_memory.engine.priority import compute_priority
from infinite_memory.features.background.upkeep.policies.verdict import last_touched

_MESSAGE = 0.5
"""The share of the value of another kind that a message has: most of a conversation is chatter."""


def value_of(
    memory: Memory, usage: Usage | None, link_weights: Iterable[float], now: datetime
) -> float:
    """Return the value of a memory, above 0 and below 1: its priority, half of that for a message.

    The priority, see `engine.priority`, is that of a memory told when this one happened or was
    last changed, whichever is later: what was imported or brought back yesterday is not old.
    """
    touched = last_touched(memory)
    as_touched = evolve(memory, happened_at=touched, stored_at=touched)
    value = compute_priority(as_touched, usage, link_weights, now)
    return value * _MESSAGE if memory.kind is Kind.MESSAGE else value
