"""Firings: how often a long-term memory came up, and when it did last.

They are kept beside the memory, as its activation: recalls by a search do not count as firings.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from attrs import frozen

from infinite_memory.core.errors import ReadOnly, StorageError
from infinite_memory.core.values.conversation.trigger import Trigger
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.record import Usage
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.long_term.context import read_earlier_firings

_log = logging.getLogger(__name__)


@frozen(kw_only=True)
class Firings:
    """How often a memory came up since its trigger was set, and when it last did."""

    count: int = 0
    last: datetime | None = None


def read_firings(services: Services, memories: Sequence[Memory]) -> dict[str, Firings]:
    """Return the firings of every memory by id."""
    usage = services.followers.usage.read([memory.id for memory in memories])
    return {memory.id: _count_firings(memory, usage.get(memory.id)) for memory in memories}


def _count_firings(memory: Memory, usage: Usage | None) -> Firings:
    if usage is None:
        return Firings()
    count = max(0, round(usage.activation - read_earlier_firings(memory)))
    return Firings(count=count, last=usage.activated_at if count else None)


def read_total(services: Services, memory_id: str) -> float:
    """Return all firings of a memory, those of its earlier triggers too."""
    usage = services.storage.usage([memory_id]).get(memory_id)
    return 0.0 if usage is None else usage.activation


def count_firing(
    services: Services, fired: Iterable[Memory], drawn: Iterable[Memory], now: datetime
) -> None:
    """Count durably that memories came up at `now`, and that others were drawn at random.

    Both are recalls; only the first are firings. A store that cannot be written at the moment is no
    reason to keep a reminder back.
    """
    recall = Usage(count=1, last=now)
    firing = Usage(count=1, last=now, activation=1.0, activated_at=now)
    used = {memory.id: recall for memory in drawn if services.usage is not None}
    used |= {memory.id: firing for memory in fired}
    if not used:
        return
    store = services.storage.count_usage if services.usage is None else services.usage.store
    try:
        store(used)
    except (ReadOnly, StorageError) as error:
        number = format_count(len(used), "memory", "memories")
        _log.warning("the firing of %s was not counted: %s", number, error)


def is_limited(trigger: Trigger) -> bool:
    """Return whether it depends on earlier firings whether a memory may come up."""
    return trigger.most_firings is not None or trigger.cooldown_minutes is not None


def may_fire(trigger: Trigger, firings: Firings, now: datetime) -> bool:
    """Return whether a memory may come up again: not resting, and not the last time over."""
    if trigger.most_firings is not None and firings.count >= trigger.most_firings:
        return False
    if trigger.cooldown_minutes is None or firings.last is None:
        return True
    return now - firings.last >= timedelta(minutes=trigger.cooldown_minutes)
