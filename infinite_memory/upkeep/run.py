"""Run a job: plan it, and carry the plan out unless it is a dry run."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from attrs import evolve

from infinite_memory.errors import Conflict, InfiniteMemoryError, ReadOnly
from infinite_memory.model.codec import iso
from infinite_memory.model.entry import Operation
from infinite_memory.operations.journal import with_entry
from infinite_memory.operations.writes.bulk_erase import finish_erasing
from infinite_memory.upkeep.context import JobContext
from infinite_memory.upkeep.job import Job, Plan
from infinite_memory.upkeep.notes import last_run_note, write_notes
from infinite_memory.upkeep.report import JobReport

__all__ = ["run_job"]

_log = logging.getLogger(__name__)
_ATTEMPTS = 5
_RECENT_ENTRIES = 20


def run_job(job: Job, context: JobContext, *, dry_run: bool) -> JobReport:
    """Run a job once, and return its report.

    A run that others keep changing memories under, or that fails, changes nothing: the report says
    why, and the job is due again.

    Raises:
        ReadOnly: this handle may only read, and there is something to change.
    """
    try:
        return _run(job, context, dry_run=dry_run)
    except ReadOnly:
        raise
    except InfiniteMemoryError as error:
        _log.warning("the job %s was given up: %s", job.name, error)
        return JobReport(job=job.name, failure=str(error))


def _run(job: Job, context: JobContext, *, dry_run: bool) -> JobReport:
    for attempt in range(_ATTEMPTS):
        plan = job.plan(context)
        if dry_run:
            return _report(job, plan, done=plan.intends)
        prepared = () if plan.prepare is None else tuple(plan.prepare())
        try:
            entry = _commit(job, context, plan)
            break
        except Conflict:
            # What the plan looked at has changed: look again.
            if attempt == _ATTEMPTS - 1:
                raise
    done = () if plan.work is None else tuple(plan.work())
    # A job with more to do stays due, and so does one that was told to stop.
    ran = {} if plan.more or context.stop() else {last_run_note(job.name): str(iso(context.now))}
    write_notes(context.services, {**ran, **plan.notes})
    return _report(job, plan, done=(*prepared, *done), entry=entry)


def _commit(job: Job, context: JobContext, plan: Plan) -> int | None:
    """Commit the changes of the plan, and return the number of its entry, None if there is none."""
    if not plan.commit.changes:
        return None
    services = context.services
    expected = evolve(plan.commit.expect, lease=context.lease)
    commit = with_entry(
        services,
        Operation.UPKEEP,
        evolve(plan.commit, expect=expected),
        reason=job.summary,
    )
    services.storage.commit(commit)
    if plan.commit.erases:
        finish_erasing(services, [erase.id for erase in plan.commit.erases])
    # Others may have committed since, but hardly this many.
    newest = services.storage.journal(limit=_RECENT_ENTRIES)
    return next((entry.number for entry in newest if entry.action == commit.entry), None)


def _report(job: Job, plan: Plan, *, done: Sequence[str], entry: int | None = None) -> JobReport:
    return JobReport(
        job=job.name, steps=tuple(plan.steps), done=tuple(done), entry=entry, more=plan.more
    )
