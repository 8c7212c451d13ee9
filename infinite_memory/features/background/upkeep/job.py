"""A job of the upkeep, and the plan of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, TypeAlias

from attrs import field, frozen

from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.entry import Operation
from infinite_memory.features.background.upkeep.report import UpkeepStep

if TYPE_CHECKING:
    from infinite_memory.features.background.upkeep.context import JobContext

MADE_BY = "upkeep"
"""Who made the links of the upkeep, as they say it."""

MAX_CHANGES = 1000
"""The most memories that one run of a job changes; the next run goes on."""

Work: TypeAlias = Callable[[], Sequence[str]]
"""Does work that changes no memory, and returns a sentence for each thing that was done."""


@frozen(kw_only=True)
class Plan:
    """The plan of a run of a job. A dry run makes the same plan, and shows it.

    `commit` is everything that the run changes, one entry of the journal, without the entry;
    `steps` describe it. `prepare` is work
    that must succeed before the commit, such as an export, and `work` comes after it, such as a
    backup; `intends` has a sentence for every part of both. `notes` are kept for the next run, see
    `SupportsLease.note_upkeep`. `more` says that the bound was reached: the job stays due.

    `recheck`, if given, returns the commit again without what others have changed meanwhile: it is
    called right before the commit, and again if others commit at the same moment. Then
    `committed_steps` returns the steps that are left. `reason` stands in the entry in place of the
    summary of the job.
    """

    steps: Sequence[UpkeepStep] = ()
    commit: Commit = field(factory=Commit)
    recheck: Callable[[], Commit] | None = None
    committed_steps: Callable[[], Sequence[UpkeepStep]] | None = None
    prepare: Work | None = None
    work: Work | None = None
    intends: Sequence[str] = ()
    notes: Mapping[str, str] = field(factory=dict)
    more: bool = False
    reason: str = ""


@frozen(kw_only=True)
class Job:
    """A job: `plan` returns the plan of a run, and changes nothing.

    The job is due when `every` has passed since its last run; a heavy job waits for the quiet hour.
    A job works within a scope: nothing that it stores joins two scopes. It reads at most some
    thousand records a run, and leaves a note of how far it came. `whole_store` keeps it from
    handles that show only some scopes. `operation` is that of its entries.
    """

    name: str
    summary: str
    every: timedelta
    plan: Callable[[JobContext], Plan]
    is_heavy: bool = False
    whole_store: bool = False
    operation: Operation = Operation.UPKEEP
