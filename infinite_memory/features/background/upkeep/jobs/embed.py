"""Embed the memories that are found by their words alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from infinite_memory.core.values.messages import format_count
from infinite_memory.engine.embed import catch_up
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan

_MOST = 1000


def _plan_embedding(context: JobContext) -> Plan:
    services = context.services
    model = services.models.configured.embedder.model
    number = len(services.storage.pending(model, limit=_MOST))
    if not number:
        return Plan()

    def embed() -> Sequence[str]:
        done = catch_up(services, limit=_MOST, stop=context.stop)
        return (f"Embedded {format_count(done, 'memory', 'memories')}.",) if done else ()

    intends = f"Embed {format_count(number, 'memory', 'memories')}."
    return Plan(work=embed, intends=(intends,), more=number == _MOST)


EMBED = Job(
    name="embed",
    summary="Embed the memories that are found by their words alone.",
    every=timedelta(minutes=5),
    plan=_plan_embedding,
)
