"""Archive what has expired, what nobody ever recalled, and messages that say nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta

from infinite_memory.model.criteria import Criteria
from infinite_memory.model.memory import Kind, Memory, Status
from infinite_memory.text.canonical import canonicalize
from infinite_memory.upkeep.changes import Changes
from infinite_memory.upkeep.context import JobContext
from infinite_memory.upkeep.job import Job, Plan
from infinite_memory.upkeep.policies.ages import ages_of
from infinite_memory.upkeep.policies.expiry import judge_expired
from infinite_memory.upkeep.policies.noise import MAX_CHARS, judge_noise
from infinite_memory.upkeep.policies.unused import judge_unused
from infinite_memory.upkeep.policies.verdict import Verdict
from infinite_memory.upkeep.scan import RollingScan

__all__ = ["ARCHIVE"]

_MOST_READ = 5000
_NOTE = "archive/position"


def _plan(context: JobContext) -> Plan:
    scan = RollingScan(context, _criteria(context), note=_NOTE, most=_MOST_READ)
    changes, frequency = Changes(context), Counter[tuple[str, str]]()
    more = False
    for page in scan.pages():
        frequency.update(_short_messages(page))
        verdicts = list(_judge(context, page, frequency))
        if not changes.has_room(len(verdicts)):
            more = True
            break
        changes.add(verdicts)
    return Plan(
        steps=changes.steps(), commit=changes.commit(), notes={_NOTE: scan.position}, more=more
    )


def _criteria(context: JobContext) -> Criteria:
    erases = any(rules.erase for rules in context.settings.scopes.values())
    return Criteria(
        # Nothing is younger than a day when its time has come.
        until=context.now - timedelta(days=1),
        statuses=None if erases else frozenset({Status.CURRENT}),
    )


def _judge(
    context: JobContext, page: Sequence[Memory], frequency: Counter[tuple[str, str]]
) -> Iterator[tuple[Memory, Verdict]]:
    settings, now = context.settings, context.now
    usage = context.services.storage.usage([memory.id for memory in page])

    def count_same(memory: Memory) -> int:
        return frequency[memory.scope, _form(memory)]

    for memory in page:
        verdict = judge_expired(memory, settings.rules_of(memory.scope), now)
        if verdict is None and memory.status is Status.CURRENT:
            ages = ages_of(settings, memory.scope)
            verdict = judge_noise(memory, count_same, ages, now) or judge_unused(
                memory, usage.get(memory.id), ages, now
            )
        if verdict is not None:
            yield memory, verdict


def _short_messages(page: Sequence[Memory]) -> Iterator[tuple[str, str]]:
    for memory in page:
        if memory.kind is Kind.MESSAGE and len(memory.text) <= MAX_CHARS:
            yield memory.scope, _form(memory)


def _form(memory: Memory) -> str:
    return canonicalize(memory.text).casefold()


ARCHIVE = Job(
    name="archive",
    summary="Archive what has expired, what was never recalled, and messages that say nothing.",
    every=timedelta(days=1),
    plan=_plan,
)
