"""Link near-duplicates, which are never merged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from infinite_memory.core.errors import NotFound
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.link import Link, LinkType
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.features.background.upkeep.job import MADE_BY, MAX_CHANGES, Job, Plan
from infinite_memory.features.background.upkeep.report import StepAction, UpkeepStep
from infinite_memory.search.text.analyzer import words
from infinite_memory.search.text.highlights import is_dense_script

_MOST_READ = 500
_NEAREST = 3
_NOTE = "link-duplicates/position"


LOWEST_COSINE = 0.97
_FEWEST_WORDS = 4
_FEWEST_DENSE_CHARS = 8
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def is_long_enough(text: str) -> bool:
    """Return whether a text says enough to be compared: "Thanks!" is no duplicate of "Thanks!"."""
    if is_dense_script(text):
        return len(text.strip()) >= _FEWEST_DENSE_CHARS
    return len(words(text)) >= _FEWEST_WORDS


def are_near_duplicates(first: str, second: str, cosine: float) -> bool:
    """Return whether two texts are near in meaning and have the same numbers in the same order."""
    return cosine >= LOWEST_COSINE and _NUMBER.findall(first) == _NUMBER.findall(second)


def _plan_links(context: JobContext) -> Plan:
    services = context.services
    changes = services.storage.changes(_find_begin(context), limit=_MOST_READ, models=())
    changed = [change.record.memory for change in changes.items if change.record is not None]
    links: dict[frozenset[str], tuple[Link, Memory]] = {}
    for memory in filter(lambda memory: _is_candidate(context, memory), changed):
        if context.stop():
            return Plan()
        for link in _make_links(context, memory):
            links.setdefault(frozenset({link.source, link.target}), (link, memory))
    present = _find_present_pairs(context, links)
    new = [pair for ids, pair in links.items() if ids not in present][:MAX_CHANGES]
    is_end = len(changes.items) < _MOST_READ
    return Plan(
        steps=[_make_step(link, memory) for link, memory in new],
        commit=Commit(links=tuple([link for link, _ in new])),
        notes={_NOTE: str(changes.cursor)},
        more=not is_end,
    )


def _find_begin(context: JobContext) -> int:
    note = context.notes.get(_NOTE, "")
    position = int(note) if note.isdecimal() and len(note) < 19 else 0
    # A store that was replaced may have a shorter feed.
    return min(position, context.services.storage.position())


def _is_candidate(context: JobContext, memory: Memory) -> bool:
    return (
        memory.status is Status.CURRENT
        and memory.scope in context.scopes
        and not memory.is_dreamed
        and is_long_enough(memory.text)
    )


def _make_links(context: JobContext, memory: Memory) -> Iterator[Link]:
    """Yield the links of a memory to near-duplicates in its scope, from later to earlier ones."""
    services = context.services
    criteria = Criteria(
        scopes=frozenset({memory.scope}),
        statuses=frozenset({Status.CURRENT}),
        topic_summaries=False,
    )
    try:
        nearest = services.index.nearest(memory.id, criteria, limit=_NEAREST)
    except NotFound:
        return  # erased meanwhile
    others = load_memories(services, [memory_id for memory_id, _ in nearest])
    for memory_id, cosine in nearest:
        other = others.get(memory_id)
        # The scope again: the index may have read it before the memory was moved.
        if other is None or other.scope != memory.scope:
            continue
        if not are_near_duplicates(memory.text, other.text, cosine):
            continue
        earlier, later = sorted((memory, other), key=lambda m: (m.happened_at, m.id))
        yield Link(
            source=later.id,
            target=earlier.id,
            type=LinkType.NEAR_DUPLICATE_OF,
            weight=min(1.0, round(cosine, 4)),
            made_by=MADE_BY,
            reason=f"a cosine of {cosine:.3f} and the same numbers",
            made_at=context.now,
        )


def _find_present_pairs(
    context: JobContext, links: dict[frozenset[str], tuple[Link, Memory]]
) -> set[frozenset[str]]:
    """Return the pairs that are linked as near-duplicates already, in either direction."""
    ids = {memory_id for pair in links for memory_id in pair}
    return {
        frozenset({link.source, link.target})
        for link in context.services.storage.links(ids)
        if link.type is LinkType.NEAR_DUPLICATE_OF
    }


def _make_step(link: Link, memory: Memory) -> UpkeepStep:
    other = link.target if link.source == memory.id else link.source
    return UpkeepStep(
        action=StepAction.LINK,
        memory_id=memory.id,
        scope=memory.scope,
        heading=memory.heading,
        reason=link.reason,
        other=other,
    )


LINK_DUPLICATES = Job(
    name="link-duplicates",
    summary="Link memories that say nearly the same; none is merged.",
    every=timedelta(minutes=15),
    plan=_plan_links,
)
