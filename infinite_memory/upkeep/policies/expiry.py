"""The time to live that a user set for a scope."""

from __future__ import annotations

from datetime import datetime, timedelta

from infinite_memory.config import ScopeRules
from infinite_memory.model.memory import Memory, Status
from infinite_memory.model.messages import format_count
from infinite_memory.upkeep.policies.verdict import Verdict, last_touched
from infinite_memory.upkeep.report import StepAction

__all__ = ["judge_expired"]


def judge_expired(memory: Memory, rules: ScopeRules, now: datetime) -> Verdict | None:
    """Return the verdict of the rule `keep_days`, None where it does not apply.

    The rule is for every memory of its scope, whatever it is. With `erase` it is also for memories
    that are archived, superseded or forgotten already.
    """
    if rules.keep_days is None or now - last_touched(memory) < timedelta(days=rules.keep_days):
        return None
    reason = f"older than the {format_count(rules.keep_days, 'day')} that {memory.scope} keeps"
    if rules.erase:
        return Verdict(StepAction.ERASE, reason)
    return Verdict(StepAction.ARCHIVE, reason) if memory.status is Status.CURRENT else None
