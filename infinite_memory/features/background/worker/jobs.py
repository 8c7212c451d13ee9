"""Every job of a store, in the order in which they run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from infinite_memory.features.background.dreamer.job import DREAM
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan
from infinite_memory.features.background.upkeep.jobs.archive import ARCHIVE
from infinite_memory.features.background.upkeep.jobs.backup import BACKUP
from infinite_memory.features.background.upkeep.jobs.embed import EMBED
from infinite_memory.features.background.upkeep.jobs.fade import FADE
from infinite_memory.features.background.upkeep.jobs.index import INDEX
from infinite_memory.features.background.upkeep.jobs.limit import LIMIT
from infinite_memory.features.background.upkeep.jobs.link_duplicates import LINK_DUPLICATES
from infinite_memory.features.background.upkeep.jobs.pieces import PIECES
from infinite_memory.features.background.upkeep.jobs.retire import RETIRE
from infinite_memory.features.background.upkeep.jobs.summarise import SUMMARISE


def _plan_compaction(context: JobContext) -> Plan:
    def compact() -> Sequence[str]:
        if context.services.storage.scrub():
            return ("Compacted the files of the store.",)
        return ("The files of the store could not be compacted: another process reads them.",)

    return Plan(work=compact, intends=("Compact the files of the store.",))


COMPACT = Job(
    name="compact",
    summary="Fold the log into the database, and clear the bytes of erased memories.",
    every=timedelta(weeks=1),
    plan=_plan_compaction,
    is_heavy=True,
    whole_store=True,
)


JOBS: tuple[Job, ...] = (
    BACKUP,
    EMBED,
    PIECES,
    LINK_DUPLICATES,
    RETIRE,
    SUMMARISE,
    DREAM,
    ARCHIVE,
    FADE,
    LIMIT,
    INDEX,
    COMPACT,
)
"""Every job, in the order in which they run when several are due; the backup comes first."""
