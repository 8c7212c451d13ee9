"""The material of summaries: finished conversations, and months of a scope."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from attrs import frozen

from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Origin, Status, note_lineage
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.features.background.upkeep.summaries.extractive import NAME
from infinite_memory.features.background.upkeep.summaries.writing import describe_period

MOST_SOURCES = 500
"""The most memories that one summary is made from; a longer conversation has several."""

WRITTEN_BY = "summarised_by"
"""The name in the context of a summary for who wrote it; other summaries are never replaced."""

_STATUSES = frozenset({Status.CURRENT, Status.ARCHIVED})

_FEWEST_MESSAGES = 4
_FEWEST_CHARS = 400
_FEWEST_OF_MONTH = 12
_ID_DIGITS = 32


@frozen(kw_only=True)
class Material:
    """Memories of a scope to summarise, in the order of time: a conversation, or a month.

    `conversation_id` is None for a month.
    """

    scope: str
    sources: tuple[Memory, ...]
    conversation_id: str | None = None

    @property
    def summary_id(self) -> str:
        """The id of its summary: equal sources give the same, so that none is made twice."""
        names = [self.scope, self.conversation_id or "", *(memory.id for memory in self.sources)]
        digest = hashlib.sha256("\0".join(names).encode()).hexdigest()
        return f"summary:{digest[:_ID_DIGITS]}"

    @property
    def is_part(self) -> bool:
        """Whether it is long enough, and short enough, for a part of its conversation or month."""
        fewest = _FEWEST_OF_MONTH if self.conversation_id is None else _FEWEST_MESSAGES
        return list(_cut_parts(self.sources, fewest=fewest)) == [self.sources]

    @property
    def begins(self) -> datetime:
        """When the first source happened."""
        return self.sources[0].happened_at

    @property
    def ends(self) -> datetime:
        """When the last source happened."""
        return self.sources[-1].happened_at


def load_conversation(storage: Storage, scope: str, conversation_id: str) -> list[Material]:
    """Return a conversation in parts of at most `MOST_SOURCES` memories, without short parts.

    A part is the same before and after its messages are archived.
    """
    criteria = Criteria(
        scopes=frozenset({scope}), conversation_id=conversation_id, statuses=_STATUSES
    )
    memories = [
        memory
        for memory in _read_memories(storage, criteria)
        if memory.kind is not Kind.SUMMARY and not memory.is_inferred
    ]
    return [
        Material(scope=scope, sources=part, conversation_id=conversation_id)
        for part in _cut_parts(memories, fewest=_FEWEST_MESSAGES)
    ]


def load_month(storage: Storage, scope: str, month: datetime) -> list[Material]:
    """Return the memories of a scope in a month of UTC that belong to no conversation, in parts.

    `month` is any moment in it. The parts are as in `load_conversation`.
    """
    start = month_of(month)
    criteria = Criteria(
        scopes=frozenset({scope}), since=start, until=next_month(start), statuses=_STATUSES
    )
    memories = [
        memory
        for memory in _read_memories(storage, criteria)
        if memory.conversation_id is None and memory.kind is not Kind.SUMMARY
    ]
    return [
        Material(scope=scope, sources=part)
        for part in _cut_parts(memories, fewest=_FEWEST_OF_MONTH)
    ]


def _cut_parts(memories: Sequence[Memory], *, fewest: int) -> Iterator[tuple[Memory, ...]]:
    for start in range(0, len(memories), MOST_SOURCES):
        part = tuple(memories[start : start + MOST_SOURCES])
        if len(part) >= fewest and sum(len(memory.text) for memory in part) >= _FEWEST_CHARS:
            yield part


def month_of(moment: datetime) -> datetime:
    """Return the beginning of the month of UTC that holds a moment."""
    utc = moment.astimezone(UTC)
    return utc.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def next_month(start: datetime) -> datetime:
    """Return the beginning of the month after the month that begins at `start`."""
    return (start + timedelta(days=31)).replace(day=1)


_PAGE = 1000
_MOST_READ = 5000


def find_summaries(storage: Storage, material: Material) -> list[Memory]:
    """Return the current summaries, written by the upkeep or for it, that share a source.

    All are in the scope of the material.
    """
    month = month_of(material.begins)
    is_month = material.conversation_id is None
    criteria = Criteria(
        scopes=frozenset({material.scope}),
        kinds=frozenset({Kind.SUMMARY}),
        conversation_id=material.conversation_id,
        since=month if is_month else None,
        until=next_month(month) if is_month else None,
        statuses=frozenset({Status.CURRENT}),
    )
    ids = {memory.id for memory in material.sources}
    return [
        summary
        for summary in _read_memories(storage, criteria)
        if WRITTEN_BY in summary.context and not ids.isdisjoint(summary.sources)
    ]


def _read_memories(storage: Storage, criteria: Criteria) -> list[Memory]:
    """Return the memories that meet `criteria`, oldest first, of very many the newest."""
    memories: list[Memory] = []
    after: str | None = None
    while len(memories) < _MOST_READ:
        page = storage.find(criteria, limit=_PAGE, after=after)
        memories += page.memories
        after = page.next
        if after is None:
            break
    return memories[::-1]


def make_summary(
    material: Material,
    text: str,
    *,
    made_by: str,
    origin: Origin,
    now: datetime,
    zone: str | None,
    memory_id: str | None = None,
) -> Memory:
    """Return the summary as a memory in the scope of its sources; `made_by` names who wrote it."""
    return Memory(
        id=material.summary_id if memory_id is None else memory_id,
        text=text,
        kind=Kind.SUMMARY,
        title=_make_title(material, zone, is_excerpt=made_by == NAME),
        scope=material.scope,
        context={
            "period": describe_period(material.sources),
            WRITTEN_BY: made_by,
            **note_lineage(material.sources),
        },
        conversation_id=material.conversation_id,
        origin=origin,
        happened_at=material.ends,
        stored_at=now,
        sources=tuple([memory.id for memory in material.sources]),
    )


def _make_title(material: Material, zone: str | None, *, is_excerpt: bool) -> str:
    first = in_zone(material.begins, zone).date().isoformat()
    last = in_zone(material.ends, zone).date().isoformat()
    days = first if first == last else f"{first} to {last}"
    subject = "conversation" if material.conversation_id is not None else "notes"
    return f"{subject.capitalize()} of {days}{', in excerpts' if is_excerpt else ''}"
