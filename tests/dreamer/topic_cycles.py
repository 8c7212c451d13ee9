"""Cycles of topics alone, on links that a test makes by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from random import Random

from infinite_memory import Memory, MemoryStore, Status
from infinite_memory.core.errors import SummariserError
from infinite_memory.core.protocols import Summariser
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Operation
from infinite_memory.core.values.memory import Kind
from infinite_memory.engine.embed import embed_new
from infinite_memory.engine.journal import with_entry
from infinite_memory.features.background.dreamer.topics.planning import TopicPlan, plan_topics
from infinite_memory.features.background.dreamer.view import CycleView
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.summaries.extractive import ExtractiveSummariser

TEXTS = {
    "ferry": "The ferry to Lyon leaves on June {number}, we decided to take cabin {number}.",
    "garden": "Garden: the tomatoes of bed {number} need {number} litres of water on Sunday.",
    "kiln": "The pottery kiln reached {number}00 degrees, glaze number {number} cracked.",
}


class BrokenSummariser:
    """A summariser that fails, as one behind an endpoint does."""

    name = "broken"

    def summarise(self, sources: Sequence[Memory], *, max_chars: int) -> str:
        raise SummariserError(f"no answer for {len(sources)} memories in {max_chars} characters")


class Cycles:
    """Runs the cycles of a scope, one after the other, with the notes that they leave."""

    def __init__(self, store: MemoryStore, scope: str = "Global") -> None:
        self._store = store
        self._scope = scope
        self.notes: dict[str, str] = {}
        self.number = 0

    def plan(self, summariser: Summariser | None = None) -> TopicPlan:
        """Plan a cycle, and store nothing."""
        return plan_topics(self.view(), [], summariser or ExtractiveSummariser(zone="UTC"))

    def run(self, summariser: Summariser | None = None) -> TopicPlan:
        """Plan a cycle and store it as an entry of the journal."""
        plan = self.plan(summariser)
        self.store(plan)
        self.notes |= plan.notes
        self.number += 1
        return plan

    def store(self, plan: TopicPlan) -> None:
        services = self._store._services
        commit = Commit(puts=plan.puts, links=plan.links, erased_links=plan.erased_links)
        known = services.storage.links([put.memory.id for put in plan.puts])
        if plan.puts:
            services.storage.commit(with_entry(services, Operation.DREAM, commit, links=known))
            embed_new(services, [put.memory for put in plan.puts])

    def view(self) -> CycleView:
        return CycleView(
            context=JobContext(self._store._services, notes=self.notes),
            scope=self._scope,
            random=Random(self.number),
        )


def tell(store: MemoryStore, subject: str, count: int = 4, **fields: object) -> list[str]:
    """Store memories of a subject; return their ids, which begin with the subject."""
    return [
        store.remember(
            TEXTS[subject].format(number=number), id=f"{subject}-{number}", similar=False, **fields
        ).id
        for number in range(1, count + 1)
    ]


def link_all(store: MemoryStore, ids: Iterable[str], weight: float = 0.8) -> None:
    """Link each two of the memories."""
    for earlier, later in combinations(ids, 2):
        store.graph.link(later, earlier, weight=weight)


def topics_of(store: MemoryStore, *statuses: Status) -> list[Memory]:
    """Return the topic summaries with these statuses, by default the current ones."""
    criteria = Criteria(
        kinds=frozenset({Kind.SUMMARY}), statuses=frozenset(statuses or {Status.CURRENT})
    )
    found = store._services.storage.find(criteria, limit=100).memories
    return sorted((memory for memory in found if memory.is_dreamed), key=lambda topic: topic.id)
