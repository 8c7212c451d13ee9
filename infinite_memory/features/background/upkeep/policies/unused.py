"""Old memories that nobody ever recalled."""

from __future__ import annotations

from datetime import datetime

from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.record import Usage
from infinite_memory.features.background.upkeep.policies.ages import Ages
from infinite_memory.features.background.upkeep.policies.protected import is_protected
from infinite_memory.features.background.upkeep.policies.verdict import Verdict, last_touched
from infinite_memory.features.background.upkeep.report import StepAction
from infinite_memory.features.chats.short_term.entry import is_short_term


def judge_unused(memory: Memory, usage: Usage | None, ages: Ages, now: datetime) -> Verdict | None:
    """Return the verdict on a memory that is old, was never recalled and is not protected.

    A short-term memory fades by rules of its own.
    """
    is_kept = is_protected(memory) or is_short_term(memory)
    if ages.unused is None or is_kept or (usage is not None and usage.count):
        return None
    age = now - last_touched(memory)
    if age < ages.unused:
        return None
    weeks = format_count(age.days // 7, "week")
    return Verdict(StepAction.ARCHIVE, f"never recalled in {weeks}")
