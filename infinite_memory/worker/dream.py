"""Dream: run a cycle of the dreamer when somebody asks for it."""

from __future__ import annotations

from infinite_memory.dreamer.job import dream_job
from infinite_memory.errors import InvalidInput, NotFound
from infinite_memory.operations.services import Services
from infinite_memory.upkeep.context import JobContext
from infinite_memory.upkeep.job import Job
from infinite_memory.upkeep.notes import read_notes
from infinite_memory.upkeep.report import JobReport
from infinite_memory.worker.run import run_job

__all__ = ["dream", "run_dream_job"]


def dream(services: Services, *, seed: int | None, scope: str | None, dry_run: bool) -> JobReport:
    """Run one cycle, whether it is due or not; see `MemoryStore.dream`.

    Raises:
        UnknownScope: there is no such scope.
        InvalidInput: the dreamer leaves the scope alone.
        ReadOnly: this handle may only read; a dry run is possible.
    """
    return run_dream_job(services, dream_job(seed=seed, scope=scope), dry_run=dry_run)


def run_dream_job(services: Services, job: Job, *, dry_run: bool) -> JobReport:
    """Run a job of the dreamer; an error of what the caller gave is raised.

    Raises:
        InvalidInput: a value cannot be used.
        NotFound: there is no such memory.
        ReadOnly: this handle may only read; a dry run is possible.
    """
    context = JobContext(services, notes=read_notes(services))
    return run_job(job, context, dry_run=dry_run, refusals=(InvalidInput, NotFound))
