"""The jobs, a file each; a new job is a file here and its name in `JOBS`."""

from __future__ import annotations

from infinite_memory.upkeep.job import Job
from infinite_memory.upkeep.jobs.embed import EMBED

__all__ = ["JOBS"]

JOBS: tuple[Job, ...] = (EMBED,)
"""Every job, in the order in which they run when several are due."""
