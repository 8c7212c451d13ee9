"""What the upkeep does to a store, and what it reports."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from infinite_memory.plain import PlainData

__all__ = ["JobReport", "StepAction", "UpkeepReport", "UpkeepStep"]


class StepAction(StrEnum):
    """What a step of the upkeep does to a memory."""

    ERASE = "erase"
    """Erase it for good, because a rule with `erase` says so."""
    ARCHIVE = "archive"
    SUMMARISE = "summarise"
    """Store a summary of it, or rather of the conversation or the period that it begins."""
    LINK = "link"


@frozen(kw_only=True)
class UpkeepStep(PlainData):
    """One thing that a job does, or would do, and why.

    `memory_id` and `heading` are those of the memory; `other` is the id of the memory that a link
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
    """What a run of a job did, or in a dry run would do.

    `steps` are the changes of memories, erasures first. `done` has a sentence for everything else.
    `entry` is the number of the journal entry that undoes the run, None if there is none. `more`
    says that the run was bounded, and the next run goes on. `failure` is the reason why the run was
    given up without a change, None if it was not.
    """

    job: str
    steps: tuple[UpkeepStep, ...] = ()
    done: tuple[str, ...] = ()
    entry: int | None = None
    more: bool = False
    failure: str | None = None


@frozen(kw_only=True)
class UpkeepReport(PlainData):
    """The reports of the jobs that ran, in their order; in a dry run nothing was changed."""

    dry_run: bool
    jobs: tuple[JobReport, ...]
