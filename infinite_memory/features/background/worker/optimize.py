"""Optimize: run the jobs that are due, when somebody asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from difflib import get_close_matches

from attrs import evolve

from infinite_memory.core.clock import current_deadline
from infinite_memory.core.errors import InvalidInput
from infinite_memory.engine.services import Services
from infinite_memory.features.background.dreamer.job import DREAM
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job
from infinite_memory.features.background.upkeep.notes import read_notes
from infinite_memory.features.background.upkeep.report import JobReport, UpkeepReport
from infinite_memory.features.background.worker.jobs import JOBS
from infinite_memory.features.background.worker.run import run_job
from infinite_memory.features.background.worker.schedule import due_jobs
from infinite_memory.storage.read_only import ReadOnlyStorage

_NO_TIME = "the jobs before it took the time of the call; ask for it again"


def may_work(services: Services) -> bool:
    """Return whether this handle shows the whole store and may change it."""
    return services.confinement is None and not isinstance(services.storage, ReadOnlyStorage)


def available_jobs(services: Services) -> tuple[Job, ...]:
    """Return the jobs that this handle may run."""
    return tuple(job for job in JOBS if not job.whole_store or may_work(services))


def scheduled_jobs(services: Services) -> tuple[Job, ...]:
    """Return the jobs that this handle runs by themselves when they are due."""
    settings = services.config.dreamer
    dream = evolve(DREAM, every=timedelta(minutes=settings.every_minutes))
    jobs = (dream if job is DREAM else job for job in available_jobs(services))
    return tuple(job for job in jobs if job is not dream or settings.enabled)


def optimize(services: Services, *, dry_run: bool, jobs: Sequence[str] | None) -> UpkeepReport:
    """Run the jobs that are due, heavy ones at any hour, or exactly the named `jobs`.

    Raises:
        InvalidInput: there is no job of that name.
    """
    deadline = current_deadline()
    context = JobContext(services, notes=read_notes(services), stop=lambda: deadline.is_over)
    if jobs is None:
        chosen = due_jobs(scheduled_jobs(services), context.notes, context.now, quiet=True)
    else:
        available = available_jobs(services)
        chosen = [_find_job(name, available) for name in dict.fromkeys(jobs)]
    reports = [
        JobReport(job=job.name, failure=_NO_TIME)
        if deadline.is_over
        else run_job(job, context, dry_run=dry_run)
        for job in chosen
    ]
    return UpkeepReport(dry_run=dry_run, jobs=tuple(reports))


def _find_job(name: str, jobs: Sequence[Job]) -> Job:
    known = {job.name: job for job in jobs}
    if name in known:
        return known[name]
    near = get_close_matches(str(name)[:200], known, n=1, cutoff=0.0)
    raise InvalidInput(
        f"there is no job {name!r:.100}: the nearest is {near[0]!r}; the jobs are"
        f" {', '.join(known)}"
    )
