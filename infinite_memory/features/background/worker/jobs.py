"""Every job of a store, in the order in which they run."""

from __future__ import annotations

from infinite_memory.features.background.dreamer.job import DREAM
from infinite_memory.features.background.upkeep.job import Job
from infinite_memory.features.background.upkeep.jobs.archive import ARCHIVE
from infinite_memory.features.background.upkeep.jobs.backup import BACKUP
from infinite_memory.features.background.upkeep.jobs.compact import COMPACT
from infinite_memory.features.background.upkeep.jobs.embed import EMBED
from infinite_memory.features.background.upkeep.jobs.fade import FADE
from infinite_memory.features.background.upkeep.jobs.index import INDEX
from infinite_memory.features.background.upkeep.jobs.limit import LIMIT
from infinite_memory.features.background.upkeep.jobs.link_duplicates import LINK_DUPLICATES
from infinite_memory.features.background.upkeep.jobs.retire import RETIRE
from infinite_memory.features.background.upkeep.jobs.summarise import SUMMARISE

JOBS: tuple[Job, ...] = (
    BACKUP,
    EMBED,
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
