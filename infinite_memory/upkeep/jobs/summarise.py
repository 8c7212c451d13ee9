"""Summarise finished conversations, whose messages are archived, and months of notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from infinite_memory.errors import SummariserError
from infinite_memory.model.commit import Commit, merge_commits
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.memory import Kind, Memory, Origin, Status
from infinite_memory.model.messages import format_count
from infinite_memory.operations.embed import embed_new
from infinite_memory.operations.writes.after_commit import AfterCommit
from infinite_memory.operations.writes.quoting_summaries import erase_unfounded_summaries
from infinite_memory.upkeep.changes import archive_puts
from infinite_memory.upkeep.context import JobContext
from infinite_memory.upkeep.job import MAX_CHANGES, Job, Plan
from infinite_memory.upkeep.policies.ages import ages_of
from infinite_memory.upkeep.policies.protected import is_protected
from infinite_memory.upkeep.policies.verdict import last_touched
from infinite_memory.upkeep.report import StepAction, UpkeepStep
from infinite_memory.upkeep.scan import RollingScan
from infinite_memory.upkeep.summaries.choice import choose_summariser
from infinite_memory.upkeep.summaries.commit import are_unchanged, summary_commit
from infinite_memory.upkeep.summaries.material import (
    Material,
    find_summaries,
    load_conversation,
    load_month,
    make_summary,
    month_of,
    next_month,
)

__all__ = ["SUMMARISE", "find_material", "length_for"]

_MOST_READ = 3000
_MOST_SUMMARIES = 20
_NOTE = "summarise/position"
_SHARE_OF_CHARS = 5
_FEWEST_CHARS, _MOST_CHARS = 300, 1500


def _plan(context: JobContext) -> Plan:
    scan = _scan(context)
    summariser = choose_summariser(context.services.config, context.stop)
    commits: list[Commit] = []
    steps: list[UpkeepStep] = []
    summaries: list[Memory] = []
    more = False
    for material in find_material(context, scan):
        archived = _to_archive(material)
        replaced = find_summaries(context.services.storage, material)
        number = sum(len(commit.puts) for commit in commits) + len(archived) + len(replaced) + 1
        if number > MAX_CHANGES or len(summaries) == _MOST_SUMMARIES:
            more = True
            break
        try:
            text = summariser.summarise(material.sources, max_chars=length_for(material))
        except SummariserError:
            if not commits:
                raise
            more = True  # Keep what was written before the endpoint failed.
            break
        if context.stop():
            return Plan(more=True)
        if not text or not are_unchanged(context.services, material.sources):
            continue
        summary = make_summary(
            material,
            text,
            made_by=summariser.name,
            origin=Origin.DREAM,
            now=context.now,
            zone=context.services.config.time_zone,
        )
        commits.append(
            merge_commits(
                summary_commit(context.services, summary, material.sources, replaced),
                Commit(puts=archive_puts(context, archived)),
            )
        )
        summaries.append(summary)
        steps.append(_step(summary, material, len(archived)))
    return Plan(
        steps=steps,
        commit=merge_commits(*commits),
        work=lambda: _finish(context, summaries),
        notes={} if more else {_NOTE: scan.position},
        more=more,
    )


def _scan(context: JobContext) -> RollingScan:
    youngest = timedelta(weeks=context.settings.min_age_weeks)
    criteria = Criteria(until=context.now - youngest, statuses=frozenset({Status.CURRENT}))
    return RollingScan(context, criteria, note=_NOTE, most=_MOST_READ)


def find_material(context: JobContext, scan: RollingScan | None = None) -> Iterator[Material]:
    """Yield what is old enough to be summarised, and has no summary of all of it yet."""
    seen: set[tuple[str, str]] = set()
    for page in (_scan(context) if scan is None else scan).pages():
        for memory in page:
            name = memory.conversation_id or f"{month_of(memory.happened_at):%Y-%m}"
            if memory.kind is Kind.SUMMARY or (memory.scope, name) in seen:
                continue
            if context.stop():
                return
            seen.add((memory.scope, name))
            parts = _load(context, memory)
            yield from (part for part in parts if not _is_summarised(context, part))


def _load(context: JobContext, memory: Memory) -> Sequence[Material]:
    """Return the conversation or the month of a memory, in parts; nothing if it is too young."""
    window = ages_of(context.settings, memory.scope).conversation
    if window is None:
        return ()
    latest = context.now - window
    if memory.happened_at > latest:
        return ()
    storage = context.services.storage
    if memory.conversation_id is None:
        if next_month(month_of(memory.happened_at)) > latest:
            return ()
        parts = load_month(storage, memory.scope, memory.happened_at)
    else:
        parts = load_conversation(storage, memory.scope, memory.conversation_id)
    sources = [source for part in parts for source in part.sources]
    # What was archived was touched then, and may be in a summary that is made again.
    is_young = any(
        source.happened_at > latest
        or (source.status is Status.CURRENT and last_touched(source) > latest)
        for source in sources
    )
    return () if is_young else parts


def _is_summarised(context: JobContext, material: Material) -> bool:
    """Return whether all of it was summarised; a summary that was undone or erased counts too."""
    storage = context.services.storage
    name = material.summary_id
    if storage.get([name], models=()) or storage.erased([name]):
        return True
    ids = {memory.id for memory in material.sources}
    return any(set(summary.sources) == ids for summary in find_summaries(storage, material))


def _to_archive(material: Material) -> list[Memory]:
    """Return the sources that are archived: the messages of a conversation, unless protected."""
    if material.conversation_id is None:
        return []
    return [
        memory
        for memory in material.sources
        if memory.status is Status.CURRENT and not is_protected(memory)
    ]


def length_for(material: Material) -> int:
    """Return the most characters of a summary: a fifth of its sources, within bounds."""
    chars = sum(len(memory.text) for memory in material.sources)
    return min(_MOST_CHARS, max(_FEWEST_CHARS, chars // _SHARE_OF_CHARS))


def _step(summary: Memory, material: Material, archived: int) -> UpkeepStep:
    number = format_count(len(material.sources), "memory", "memories")
    rest = f", {archived:,} of them archived" if archived else ""
    return UpkeepStep(
        action=StepAction.SUMMARISE,
        memory_id=material.sources[0].id,
        scope=summary.scope,
        heading=summary.heading,
        reason=f"{number}{rest}",
        other=summary.id,
    )


def _finish(context: JobContext, summaries: Sequence[Memory]) -> Sequence[str]:
    """Embed new summaries, and erase those whose source was erased or moved at the same moment."""
    services = context.services
    with AfterCommit("comparing new summaries with their sources"):
        unfounded = erase_unfounded_summaries(services, summaries)
        summaries = [summary for summary in summaries if summary.id not in unfounded]
    if summaries:
        embed_new(services, summaries)
    return ()


SUMMARISE = Job(
    name="summarise",
    summary="Summarise finished conversations, whose messages are archived, and months of notes.",
    every=timedelta(days=1),
    plan=_plan,
)
