"""Priority: how much a memory matters now, from how it was used.

The basis is the base-level learning of ACT-R (J. R. Anderson and L. J. Schooler, "Reflections of
the environment in memory", Psychological Science 2, 1991): the odds that a memory is needed are the
sum of t⁻ᵈ over its uses, t the time since a use and d = 0.5. Only the number of recalls and the
last recall are kept, so the sum is that of A. A. Petrov ("Computationally efficient approximation
of the base-level learning equation in ACT-R", 2006) with one exact use; the rest count as spread
evenly over the time before it. With n uses, t days since the last and L days since the first:

    s = t⁻ᵈ + (n - 1) · (L¹⁻ᵈ - t¹⁻ᵈ) / ((1 - d) · (L - t))

To be told counts as the first use. The odds are s · 2 for an important memory, · 1.5 for a summary,
and · (1 + l), where l = 1 - Π(1 - w) over the weights w of its links. The priority is s / (1 + s)
of these odds: 0.5 for a plain memory of a day ago, less with every day without a recall, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.record import Usage

_DECAY = 0.5
_IMPORTANT = 2.0
_SUMMARY = 1.5
_DAY = timedelta(days=1)
# A minute, in days: the sum has no end at 0, and clocks differ.
_LEAST_DAYS = 1 / 1440
# Uses that are nearer to each other count as simultaneous, since the quotient loses its digits.
_SIMULTANEOUS_DAYS = 1e-6


# They say that one of two memories is needed less.
_LESS_NEEDED = frozenset({LinkType.SUPERSEDES, LinkType.NEAR_DUPLICATE_OF})


def weights_of_links(ids: Collection[str], links: Iterable[Link]) -> dict[str, list[float]]:
    """Return the weights of the links from and to each memory, as `compute_priority` takes them.

    Links to a superseded memory and between near-duplicates do not count.
    """
    weights: dict[str, list[float]] = {memory_id: [] for memory_id in ids}
    for link in links:
        if link.type not in _LESS_NEEDED:
            for memory_id in (link.source, link.target):
                if memory_id in weights:
                    weights[memory_id].append(link.weight)
    return weights


def compute_priority(
    memory: Memory, usage: Usage | None, link_weights: Iterable[float], now: datetime
) -> float:
    """Return the priority of a memory at `now`, above 0 and below 1.

    `usage` has its recalls, None for none; activations do not count. `link_weights` are the weights
    of the links from and to it, each in (0, 1].
    """
    odds = _compute_base_odds(memory, usage, now)
    odds *= _IMPORTANT if memory.important else 1.0
    odds *= _SUMMARY if memory.kind is Kind.SUMMARY else 1.0
    odds *= 2 - math.prod(1 - weight for weight in link_weights)
    return odds / (1 + odds)


def _compute_base_odds(memory: Memory, usage: Usage | None, now: datetime) -> float:
    """Return the sum of t⁻ᵈ over the uses of a memory, t in days."""
    first = min(memory.happened_at, memory.stored_at)
    age = max((now - first) / _DAY, _LEAST_DAYS)
    if usage is None or usage.last is None or not usage.count:
        return math.pow(age, -_DECAY)
    recent = min(max((now - usage.last) / _DAY, _LEAST_DAYS), age)
    latest = math.pow(recent, -_DECAY)
    if age - recent < _SIMULTANEOUS_DAYS:
        return (usage.count + 1) * latest
    power = 1 - _DECAY
    spread = (math.pow(age, power) - math.pow(recent, power)) / (power * (age - recent))
    return latest + usage.count * spread
