"""Archive the short-term memories of conversations that have faded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta

from infinite_memory.core.values.memory import Memory
from infinite_memory.features.background.upkeep.changes import Changes
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import MAX_CHANGES, Job, Plan
from infinite_memory.features.background.upkeep.policies.verdict import Verdict
from infinite_memory.features.background.upkeep.report import StepAction
from infinite_memory.features.chats.short_term.cleanup import find_faded
from infinite_memory.features.chats.short_term.entry import (
    ShortTermEntry,
    all_entries,
    candidates_of,
)

_VERDICT = Verdict(StepAction.ARCHIVE, "a short-term memory that has faded")


def _plan_fading(context: JobContext) -> Plan:
    faded = list(_find_all_faded(context))
    changes = Changes(context)
    changes.add((memory, _VERDICT) for memory in faded[:MAX_CHANGES])
    return Plan(steps=changes.steps(), commit=changes.commit(), more=len(faded) > MAX_CHANGES)


def _find_all_faded(context: JobContext) -> Iterator[Memory]:
    """Yield what has faded in each conversation of each scope that the upkeep may touch."""
    conversations: dict[tuple[str, str], list[ShortTermEntry]] = defaultdict(list)
    for entry in all_entries(context.services):
        memory = entry.memory
        if memory.scope in context.scopes:
            conversations[memory.scope, str(memory.conversation_id)].append(entry)
    constants = context.services.config.short_term
    for entries in conversations.values():
        if context.stop():
            return
        if len(entries) <= constants.keep:
            continue
        by_id = {entry.memory.id: entry.memory for entry in entries}
        candidates = candidates_of(context.services, entries)
        for memory_id in find_faded(candidates, context.now, constants):
            yield by_id[memory_id]


FADE = Job(
    name="fade",
    summary="Archive short-term memories that have faded.",
    every=timedelta(days=1),
    plan=_plan_fading,
)
