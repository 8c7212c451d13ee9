"""`store.upkeep`: keep the store quick and small, and its old memories summarised."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from infinite_memory.core.observe.recorder import measure_calls
from infinite_memory.core.values.checks import check_count, check_flag, check_labels
from infinite_memory.core.values.receipt import Receipt
from infinite_memory.engine.calls import count_call
from infinite_memory.features.background.upkeep.report import UpkeepReport
from infinite_memory.features.background.upkeep.summaries.storing import store_summary
from infinite_memory.features.background.upkeep.summaries.wanted import WantedSummary, find_wanted
from infinite_memory.features.background.worker.optimize import optimize
from infinite_memory.features.background.worker.worker import OnReport, Worker
from infinite_memory.store.lifetime import Group


@measure_calls("upkeep.", without=("work", "work_once"))
class Upkeep(Group):
    """The upkeep of a store: jobs that archive, summarise, link, back up and compact.

    Nothing that a person stored is deleted or rewritten, unless a rule of the configuration says
    `erase`. A run of a job is a single entry of the journal, and has a single undo;
    of "pieces" each piece of work is.
    """

    @count_call
    def optimize(self, *, dry_run: bool = False, jobs: Sequence[str] | None = None) -> UpkeepReport:
        """Run the jobs that are due now, or the named `jobs`, and return their reports.

        A job does a bounded part of its work; the report says if more is left. `dry_run` changes
        nothing and returns the same report. A handle of some scopes works on them alone.

        Raises:
            InvalidInput: there is no job of that name.
            ReadOnly: this handle may only read; a dry run is possible.
        """
        names = None if jobs is None else check_labels(jobs, "jobs")
        return optimize(self._services, dry_run=check_flag(dry_run, "dry_run"), jobs=names)

    @count_call
    def summaries_wanted(
        self, *, limit: int = 3, max_chars: int = 12_000
    ) -> tuple[WantedSummary, ...]:
        """Return at most `limit` finished conversations and months to be summarised, newest first.

        Those without a summary come first, then those that only the built-in summariser has
        summarised. Their texts have at most `max_chars` characters together; they are data, which
        others told. Store what you write with `store_summary`.

        Raises:
            InvalidInput: a value cannot be used.
        """
        return find_wanted(
            self._services,
            limit=check_count(limit, "limit", low=1, high=20),
            max_chars=check_count(max_chars, "max_chars", low=500, high=1_000_000),
        )

    @count_call
    def store_summary(
        self, text: str, *, sources: Sequence[str], title: str | None = None
    ) -> Receipt:
        """Store a summary of the memories `sources`, all of a single scope, in that scope.

        It replaces the summaries of the upkeep that have no further sources: they become
        superseded, and are named by `superseded` of the receipt. If `sources` are all of a finished
        conversation, its messages are archived, as the upkeep would. It is one change, and undone
        as one. The same text of the same sources is stored once.

        Raises:
            InvalidInput: a value cannot be used, or the sources are in several scopes, forgotten,
                or summaries.
            NotFound: a source does not exist.
            Conflict: other clients kept changing the sources.
        """
        return store_summary(self._services, text, sources=sources, title=title)

    def work(self, stop: threading.Event, *, on_report: OnReport | None = None) -> None:
        """Do the upkeep in this thread until `stop` is set, at low priority.

        Of all processes that have the store open, the holder of the lease does it; the rest
        wait for the lease. Jobs make way for calls in this process, and end within a second of
        `stop`. `on_report` is called with the report of a run that did something.

        Raises:
            AccessDenied: this handle does not show the whole store, or may only read.
            InvalidInput: the storage, which was plugged in, gives no lease.
        """
        Worker(self._services, stop, on_report=on_report).run()

    def work_once(
        self, stop: threading.Event | None = None, *, on_report: OnReport | None = None
    ) -> UpkeepReport | None:
        """Do what is due once, as the worker does; return None if another process is the worker.

        Heavy jobs wait for the quiet hour. `stop` ends the work within a second once it is set.
        `on_report` is called with the report of a run that did something.

        Raises:
            AccessDenied: this handle does not show the whole store, or may only read.
            InvalidInput: the storage, which was plugged in, gives no lease.
            StorageError: the store cannot be used.
        """
        worker = Worker(self._services, stop or threading.Event(), on_report=on_report)
        reports = worker.run_once()
        return None if reports is None else UpkeepReport(dry_run=False, jobs=tuple(reports))
