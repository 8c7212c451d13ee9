"""Compact the files of the store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan


def _plan(context: JobContext) -> Plan:
    def compact() -> Sequence[str]:
        if context.services.storage.scrub():
            return ("Compacted the files of the store.",)
        return ("The files of the store could not be compacted: another process reads them.",)

    return Plan(work=compact, intends=("Compact the files of the store.",))


COMPACT = Job(
    name="compact",
    summary="Fold the log into the database, and clear the bytes of erased memories.",
    every=timedelta(weeks=1),
    plan=_plan,
    is_heavy=True,
    whole_store=True,
)
