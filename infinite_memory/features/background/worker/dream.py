"""Dream: run a cycle of the dreamer when somebody asks for it."""

from __future__ import annotations

from infinite_memory.core.errors import Conflict, InvalidInput, NotFound
from infinite_memory.engine.services import Services
from infinite_memory.features.background.dreamer.job import dream_job
from infinite_memory.features.background.dreamer.verdicts import Verdicts, verdicts_job
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.notes import read_notes
from infinite_memory.features.background.upkeep.report import JobReport
from infinite_memory.features.background.worker.run import run_job


def dream(services: Services, *, seed: int | None, scope: str | None, dry_run: bool) -> JobReport:
    """Run one cycle, whether it is due or not; see `MemoryStore.dream`.

    Raises:
        UnknownScope: there is no such scope.
        InvalidInput: the dreamer leaves the scope alone.
        ReadOnly: this handle may only read; a dry run is possible.
    """
    job = dream_job(seed=seed, scope=scope)
    context = JobContext(services, notes=read_notes(services))
    return run_job(job, context, dry_run=dry_run, refusals=(InvalidInput,))


def accept(services: Services, verdicts: Verdicts) -> JobReport:
    """Store the verdicts of an assistant as a cycle; see `Dreams.accept`.

    Raises:
        InvalidInput: the memories are in several scopes, or cannot be linked or summarised.
        NotFound: there is no such memory.
        Conflict: somebody forgot or changed the summary of the same memories, or others kept
            changing them.
    """
    context = JobContext(services, notes=read_notes(services))
    refusals = (InvalidInput, NotFound, Conflict)
    return run_job(verdicts_job(verdicts), context, dry_run=False, refusals=refusals)
