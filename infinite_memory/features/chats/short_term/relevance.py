"""How relevant a short-term memory is at a moment, and how much life is left in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta

from infinite_memory.core.config import ShortTerm

_MILLISECOND = timedelta(milliseconds=1)
_DAY = timedelta(days=1)


def time_penalty(happened_at: datetime, now: datetime, constants: ShortTerm) -> float:
    """Return most_penalty · (1 − e^(−penalty_per_millisecond · Δt)), Δt in milliseconds.

    Δt is the age of the memory, 0 if it lies in the future. With the default constants the penalty
    is 2.4 after a day, 10.5 after a week, and nearly 15 after a month. The formula is that of
    memory-mcp-server (https://github.com/win10ogod/memory-mcp-server).
    """
    age = max(0.0, (now - happened_at) / _MILLISECOND)
    return constants.most_penalty * -math.expm1(-constants.penalty_per_millisecond * age)


def overlap(current: Mapping[str, float], remembered: Mapping[str, float]) -> float:
    """Return the sum of both weights of every keyword that both have."""
    if current.keys().isdisjoint(remembered):  # so are most of thousands
        return 0.0
    return sum(weight + remembered[word] for word, weight in current.items() if word in remembered)


def relevance(
    current: Mapping[str, float],
    remembered: Mapping[str, float],
    *,
    happened_at: datetime,
    activation: float,
    now: datetime,
    constants: ShortTerm,
) -> float:
    """Return overlap − time penalty + activation; see `overlap` and `time_penalty`.

    `current` are the keywords of the messages of the moment, `remembered` those of the memory. The
    formula is that of memory-mcp-server (https://github.com/win10ogod/memory-mcp-server).
    """
    shared = overlap(current, remembered)
    return shared + vitality(
        happened_at=happened_at, activation=activation, now=now, constants=constants
    )


def vitality(
    *, happened_at: datetime, activation: float, now: datetime, constants: ShortTerm
) -> float:
    """Return activation − time penalty: the relevance of a memory without a shared keyword."""
    return activation - time_penalty(happened_at, now, constants)


def flashback_weight(*, happened_at: datetime, activation: float, now: datetime) -> float:
    """Return activation + age in days: the weight of a memory in the draw of flashbacks.

    What came up often and what lies long ago is drawn more easily. A memory of the future has the
    age 0.
    """
    return activation + max(0.0, (now - happened_at) / _DAY)
