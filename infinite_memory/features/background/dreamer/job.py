"""The job of the dreamer: a run is a cycle on one scope, and one entry of the journal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from itertools import islice
from random import Random

from attrs import evolve

from infinite_memory.core.protocols import Storage, SupportsLease
from infinite_memory.core.values.entry import Operation
from infinite_memory.engine.journal import iter_sound_entries
from infinite_memory.features.background.dreamer.cycle import DreamCycle
from infinite_memory.features.background.dreamer.pairs.choose_judge import choose_judge
from infinite_memory.features.background.dreamer.pairs.linking import plan_links
from infinite_memory.features.background.dreamer.pairs.rejections import read_rejected
from infinite_memory.features.background.dreamer.pairs.sampling import sample_pairs
from infinite_memory.features.background.dreamer.scopes import check_scope, choose_scope
from infinite_memory.features.background.dreamer.topics.planning import plan_topics
from infinite_memory.features.background.dreamer.view import CycleView
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import Job, Plan
from infinite_memory.features.background.upkeep.summaries.choice import choose_summariser
from infinite_memory.search.text.quotation import quote_label

_MOST_ENTRIES = 5000
_CYCLES_NOTE = "dream/cycles"
"""The note with the number of the cycles so far, the seed of the next one."""

_PAIRS_SECONDS, _TOPICS_SECONDS = 3.0, 2.0
"""How long a cycle looks for pairs, and then for groups, in seconds. A model judges in between."""


def dream_job(*, seed: int | None = None, scope: str | None = None) -> Job:
    """Return the job that runs one cycle; see `MemoryStore.dream` for `seed` and `scope`."""
    return evolve(DREAM, plan=partial(_plan, seed=seed, scope=scope))


def _plan(context: JobContext, *, seed: int | None = None, scope: str | None = None) -> Plan:
    services = context.services
    number = _count_cycles(context.notes)
    notes = {_CYCLES_NOTE: str(number + 1)}
    if seed is None:
        # A handle of some scopes keeps no notes: what it sees of the journal leads it on.
        has_notes = isinstance(services.storage, SupportsLease)
        seed = number if has_notes else _count_entries(services.storage)
    random = Random(seed)
    chosen = choose_scope(context, random) if scope is None else check_scope(context, scope)
    if chosen is None:
        return Plan(notes=notes)
    view = CycleView(context=context, scope=chosen, random=random)
    judge = choose_judge(services.config, context.stop, given=services.judge)
    summariser = choose_summariser(services.config, context.stop, given=services.summariser)
    rejected = read_rejected(services.storage, context.notes)
    sampled = sample_pairs(_with_seconds(view, _PAIRS_SECONDS))
    links = plan_links(view, sampled.pairs, judge, rejected=rejected)
    linked = [*links.new, *links.strengthened]
    topics = plan_topics(_with_seconds(view, _TOPICS_SECONDS), linked, summariser)
    if context.stop():
        return Plan(more=True)
    cycle = DreamCycle(view=view, links=links, topics=topics)
    return Plan(
        steps=list(cycle.steps()),
        commit=cycle.commit(),
        recheck=cycle.recheck,
        committed_steps=lambda: list(cycle.steps()),
        work=cycle.finish,
        notes={**notes, **rejected.notes, **sampled.notes, **topics.notes},
        reason=(
            f"{cycle.describe()}, judged by {quote_label(judge.name)}, summarised by"
            f" {quote_label(summariser.name)}, seed {seed}"
        ),
    )


def _count_entries(storage: Storage) -> int:
    return sum(1 for _ in islice(iter_sound_entries(storage), _MOST_ENTRIES))


def _with_seconds(view: CycleView, seconds: float) -> CycleView:
    """Return the view with a deadline, and with the same numbers at random."""
    return evolve(view, deadline=time.monotonic() + seconds)


def _count_cycles(notes: Mapping[str, str]) -> int:
    note = notes.get(_CYCLES_NOTE, "")
    return int(note) if note.isdecimal() and len(note) < 19 else 0


DREAM = Job(
    name="dream",
    summary="Link memories that belong together, and write summaries of topics.",
    every=timedelta(minutes=30),
    plan=_plan,
    operation=Operation.DREAM,
)
