"""A short-term memory as its memory holds it, and the short-term memories of a conversation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from operator import attrgetter

from attrs import evolve, field, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.criteria import Conditions
from infinite_memory.core.values.memory import JsonValue, Kind, Memory
from infinite_memory.engine.kind_follower import KindFollower
from infinite_memory.engine.retrieval.search_request import build_criteria
from infinite_memory.engine.services import Services
from infinite_memory.features.chats.short_term.choosing import Candidate

KIND = Kind.DISCUSSION
"""The kind of the memories that hold short-term memories."""

_FIELD = "short_term"
_MOST_WEIGHT = 10_000


@frozen(kw_only=True)
class ShortTermEntry(PlainData):
    """A short-term memory: its memory, and the weights of its keywords, greatest first."""

    memory: Memory
    keywords: Mapping[str, float] = field(factory=dict)

    @cached_property
    def candidate(self) -> Candidate:
        """The memory as the choice sees it before it ever came up; kept with it."""
        memory = self.memory
        return Candidate(id=memory.id, happened_at=memory.happened_at, keywords=self.keywords)


def short_term_context(keywords: Mapping[str, float]) -> dict[str, JsonValue]:
    """Return what the context of a memory holds of its keywords."""
    return {_FIELD: {"keywords": dict(keywords)}}


def is_short_term(memory: Memory) -> bool:
    """Return whether a memory is a short-term memory."""
    return read_entry(memory) is not None


def read_entry(memory: Memory) -> ShortTermEntry | None:
    """Return the short-term memory that a memory holds, None if it holds none.

    An import may bring any context: a keyword without a usable weight is left out.
    """
    payload = memory.context.get(_FIELD)
    if memory.kind is not KIND or memory.conversation_id is None or not isinstance(payload, dict):
        return None
    weights = payload.get("keywords")
    keywords = {
        word: float(weight)
        for word, weight in (weights.items() if isinstance(weights, dict) else ())
        if isinstance(weight, int | float) and 0 <= weight <= _MOST_WEIGHT
    }
    return ShortTermEntry(memory=memory, keywords=keywords)


def entries_of(
    services: Services,
    conversation_id: str | None,
    scope: str | Iterable[str] | None,
    *,
    without: str | None = None,
) -> list[ShortTermEntry]:
    """Return the current short-term memories of a conversation, or of all, oldest first.

    Without `scope` they are those in the scopes that a search of the conversation reads. The ones
    of the conversation `without` are left out.

    Raises:
        UnknownScope: there is no such scope.
    """
    conditions: Conditions = {"scope": scope, "conversation_id": conversation_id}
    scopes = build_criteria(services, "", conditions).scopes
    entries = [
        entry
        for entry in all_entries(services)
        if conversation_id in (None, entry.memory.conversation_id)
        and entry.memory.conversation_id != without
        and (scopes is None or entry.memory.scope in scopes)
    ]
    # Two sorts by what is there, as a tuple of each of thousands takes longer.
    entries.sort(key=attrgetter("memory.id"))
    entries.sort(key=attrgetter("memory.happened_at"))
    return entries


def all_entries(services: Services) -> Collection[ShortTermEntry]:
    """Return the current short-term memories of every conversation and scope of this handle."""
    follower: KindFollower[ShortTermEntry] = services.followers.get(
        _FIELD, lambda: KindFollower(services.storage, {KIND}, read_entry)
    )
    return follower.read().values()


def candidates_of(services: Services, entries: list[ShortTermEntry]) -> list[Candidate]:
    """Return the entries as candidates, with their activations as they are stored now."""
    usage = services.followers.usage.read([entry.memory.id for entry in entries])
    return [
        evolve(entry.candidate, activation=used.activation)
        if (used := usage.get(entry.memory.id)) and used.activation
        else entry.candidate
        for entry in entries
    ]
