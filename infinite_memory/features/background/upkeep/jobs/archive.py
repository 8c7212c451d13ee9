"""Archive expired memories, memories that nobody ever recalled, and messages that say nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeAlias

from infinite_memory.core.config import ScopeRules
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.features.background.upkeep.changes import Changes
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan
from infinite_memory.features.background.upkeep.policies.ages import ages_of
from infinite_memory.features.background.upkeep.policies.expiry import judge_expired, told_at
from infinite_memory.features.background.upkeep.policies.noise import MAX_CHARS, judge_noise
from infinite_memory.features.background.upkeep.policies.unused import judge_unused
from infinite_memory.features.background.upkeep.policies.verdict import Verdict
from infinite_memory.features.background.upkeep.scan import RollingScan
from infinite_memory.search.text.canonical import canonicalize

_MOST_READ = 2500
_NOTE = "archive/position"


_Judge: TypeAlias = Callable[[Sequence[Memory]], Iterator[tuple[Memory, Verdict]]]
"""Yields the memories of a page that something is done with."""


def _plan(context: JobContext) -> Plan:
    changes, notes = Changes(context), dict[str, str]()
    for scan, judge in (*_expiry_scans(context), _retention_scan(context)):
        is_full = not _add_all(changes, scan, judge)
        notes[scan.note] = scan.position
        if is_full:
            return Plan(steps=changes.steps(), commit=changes.commit(), notes=notes, more=True)
    return Plan(steps=changes.steps(), commit=changes.commit(), notes=notes)


def _add_all(changes: Changes, scan: RollingScan, judge: _Judge) -> bool:
    """Add the verdicts on all pages of a scan; return False if they do not all fit into the run."""
    for page in scan.pages():
        verdicts = list(judge(page))
        if not changes.has_room(len(verdicts)):
            return False
        changes.add(verdicts)
    return True


def _expiry_scans(context: JobContext) -> Iterator[tuple[RollingScan, _Judge]]:
    """Yield a scan for each scope with a time to live: it reads what is old enough alone."""
    for name in context.scopes:
        rules = context.rules_of(name)
        if rules.keep_days is None:
            continue
        criteria = Criteria(
            scopes=frozenset({name}),
            until=context.now - timedelta(days=rules.keep_days),
            statuses=None if rules.erase else frozenset({Status.CURRENT}),
        )
        note = f"archive/expired/{name}"
        scan = RollingScan(context, criteria, note=note, most=_MOST_READ)
        yield scan, partial(_judge_expired, context, rules)


def _judge_expired(
    context: JobContext, rules: ScopeRules, page: Sequence[Memory]
) -> Iterator[tuple[Memory, Verdict]]:
    for memory in page:
        verdict = judge_expired(memory, rules, context.now)
        if verdict is None and rules.erase:
            # Changed since it was told: by a new text, or only by being archived.
            revisions = context.services.storage.history(memory.id) or [memory]
            verdict = judge_expired(memory, rules, context.now, since=told_at(revisions))
        if verdict is not None:
            yield memory, verdict


def _retention_scan(context: JobContext) -> tuple[RollingScan, _Judge]:
    """Return the scan of the whole store for what the retention of each scope archives."""
    criteria = Criteria(
        # Nothing younger is archived by a retention.
        until=context.now - timedelta(weeks=context.settings.min_age_weeks),
        statuses=frozenset({Status.CURRENT}),
    )
    scan = RollingScan(context, criteria, note=_NOTE, most=_MOST_READ)
    return scan, partial(_judge_retention, context, Counter())


def _judge_retention(
    context: JobContext, frequency: Counter[tuple[str, str]], page: Sequence[Memory]
) -> Iterator[tuple[Memory, Verdict]]:
    settings, now = context.settings, context.now
    frequency.update(_short_messages(page))
    usage = context.services.storage.usage([memory.id for memory in page])

    def count_same(memory: Memory) -> int:
        return frequency[memory.scope, _form(memory)]

    for memory in page:
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
