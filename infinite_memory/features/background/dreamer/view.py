"""The view that a cycle of the dreamer has of the store: one scope, a seed, and a deadline."""

from __future__ import annotations

import time
from datetime import datetime
from random import Random

from attrs import field, frozen

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.engine.services import Services
from infinite_memory.features.background.upkeep.context import JobContext

DREAMER = "dreamer"
"""Who made the links of the dreamer, as they say it."""


@frozen(kw_only=True)
class CycleView:
    """The scope that a cycle works on, and what it needs there.

    `random` is seeded: of an equal store a cycle with an equal seed does the same. `deadline` is
    the `time.monotonic` in seconds at which the cycle goes on with what it has.
    """

    context: JobContext
    scope: str
    random: Random
    deadline: float = field(default=float("inf"))

    @property
    def services(self) -> Services:
        """The parts of the store."""
        return self.context.services

    @property
    def now(self) -> datetime:
        """The time of the cycle."""
        return self.context.now

    @property
    def criteria(self) -> Criteria:
        """The current memories of the scope."""
        return Criteria(scopes=frozenset({self.scope}), statuses=frozenset({Status.CURRENT}))

    def is_over(self) -> bool:
        """Return whether to end looking: the worker is told to stop, or the time is used up."""
        return time.monotonic() >= self.deadline or self.context.stop()

    def may_use(self, memory: Memory) -> bool:
        """Return whether a memory is there for the dreamer.

        It is current, in the scope, findable, and has not ended.
        """
        is_here = memory.status is Status.CURRENT and memory.scope == self.scope
        return is_here and memory.is_indexed and not memory.ended_by(self.now)
