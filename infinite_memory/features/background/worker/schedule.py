"""Which jobs are due, and which of them wait for the quiet hour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, tzinfo

from infinite_memory.core.values.codec import iso
from infinite_memory.features.background.upkeep.job import Job
from infinite_memory.features.background.upkeep.notes import last_run, waiting_note, waiting_since

_LATEST = timedelta(days=1)
"""How long a heavy job waits for a quiet hour, which a machine may sleep through."""


def due_jobs(
    jobs: Iterable[Job], notes: Mapping[str, str], now: datetime, *, quiet: bool
) -> list[Job]:
    """Return the jobs that are due, without heavy ones unless it is `quiet` or they are late.

    A clock that was set back makes a job due: its last run lies in the future.
    """
    return [job for job in jobs if _is_due(job, notes, now, quiet=quiet)]


def notes_of_waiting(
    jobs: Iterable[Job], notes: Mapping[str, str], now: datetime
) -> dict[str, str]:
    """Return new notes that say since when heavy jobs without a last run wait for a quiet hour.

    Without them such a job would never run on a machine that sleeps through every quiet hour.
    """
    found = {}
    for job in jobs:
        since = waiting_since(notes, job.name)
        is_noted = since is not None and since <= now
        if job.is_heavy and _has_never_run(job, notes, now) and not is_noted:
            found[waiting_note(job.name)] = str(iso(now))
    return found


def is_quiet(now: datetime, zone: tzinfo | None, hour: int) -> bool:
    """Return whether `now` is in the quiet hour of the time zone, None for that of the machine."""
    return now.astimezone(zone).hour == hour


def _has_never_run(job: Job, notes: Mapping[str, str], now: datetime) -> bool:
    """Return whether a job never ran, or in a future that a clock has been set back from."""
    ran = last_run(notes, job.name)
    return ran is None or ran > now


def _is_due(job: Job, notes: Mapping[str, str], now: datetime, *, quiet: bool) -> bool:
    ran = last_run(notes, job.name)
    if ran is None or ran > now:
        since = waiting_since(notes, job.name)
        is_late = since is not None and now - since >= _LATEST
        return not job.is_heavy or quiet or is_late
    wait = now - ran
    if not job.is_heavy:
        return wait >= job.every
    # A run may begin anywhere in its quiet hour, and takes some time.
    margin = min(timedelta(hours=2), job.every / 2)
    return wait >= job.every + _LATEST or (quiet and wait >= job.every - margin)
