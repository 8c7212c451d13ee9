"""The verdict of a policy on a memory."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from infinite_memory.core.values.memory import Memory
from infinite_memory.features.background.upkeep.report import StepAction, UpkeepStep


@frozen
class Verdict:
    """The decision on a memory, and the reason for people."""

    action: StepAction
    reason: str

    def step(self, memory: Memory) -> UpkeepStep:
        """Return the step that carries the verdict out."""
        return UpkeepStep(
            action=self.action,
            memory_id=memory.id,
            scope=memory.scope,
            heading=memory.heading,
            reason=self.reason,
        )


def last_touched(memory: Memory) -> datetime:
    """Return when a memory happened or was last changed, whichever is later.

    An old memory that was imported yesterday is as young as yesterday, and so is an archived memory
    that was brought back.
    """
    return max(memory.happened_at, memory.stored_at)
