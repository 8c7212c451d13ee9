"""Archive the least valuable memories where there are more than the user wants."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from attrs import define, evolve, field, frozen

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Status
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.record import Usage
from infinite_memory.engine.priority import compute_priority, weights_of_links
from infinite_memory.features.background.upkeep.changes import Changes
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import MAX_CHANGES, Job, Plan
from infinite_memory.features.background.upkeep.policies.protected import is_protected
from infinite_memory.features.background.upkeep.policies.verdict import Verdict, last_touched
from infinite_memory.features.background.upkeep.report import StepAction

_PAGE = 1000
_MEGABYTE = 1_000_000


_MESSAGE = 0.5
"""The share of the value of another kind that a message has: most of a conversation is chatter."""


def value_of(
    memory: Memory, usage: Usage | None, link_weights: Iterable[float], now: datetime
) -> float:
    """Return the value of a memory, above 0 and below 1: its priority, half of that for a message.

    The priority, see `engine.priority`, is that of a memory told when this one happened or was
    last changed, whichever is later: what was imported or brought back yesterday is not old.
    """
    touched = last_touched(memory)
    as_touched = evolve(memory, happened_at=touched, stored_at=touched)
    value = compute_priority(as_touched, usage, link_weights, now)
    return value * _MESSAGE if memory.kind is Kind.MESSAGE else value


@frozen(kw_only=True)
class _Limit:
    """A limit on the current memories of some scopes: their number, or the bytes of their texts."""

    scopes: frozenset[str]
    most: int
    excess: int
    reason: str
    in_bytes: bool = False


def _plan_limit(context: JobContext) -> Plan:
    """Return the plan for the first exceeded limit under which there is something to archive.

    What one limit archives counts for the next, which is therefore left to the next run.
    """
    limits = _find_exceeded(context)
    for limit in limits:
        chosen = _choose_least_valuable(context, limit)
        if context.stop():
            # Not all memories were looked at: there may be less valuable ones.
            return Plan(more=True)
        if chosen:
            changes = Changes(context)
            verdict = Verdict(StepAction.ARCHIVE, limit.reason)
            changes.add((memory, verdict) for memory in chosen[:MAX_CHANGES])
            more = len(chosen) > MAX_CHANGES or next(limits, None) is not None
            return Plan(steps=changes.steps(), commit=changes.commit(), more=more)
    return Plan()


def _find_exceeded(context: JobContext) -> Iterator[_Limit]:
    """Yield the limits that the store exceeds, limits of single scopes first.

    Topic summaries do not count: what the dreamer writes archives nothing that people said.
    """
    settings = context.settings
    size = context.services.storage.measure()
    counts = Counter[str]()
    for (scope, _, status), number in size.memories.items():
        if status == Status.CURRENT and scope in context.scopes:
            counts[scope] += number
    counts -= _count_topics(context)
    for name, rules in settings.scopes.items():
        if rules.max_memories is not None and counts[name] > rules.max_memories:
            yield _make_limit(frozenset({name}), counts, rules.max_memories, name)
    if settings.max_memories is not None and counts.total() > settings.max_memories:
        yield _make_limit(frozenset(counts), counts, settings.max_memories, "the store")
    if settings.max_megabytes is not None:
        most = settings.max_megabytes * _MEGABYTE
        # The texts are smaller than the files that hold them.
        if size.size_bytes > most and (used := _count_text_bytes(context)) > most:
            reason = f"the texts of current memories take {used // _MEGABYTE} MB, and the limit is"
            yield _Limit(
                scopes=frozenset(context.scopes),
                most=most,
                excess=used - most,
                reason=f"{reason} {settings.max_megabytes} MB",
                in_bytes=True,
            )


def _make_limit(scopes: frozenset[str], counts: Mapping[str, int], most: int, name: str) -> _Limit:
    number = sum(counts[scope] for scope in scopes)
    held = format_count(number, "current memory", "current memories")
    return _Limit(
        scopes=scopes,
        most=most,
        excess=number - most,
        reason=f"{name} holds {held}, and the limit is {most:,}",
    )


def _count_topics(context: JobContext) -> Counter[str]:
    """Count the current topic summaries of every scope."""
    summaries = Criteria(
        scopes=frozenset(context.scopes),
        kinds=frozenset({Kind.SUMMARY}),
        statuses=frozenset({Status.CURRENT}),
    )
    pages = _read_pages(context, summaries)
    return Counter(memory.scope for page in pages for memory in page if memory.is_dreamed)


def _read_current(context: JobContext, scopes: frozenset[str]) -> Iterator[list[Memory]]:
    """Yield the current memories of `scopes` without topic summaries, page by page."""
    return _read_pages(
        context,
        Criteria(scopes=scopes, statuses=frozenset({Status.CURRENT}), topic_summaries=False),
    )


def _read_pages(context: JobContext, criteria: Criteria) -> Iterator[list[Memory]]:
    after: str | None = None
    while not context.stop():
        page = context.services.storage.find(criteria, limit=_PAGE, after=after)
        yield list(page.memories)
        after = page.next
        if after is None:
            return


def _count_text_bytes(context: JobContext) -> int:
    pages = _read_current(context, frozenset(context.scopes))
    return sum(len(memory.text.encode()) for page in pages for memory in page)


@define
class _Lowest:
    """The pushed memories of the lowest value, at most `most`."""

    most: int
    _heap: list[tuple[float, str, Memory]] = field(factory=list)

    def push(self, value: float, memory: Memory) -> None:
        entry = (-value, memory.id, memory)
        if len(self._heap) < self.most:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)

    def sorted(self) -> list[Memory]:
        return [memory for _, _, memory in sorted(self._heap, reverse=True)]


def _choose_least_valuable(context: JobContext, limit: _Limit) -> list[Memory]:
    """Return the memories to archive, the least valuable first, one more than a run changes."""
    wanted = MAX_CHANGES + 1 if limit.in_bytes else min(limit.excess, MAX_CHANGES + 1)
    lowest = _Lowest(most=wanted)
    for page in _read_current(context, limit.scopes):
        ids = [memory.id for memory in page]
        usage = context.services.storage.usage(ids)
        weights = weights_of_links(ids, context.services.storage.links(ids))
        for memory in page:
            if not is_protected(memory):
                lowest.push(
                    value_of(memory, usage.get(memory.id), weights[memory.id], context.now), memory
                )
    chosen = lowest.sorted()
    return _take_bytes(chosen, limit.excess) if limit.in_bytes else chosen


def _take_bytes(memories: list[Memory], excess: int) -> list[Memory]:
    freed, chosen = 0, []
    for memory in memories:
        if freed >= excess:
            break
        chosen.append(memory)
        freed += len(memory.text.encode())
    return chosen


LIMIT = Job(
    name="limit",
    summary="Archive the least valuable memories beyond the limits of the configuration.",
    every=timedelta(days=1),
    plan=_plan_limit,
    is_heavy=True,
)
