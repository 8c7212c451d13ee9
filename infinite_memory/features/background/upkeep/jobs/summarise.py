"""Summarise finished conversations, whose messages are archived, and months of notes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from infinite_memory.core.errors import SummariserError
from infinite_memory.core.values.commit import Commit, merge_commits
from infinite_memory.core.values.memory import Memory, Origin
from infinite_memory.core.values.messages import format_count
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import MAX_CHANGES, Job, Plan
from infinite_memory.features.background.upkeep.report import StepAction, UpkeepStep
from infinite_memory.features.background.upkeep.summaries.candidates import (
    POSITION_NOTE,
    find_material,
    scan_for_material,
    to_archive,
)
from infinite_memory.features.background.upkeep.summaries.choice import choose_summariser
from infinite_memory.features.background.upkeep.summaries.material import (
    Material,
    find_summaries,
    make_summary,
)
from infinite_memory.features.background.upkeep.summaries.writing import (
    are_unchanged,
    finish_summaries,
    summary_commit,
    write_text,
)

_MOST_SUMMARIES = 20


def _plan_summaries(context: JobContext) -> Plan:
    scan = scan_for_material(context)
    services = context.services
    summariser = choose_summariser(services.config, context.stop, given=services.summariser)
    commits: list[Commit] = []
    steps: list[UpkeepStep] = []
    summaries: list[Memory] = []
    more = False
    for material in find_material(context, scan):
        archived = to_archive(material)
        replaced = find_summaries(context.services.storage, material)
        number = sum(len(commit.puts) for commit in commits) + len(archived) + len(replaced) + 1
        if number > MAX_CHANGES or len(summaries) == _MOST_SUMMARIES:
            more = True
            break
        try:
            text = write_text(summariser, material.sources)
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
        commits.append(summary_commit(context, summary, replaced=replaced, archived=archived))
        summaries.append(summary)
        steps.append(_make_step(summary, material, len(archived)))
    return Plan(
        steps=steps,
        commit=merge_commits(*commits),
        work=lambda: _finish_summaries(context, summaries),
        notes={} if more else {POSITION_NOTE: scan.position},
        more=more,
    )


def _make_step(summary: Memory, material: Material, archived: int) -> UpkeepStep:
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


def _finish_summaries(context: JobContext, summaries: Sequence[Memory]) -> Sequence[str]:
    finish_summaries(context.services, summaries)
    return ()


SUMMARISE = Job(
    name="summarise",
    summary="Summarise finished conversations, whose messages are archived, and months of notes.",
    every=timedelta(days=1),
    plan=_plan_summaries,
)
