"""What can be summarised: finished conversations, and months of a scope."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from attrs import frozen

from infinite_memory.model.codec import iso
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.link import Link, LinkType
from infinite_memory.model.memory import Kind, Memory, Origin, Status
from infinite_memory.model.timestamps import in_zone
from infinite_memory.protocols import Storage

__all__ = [
    "MADE_BY",
    "MOST_SOURCES",
    "Material",
    "links_to_sources",
    "load_conversation",
    "load_month",
    "make_summary",
    "next_month",
]

MADE_BY = "upkeep"
"""Who made the links of a summary, as they say it."""

MOST_SOURCES = 500
"""The most memories that one summary is made from; a longer conversation has several."""

_FEWEST_MESSAGES = 4
_FEWEST_CHARS = 400
_FEWEST_OF_MONTH = 12
_ID_DIGITS = 32


@frozen(kw_only=True)
class Material:
    """Memories of one scope to summarise, in the order of time: a conversation, or a month.

    `conversation_id` is None for a month. `is_whole` says that no further memories belong to it.
    """

    scope: str
    sources: tuple[Memory, ...]
    conversation_id: str | None = None
    is_whole: bool = True

    @property
    def summary_id(self) -> str:
        """The id of its summary: equal sources give the same, so that none is made twice."""
        names = [self.scope, self.conversation_id or "", *(memory.id for memory in self.sources)]
        digest = hashlib.sha256("\0".join(names).encode()).hexdigest()
        return f"summary:{digest[:_ID_DIGITS]}"

    @property
    def begins(self) -> datetime:
        """When the first source happened."""
        return self.sources[0].happened_at

    @property
    def ends(self) -> datetime:
        """When the last source happened."""
        return self.sources[-1].happened_at


def load_conversation(storage: Storage, scope: str, conversation_id: str) -> Material | None:
    """Return the current memories of a conversation, None if there is too little of it.

    Of a long conversation the first `MOST_SOURCES` are taken; once they are archived, the rest
    follows.
    """
    criteria = Criteria(
        scopes=frozenset({scope}),
        conversation_id=conversation_id,
        statuses=frozenset({Status.CURRENT}),
    )
    memories = [memory for memory in _read(storage, criteria) if memory.kind is not Kind.SUMMARY]
    sources = memories[:MOST_SOURCES]
    chars = sum(len(memory.text) for memory in sources)
    if len(sources) < _FEWEST_MESSAGES or chars < _FEWEST_CHARS:
        return None
    return Material(
        scope=scope,
        sources=tuple(sources),
        conversation_id=conversation_id,
        is_whole=len(sources) == len(memories),
    )


def load_month(storage: Storage, scope: str, month: datetime) -> Material | None:
    """Return the current memories of a scope in a month of UTC that belong to no conversation.

    None if there is too little. `month` is any moment in it.
    """
    start = month.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    criteria = Criteria(
        scopes=frozenset({scope}),
        since=start,
        until=next_month(start),
        statuses=frozenset({Status.CURRENT}),
    )
    sources = [
        memory
        for memory in _read(storage, criteria)
        if memory.conversation_id is None and memory.kind is not Kind.SUMMARY
    ][:MOST_SOURCES]
    chars = sum(len(memory.text) for memory in sources)
    if len(sources) < _FEWEST_OF_MONTH or chars < _FEWEST_CHARS:
        return None
    return Material(scope=scope, sources=tuple(sources))


def next_month(start: datetime) -> datetime:
    """Return the beginning of the month after the one that begins at `start`."""
    return (start + timedelta(days=31)).replace(day=1)


_PAGE = 1000
_MOST_READ = 5000


def _read(storage: Storage, criteria: Criteria) -> list[Memory]:
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
        title=_title(material, zone),
        scope=material.scope,
        context={
            "period": {"from": iso(material.begins) or "", "to": iso(material.ends) or ""},
            "summarised_by": made_by,
        },
        conversation_id=material.conversation_id,
        origin=origin,
        happened_at=material.ends,
        stored_at=now,
        sources=tuple([memory.id for memory in material.sources]),
    )


def _title(material: Material, zone: str | None) -> str:
    first = in_zone(material.begins, zone).date().isoformat()
    last = in_zone(material.ends, zone).date().isoformat()
    days = first if first == last else f"{first} to {last}"
    return f"Conversation of {days}" if material.conversation_id is not None else f"Notes of {days}"


def links_to_sources(summary: Memory, sources: Sequence[Memory]) -> tuple[Link, ...]:
    """Return a link from the summary to each source, by which the summary of a source is found."""
    return tuple(
        Link(
            source=summary.id,
            target=memory.id,
            type=LinkType.DERIVED_FROM,
            made_by=MADE_BY,
            reason="a source of the summary",
            made_at=summary.stored_at,
        )
        for memory in sources
    )
