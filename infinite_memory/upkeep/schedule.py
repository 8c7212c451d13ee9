"""Which jobs are due, and which of them wait for the quiet hour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, tzinfo

from infinite_memory.upkeep.job import Job
from infinite_memory.upkeep.notes import last_run

__all__ = ["due_jobs", "is_quiet"]

_LATEST = timedelta(days=1)
"""How long a heavy job waits for a quiet hour, which a machine may sleep through."""


def due_jobs(
    jobs: Iterable[Job], notes: Mapping[str, str], now: datetime, *, quiet: bool
) -> list[Job]:
    """Return the jobs that are due, without heavy ones unless it is `quiet` or they are late.

    A clock that was set back makes a job due: its last run lies in the future.
    """
    return [job for job in jobs if _is_due(job, last_run(notes, job.name), now, quiet=quiet)]


def is_quiet(now: datetime, zone: tzinfo | None, hour: int) -> bool:
    """Return whether `now` is in the quiet hour of the time zone, None for that of the machine."""
    return now.astimezone(zone).hour == hour


def _is_due(job: Job, ran: datetime | None, now: datetime, *, quiet: bool) -> bool:
    if ran is None:
        return quiet or not job.is_heavy
    if ran > now:
        return quiet or not job.is_heavy
    wait = now - ran
    if not job.is_heavy:
        return wait >= job.every
    # A run may begin anywhere in its quiet hour, and takes some time.
    margin = min(timedelta(hours=2), job.every / 2)
    return wait >= job.every + _LATEST or (quiet and wait >= job.every - margin)
