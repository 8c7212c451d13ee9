"""Run a job: plan it, and carry the plan out unless it is a dry run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from attrs import evolve

from infinite_memory.core.errors import Conflict, InfiniteMemoryError, ReadOnly
from infinite_memory.core.values.codec import iso
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.link import Link
from infinite_memory.engine.journal import iter_sound_entries, with_entry
from infinite_memory.engine.services import Services
from infinite_memory.engine.writes.bulk_erase import finish_erasing
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan
from infinite_memory.features.background.upkeep.notes import failure_note, last_run_note
from infinite_memory.features.background.upkeep.report import JobReport

_ATTEMPTS = 5
_RECHECKS = 20
_RECENT_ENTRIES = 20
_MOST_FAILURE_CHARS = 1000


def run_job(
    job: Job,
    context: JobContext,
    *,
    dry_run: bool,
    refusals: tuple[type[InfiniteMemoryError], ...] = (),
) -> JobReport:
    """Run a job once, and return its report.

    A run that others keep changing memories under, or that fails, changes nothing: the report says
    why, and the job is due again. Errors of the types `refusals` are raised.

    Raises:
        ReadOnly: this handle may only read, and there is something to change.
    """
    raised: tuple[type[InfiniteMemoryError], ...] = (ReadOnly, *refusals)
    try:
        return _run_job(job, context, dry_run=dry_run)
    except raised:
        raise
    except InfiniteMemoryError as error:
        if not dry_run:
            failed = f"{iso(context.now)}: {error}"
            context.keep_notes({failure_note(job.name): failed[:_MOST_FAILURE_CHARS]})
        return JobReport(job=job.name, failure=str(error))


def _run_job(job: Job, context: JobContext, *, dry_run: bool) -> JobReport:
    for attempt in range(_ATTEMPTS):
        plan = job.plan(context)
        if dry_run:
            return _report_job(job, plan, done=plan.intends)
        prepared = () if plan.prepare is None else tuple(plan.prepare())
        try:
            entry = _commit_plan(job, context, plan)
            break
        except Conflict:
            # What the plan looked at has changed: look again.
            if attempt == _ATTEMPTS - 1:
                raise
    done = () if plan.work is None else tuple(plan.work())
    # A job with more to do stays due, and so does one that was told to stop.
    ran = {} if plan.more or context.stop() else {last_run_note(job.name): str(iso(context.now))}
    context.keep_notes({**ran, **plan.notes, failure_note(job.name): ""})
    if plan.committed_steps is not None:
        plan = evolve(plan, steps=plan.committed_steps())
    return _report_job(job, plan, done=(*prepared, *done), entry=entry)


def _commit_plan(job: Job, context: JobContext, plan: Plan) -> int | None:
    """Commit the changes of the plan, and return the number of its entry, None if there is none.

    Raises:
        Conflict: others changed what the plan looked at, or kept committing.
    """
    for number in range(_RECHECKS):
        changes = plan.commit if plan.recheck is None else plan.recheck()
        try:
            return _commit_changes(job, context, changes, plan.reason or job.summary)
        except Conflict:
            if plan.recheck is None or number == _RECHECKS - 1:
                raise
    return None


def _commit_changes(job: Job, context: JobContext, changes: Commit, reason: str) -> int | None:
    if not changes.changes:
        return None
    services = context.services
    commit = with_entry(
        services,
        job.operation,
        evolve(changes, expect=evolve(changes.expect, lease=context.lease)),
        links=_find_replaced_links(services, changes),
        reason=reason,
    )
    services.storage.commit(commit)
    if changes.erases:
        finish_erasing(services, [erase.id for erase in changes.erases])
    # Others may have committed since, but hardly this many.
    entries = iter_sound_entries(services.storage, page=_RECENT_ENTRIES)
    newest = islice(entries, _RECENT_ENTRIES)
    return next((entry.number for entry in newest if entry.action == commit.entry), None)


def _find_replaced_links(services: Services, changes: Commit) -> list[Link]:
    """Return the links that exist now among the memories that the commit links or unlinks."""
    keys = {*(link.key for link in changes.links), *changes.erased_links}
    present = services.storage.links({key.source for key in keys}) if keys else ()
    return [link for link in present if link.key in keys]


def _report_job(
    job: Job, plan: Plan, *, done: Sequence[str], entry: int | None = None
) -> JobReport:
    return JobReport(
        job=job.name,
        steps=tuple(plan.steps),
        done=tuple(done),
        entry=entry,
        more=plan.more,
        looked_at=plan.reason,
    )
