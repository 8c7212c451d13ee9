"""`store.upkeep`: keep the store quick and small, and its old memories summarised."""

from __future__ import annotations

from collections.abc import Sequence

from infinite_memory.model.checks import check_flag, check_labels
from infinite_memory.observe.recorder import measure_calls
from infinite_memory.operations.calls import count_call
from infinite_memory.store.lifetime import Group
from infinite_memory.upkeep.optimize import optimize
from infinite_memory.upkeep.report import UpkeepReport

__all__ = ["Upkeep"]


@measure_calls("upkeep.")
class Upkeep(Group):
    """The upkeep of a store: jobs that archive, summarise, link, back up and compact.

    Nothing that a person stored is deleted or rewritten, unless a rule of the configuration says
    `erase`. Each run of a job is one entry of the journal, and undone as one.
    """

    @count_call
    def optimize(self, *, dry_run: bool = False, jobs: Sequence[str] | None = None) -> UpkeepReport:
        """Run the jobs that are due now, or the named `jobs`, and return what each did.

        A job does a bounded part of its work; the report says if more is left. `dry_run` changes
        nothing and returns what would be done. A handle of some scopes works on those alone.

        Raises:
            InvalidInput: there is no job of that name.
            ReadOnly: this handle may only read; a dry run is possible.
        """
        names = None if jobs is None else check_labels(jobs, "jobs")
        return optimize(self._services, dry_run=check_flag(dry_run, "dry_run"), jobs=names)
