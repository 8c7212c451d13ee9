"""Archive expired memories, memories that nobody ever recalled, and messages that say nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from infinite_memory.core.config import ScopeRules
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Status, is_content
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.record import Usage
from infinite_memory.features.background.upkeep.changes import Changes
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan
from infinite_memory.features.background.upkeep.policies.ages import Ages, ages_of
from infinite_memory.features.background.upkeep.policies.protected import is_protected
from infinite_memory.features.background.upkeep.policies.verdict import Verdict, last_touched
from infinite_memory.features.background.upkeep.report import StepAction
from infinite_memory.features.background.upkeep.scan import RollingScan
from infinite_memory.features.chats.short_term.entry import is_short_term
from infinite_memory.search.text.analyzer import words
from infinite_memory.search.text.canonical import canonicalize
from infinite_memory.search.text.highlights import is_dense_script
from infinite_memory.search.text.question_terms import has_subject
from infinite_memory.search.text.quotation import quote_label

_MOST_READ = 2500
_NOTE = "archive/position"


_Judge: TypeAlias = Callable[[Sequence[Memory]], Iterator[tuple[Memory, Verdict]]]
"""Yields the memories of a page that something is done with."""


MAX_CHARS = 60
"""A longer message is not looked at: three words are shorter."""

_MAX_WORDS = 3
# In scripts without spaces, where a word has one or two characters.
_MAX_DENSE_CHARS = 6
_FREQUENT = 5


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


def judge_noise(
    memory: Memory, count_same: Callable[[Memory], int], ages: Ages, now: datetime
) -> Verdict | None:
    """Return the verdict on a message of at most three words that says nothing.

    It says nothing if all its words are function words, or if `count_same` finds it at least five
    times among the messages of its scope. A number is never noise.
    """
    if ages.noise is None or memory.kind is not Kind.MESSAGE or len(memory.text) > MAX_CHARS:
        return None
    if is_protected(memory) or now - last_touched(memory) < ages.noise:
        return None
    if not _is_short(memory.text) or any(map(str.isdigit, memory.text)):
        return None
    if not has_subject(memory.text):
        return Verdict(StepAction.ARCHIVE, "a message of function words alone")
    number = count_same(memory)
    if number < _FREQUENT:
        return None
    return Verdict(
        StepAction.ARCHIVE, f"a short message that {quote_label(memory.scope)} has {number} times"
    )


def _is_short(text: str) -> bool:
    if is_dense_script(text):
        return len(text.strip()) <= _MAX_DENSE_CHARS
    return len(words(text)) <= _MAX_WORDS


def date_text(revisions: Sequence[Memory]) -> datetime:
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
    the last change; with `erase` give `date_text`, so that archiving does not prolong a life. The
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


def _plan_archiving(context: JobContext) -> Plan:
    changes, notes = Changes(context), dict[str, str]()
    for scan, judge in (*_make_expiry_scans(context), _make_retention_scan(context)):
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


def _make_expiry_scans(context: JobContext) -> Iterator[tuple[RollingScan, _Judge]]:
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
            verdict = judge_expired(memory, rules, context.now, since=date_text(revisions))
        if verdict is not None:
            yield memory, verdict


def _make_retention_scan(context: JobContext) -> tuple[RollingScan, _Judge]:
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
    frequency.update(_find_short_messages(page))
    usage = context.services.storage.usage([memory.id for memory in page])

    def count_same(memory: Memory) -> int:
        return frequency[memory.scope, _canonicalize_text(memory)]

    for memory in page:
        ages = ages_of(settings, memory.scope)
        verdict = judge_noise(memory, count_same, ages, now) or judge_unused(
            memory, usage.get(memory.id), ages, now
        )
        if verdict is not None:
            yield memory, verdict


def _find_short_messages(page: Sequence[Memory]) -> Iterator[tuple[str, str]]:
    for memory in page:
        if memory.kind is Kind.MESSAGE and len(memory.text) <= MAX_CHARS:
            yield memory.scope, _canonicalize_text(memory)


def _canonicalize_text(memory: Memory) -> str:
    return canonicalize(memory.text).casefold()


ARCHIVE = Job(
    name="archive",
    summary="Archive what has expired, what was never recalled, and messages that say nothing.",
    every=timedelta(days=1),
    plan=_plan_archiving,
)
