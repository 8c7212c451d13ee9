"""How valuable a memory is, where a limit makes the upkeep choose."""

from __future__ import annotations

import math
from datetime import datetime

from infinite_memory.model.memory import Kind, Memory
from infinite_memory.model.record import Usage
from infinite_memory.upkeep.policies.verdict import last_touched

__all__ = ["value_of"]

_HALF_LIFE_DAYS = 180.0
_MESSAGE = 0.5
"""The share of the value of another kind that a message has: most of a conversation is chatter."""


def value_of(memory: Memory, usage: Usage | None, now: datetime) -> float:
    """Return the value of a memory, 0 or more: recent and often recalled memories are valuable.

    It is (1 + ln(1 + recalls)) * 2^(-days / 180), half of that for a message. `days` count from
    the last recall, or else from when the memory happened or was changed. The decay by halves and
    the logarithm of the number of uses follow the base-level activation of ACT-R (Anderson and
    Schooler, 1991), simplified to a count and the last use.
    """
    recalls = 0 if usage is None else usage.count
    last = last_touched(memory)
    if usage is not None and usage.count and usage.last is not None:
        last = max(last, usage.last)
    days = max(0.0, (now - last).total_seconds() / 86_400)
    value = (1 + math.log1p(recalls)) * 2 ** (-days / _HALF_LIFE_DAYS)
    return value * _MESSAGE if memory.kind is Kind.MESSAGE else value
