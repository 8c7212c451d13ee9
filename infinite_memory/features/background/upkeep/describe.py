"""Reports of the upkeep as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from infinite_memory.core.values.messages import format_count
from infinite_memory.features.background.upkeep.report import (
    JobReport,
    StepAction,
    UpkeepReport,
    UpkeepStep,
)
from infinite_memory.search.text.quotation import quote_label

SHOWN_STEPS = 5
"""How many steps of a job are described; the others are counted."""

_DONE = {
    StepAction.ERASE: "erased {} for good",
    StepAction.ARCHIVE: "archived {}",
    StepAction.SUMMARISE: "stored {}",
    StepAction.LINK: "made {}",
    StepAction.STRENGTHEN: "strengthened {}",
    StepAction.REWRITE: "wrote {} anew",
}
_WOULD = {
    StepAction.ERASE: "would erase {} for good",
    StepAction.ARCHIVE: "would archive {}",
    StepAction.SUMMARISE: "would store {}",
    StepAction.LINK: "would make {}",
    StepAction.STRENGTHEN: "would strengthen {}",
    StepAction.REWRITE: "would write {} anew",
}
_NOUNS = {
    StepAction.SUMMARISE: ("summary", "summaries"),
    StepAction.LINK: ("link", "links"),
    StepAction.STRENGTHEN: ("link", "links"),
    StepAction.REWRITE: ("summary", "summaries"),
}


def shown_steps(report: UpkeepReport) -> list[UpkeepStep]:
    """Return the steps that `describe_report` shows."""
    return [step for job in report.jobs for step in job.steps[:SHOWN_STEPS]]


def describe_report(
    report: UpkeepReport, short_ids: Mapping[str, str], *, undo: str
) -> Iterator[str]:
    """Yield the lines of a report: a line for every job that has something to say, and its steps.

    `short_ids` has a short name for every id of `shown_steps`; `undo` is the call that undoes the
    entry of the journal whose number stands in place of {}.
    """
    lines = [line for job in report.jobs for line in _describe_job(job, report, short_ids, undo)]
    lines += _describe_failures(report)
    if lines:
        yield from lines
    elif report.jobs:
        names = ", ".join(job.job for job in report.jobs)
        verb = "would change nothing" if report.dry_run else "found nothing to do"
        yield f"{names}: {verb}."
    else:
        yield "Nothing is due; name a job to run it now."


def _describe_failures(report: UpkeepReport) -> Iterator[str]:
    """Yield a line for each reason why jobs were given up: a full disk stops many."""
    names: dict[str, list[str]] = {}
    for job in report.jobs:
        if job.failure is not None:
            names.setdefault(job.failure, []).append(job.job)
    for failure, given_up in names.items():
        yield f"{', '.join(given_up)}: given up, and nothing was changed: {failure}"


def _describe_job(
    job: JobReport, report: UpkeepReport, short_ids: Mapping[str, str], undo: str
) -> Iterator[str]:
    for sentence in job.done:
        yield f"{job.job}: {sentence}"
    if job.steps:
        way_back = "" if job.entry is None else f" To take it back: {undo.format(job.entry)}"
        yield f"{job.job}: {_count_steps(job, dry_run=report.dry_run)}.{way_back}"
    for step in job.steps[:SHOWN_STEPS]:
        name = short_ids.get(step.memory_id, step.memory_id)
        yield f"  {name}  {quote_label(step.heading)} ({step.reason})"
    more = len(job.steps) - SHOWN_STEPS
    if more > 0:
        yield f"  and {more:,} more"
    if job.more:
        yield f"{job.job}: there is more to do, which the next run does."


def _count_steps(job: JobReport, *, dry_run: bool) -> str:
    verbs = _WOULD if dry_run else _DONE
    counts = Counter(step.action for step in job.steps)
    return ", ".join(
        verbs[action].format(format_count(counts[action], *_NOUNS.get(action, _MEMORIES)))
        for action in StepAction
        if counts[action]
    )


_MEMORIES = ("memory", "memories")
