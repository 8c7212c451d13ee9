"""Write the snapshot of the index, so that the next process need not read the changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from infinite_memory.core.values.messages import format_count
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan
from infinite_memory.search.index import SearchIndex

_MOST_COUNTED = 1_000_000


def _plan_folding(context: JobContext) -> Plan:
    models = context.services.models
    index = models.answering().index
    if not isinstance(index, SearchIndex) or index.is_spared():
        return Plan()
    behind = index.count_behind(limit=_MOST_COUNTED)
    if not behind:
        return Plan(work=lambda: _save_index(context))
    number = format_count(behind, "changed memory", "changed memories")

    def fold() -> Sequence[str]:
        index.warm_up()
        models.save()
        return (f"Read {number} into the index.",)

    return Plan(work=fold, intends=(f"Read {number} into the index.",))


def _save_index(context: JobContext) -> Sequence[str]:
    context.services.models.save()
    return ()


INDEX = Job(
    name="index",
    summary="Read what has changed into the index, and write its snapshot.",
    every=timedelta(hours=1),
    plan=_plan_folding,
    whole_store=True,
)
