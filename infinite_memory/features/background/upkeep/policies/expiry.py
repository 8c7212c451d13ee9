"""The time to live that a user set for a scope."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from infinite_memory.core.config import ScopeRules
from infinite_memory.core.values.conversation.attachment import is_content
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.messages import format_count
from infinite_memory.features.background.upkeep.policies.verdict import Verdict, last_touched
from infinite_memory.features.background.upkeep.report import StepAction
from infinite_memory.search.text.quotation import quote_label


def told_at(revisions: Sequence[Memory]) -> datetime:
    """Return when a memory happened or got its text, whichever is later.

    `revisions` are all of its revisions, oldest first.
    """
    memory = revisions[-1]
    stored_at = memory.stored_at
    for revision in reversed(revisions):
        if revision.text != memory.text:
            break
        stored_at = revision.stored_at
    return max(memory.happened_at, stored_at)


def judge_expired(
    memory: Memory, rules: ScopeRules, now: datetime, *, since: datetime | None = None
) -> Verdict | None:
    """Return the verdict of the rule `keep_days`, None where it does not apply.

    The rule is for every memory of its scope, whatever it is. With `erase` it is also for memories
    that are archived, superseded or forgotten already. The age counts from `since`, by default from
    the last change; with `erase` give `told_at`, so that archiving does not prolong a life. The
    stored bytes of an attachment go with the attachment.
    """
    if is_content(memory):
        return None
    begin = last_touched(memory) if since is None else since
    if rules.keep_days is None or now - begin < timedelta(days=rules.keep_days):
        return None
    days = format_count(rules.keep_days, "day")
    reason = f"older than the {days} that {quote_label(memory.scope)} keeps"
    if rules.erase:
        return Verdict(StepAction.ERASE, reason)
    return Verdict(StepAction.ARCHIVE, reason) if memory.status is Status.CURRENT else None
