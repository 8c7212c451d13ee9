"""The steps of the upkeep, and its reports."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from infinite_memory.core.plain import PlainData


class StepAction(StrEnum):
    """The effect of a step of the upkeep on a memory."""

    ERASE = "erase"
    """Erase it for good, because a rule with `erase` says so."""
    ARCHIVE = "archive"
    SUMMARISE = "summarise"
    """Store a summary of it, or rather of the conversation or the period that it begins."""
    LINK = "link"
    STRENGTHEN = "strengthen"
    """Give a link of the dreamer more weight, because it was found again."""
    REWRITE = "rewrite"
    """Write a topic summary anew, because its sources changed or became more."""


@frozen(kw_only=True)
class UpkeepStep(PlainData):
    """A change that a job makes, or would make, and its reason.

    `memory_id` and `heading` belong to the memory; `other` is the id of the memory that a link
    leads to, or of the new summary.
    """

    action: StepAction
    memory_id: str
    scope: str
    heading: str
    reason: str
    other: str | None = None


@frozen(kw_only=True)
class JobReport(PlainData):
    """The result of a run of a job, or of a dry run.

    `steps` are the changes of memories, erasures first. `done` has a sentence for everything else.
    `entry` is the number of the journal entry that undoes the run, None if there is none. `more`
    says that the run was bounded, and the next run goes on. `failure` is the reason why the run was
    given up without a change, None if it was not. `looked_at` is what a cycle of the dreamer looked
    at, in a sentence.
    """

    job: str
    steps: tuple[UpkeepStep, ...] = ()
    done: tuple[str, ...] = ()
    entry: int | None = None
    more: bool = False
    failure: str | None = None
    looked_at: str = ""


@frozen(kw_only=True)
class UpkeepReport(PlainData):
    """The reports of the jobs that ran, in their order; in a dry run nothing was changed."""

    dry_run: bool
    jobs: tuple[JobReport, ...]
