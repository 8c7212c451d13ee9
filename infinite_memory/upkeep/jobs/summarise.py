"""Summarise finished conversations, whose messages are archived, and months of notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from infinite_memory.model.commit import Commit, Put
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.memory import Kind, Memory, Origin, Status
from infinite_memory.model.messages import format_count
from infinite_memory.operations.embed import embed_new
from infinite_memory.upkeep.changes import archive_puts
from infinite_memory.upkeep.context import JobContext
from infinite_memory.upkeep.job import MAX_CHANGES, Job, Plan
from infinite_memory.upkeep.policies.ages import ages_of
from infinite_memory.upkeep.policies.protected import is_protected
from infinite_memory.upkeep.policies.verdict import last_touched
from infinite_memory.upkeep.report import StepAction, UpkeepStep
from infinite_memory.upkeep.scan import RollingScan
from infinite_memory.upkeep.summaries.choice import choose_summariser
from infinite_memory.upkeep.summaries.material import (
    Material,
    links_to_sources,
    load_conversation,
    load_month,
    make_summary,
    next_month,
)

__all__ = ["SUMMARISE", "find_material"]

_MOST_READ = 3000
_MOST_SUMMARIES = 20
_NOTE = "summarise/position"
_SHARE_OF_CHARS = 5
_FEWEST_CHARS, _MOST_CHARS = 300, 1500


def _plan(context: JobContext) -> Plan:
    scan = _scan(context)
    summariser = choose_summariser(context.services.config)
    steps: list[UpkeepStep] = []
    puts: list[Put] = []
    summaries: list[tuple[Memory, Material]] = []
    more = False
    for material in find_material(context, scan):
        archived = _to_archive(material)
        if len(puts) + len(archived) + 1 > MAX_CHANGES or len(summaries) == _MOST_SUMMARIES:
            more = True
            break
        text = summariser.summarise(material.sources, max_chars=_length(material))
        if context.stop():
            return Plan()
        if not text:
            continue
        summary = make_summary(
            material,
            text,
            made_by=summariser.name,
            origin=Origin.DREAM,
            now=context.now,
            zone=context.services.config.time_zone,
        )
        summaries.append((summary, material))
        puts += [Put(memory=summary, expected=0), *archive_puts(context, archived)]
        steps.append(_step(summary, material, len(archived)))
    links = [link for summary, m in summaries for link in links_to_sources(summary, m.sources)]
    return Plan(
        steps=steps,
        commit=Commit(puts=tuple(puts), links=tuple(links)),
        work=lambda: _embed(context, [summary for summary, _ in summaries]),
        notes={} if more else {_NOTE: scan.position},
        more=more,
    )


def _scan(context: JobContext) -> RollingScan:
    youngest = timedelta(weeks=context.settings.min_age_weeks)
    criteria = Criteria(until=context.now - youngest, statuses=frozenset({Status.CURRENT}))
    return RollingScan(context, criteria, note=_NOTE, most=_MOST_READ)


def find_material(context: JobContext, scan: RollingScan | None = None) -> Iterator[Material]:
    """Yield what is old enough to be summarised, and has no summary yet."""
    seen: set[tuple[str, str]] = set()
    for page in (_scan(context) if scan is None else scan).pages():
        for memory in page:
            name = memory.conversation_id or f"{memory.happened_at.astimezone(UTC):%Y-%m}"
            if memory.kind is Kind.SUMMARY or (memory.scope, name) in seen:
                continue
            seen.add((memory.scope, name))
            material = _load(context, memory)
            if material is not None and not _has_summary(context, material):
                yield material


def _load(context: JobContext, memory: Memory) -> Material | None:
    """Return the conversation or the month of a memory, None if it is too young or too short."""
    window = ages_of(context.settings, memory.scope).conversation
    if window is None:
        return None
    latest = context.now - window
    storage = context.services.storage
    if memory.conversation_id is None:
        start = _month_of(memory.happened_at)
        return load_month(storage, memory.scope, start) if next_month(start) <= latest else None
    material = load_conversation(storage, memory.scope, memory.conversation_id)
    if material is None or any(last_touched(source) > latest for source in material.sources):
        return None
    return material


def _month_of(moment: datetime) -> datetime:
    utc = moment.astimezone(UTC)
    return utc.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _has_summary(context: JobContext, material: Material) -> bool:
    """Return whether it was summarised before; a summary that was undone or erased counts too."""
    storage = context.services.storage
    return bool(
        storage.get([material.summary_id], models=()) or storage.erased([material.summary_id])
    )


def _to_archive(material: Material) -> list[Memory]:
    """Return the sources that are archived: the messages of a conversation, unless protected."""
    if material.conversation_id is None:
        return []
    return [memory for memory in material.sources if not is_protected(memory)]


def _length(material: Material) -> int:
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


def _embed(context: JobContext, summaries: Sequence[Memory]) -> Sequence[str]:
    if summaries:
        embed_new(context.services, summaries)
    return ()


SUMMARISE = Job(
    name="summarise",
    summary="Summarise finished conversations, whose messages are archived, and months of notes.",
    every=timedelta(days=1),
    plan=_plan,
)
