"""List the conversations of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from statistics import fmean

from attrs import define, evolve, field

from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.record import Usage
from infinite_memory.engine.load_memories import iterate_memories
from infinite_memory.engine.retrieval.search_request import build_criteria
from infinite_memory.engine.scopes import ALL
from infinite_memory.engine.services import Services
from infinite_memory.features.chats.log.values import Conversation, ConversationTerm
from infinite_memory.features.chats.short_term.entry import is_short_term

_MOST_READ = 10_000


def list_conversations(
    services: Services, *, scope: str | None, limit: int
) -> tuple[Conversation, ...]:
    """Return conversations, the latest first; see `Conversations.list`."""
    check_count(limit, "limit", low=1, high=1000)
    criteria = build_criteria(
        services, "", {"scope": ALL if scope is None else scope, "inherited": "none"}
    )
    criteria = evolve(criteria, tense=None, unended_at=None)
    conversations: dict[tuple[str, str], _Conversation] = {}
    for memory in islice(iterate_memories(services, criteria), _MOST_READ):
        if memory.conversation_id is not None:
            place = memory.scope, memory.conversation_id
            conversations.setdefault(place, _Conversation(memory)).add(memory)
    shown = list(islice(conversations.values(), limit))
    ids = [memory.id for conversation in shown for memory in conversation.kept]
    usage = services.followers.usage.read(ids)
    return tuple(conversation.freeze(usage) for conversation in shown)


@define
class _Conversation:
    """The memories of a conversation in a scope, newest first."""

    latest: Memory
    messages: list[Memory] = field(factory=list)
    short_term: list[Memory] = field(factory=list)
    long_term: list[Memory] = field(factory=list)
    first: Memory | None = None

    @property
    def kept(self) -> list[Memory]:
        """The memories of both terms."""
        return [*self.short_term, *self.long_term]

    def add(self, memory: Memory) -> None:
        """Add an older memory of the conversation."""
        self.first = memory
        if memory.kind is Kind.MESSAGE:
            self.messages.append(memory)
        elif memory.kind is Kind.REMINDER:
            self.long_term.append(memory)
        elif is_short_term(memory):
            self.short_term.append(memory)

    def freeze(self, usage: Mapping[str, Usage]) -> Conversation:
        """Return the conversation for the list; `usage` has the activations."""
        return Conversation(
            id=str(self.latest.conversation_id),
            scope=self.latest.scope,
            messages=len(self.messages),
            short_term=_describe_term(self.short_term, usage),
            long_term=_describe_term(self.long_term, usage),
            first=(self.first or self.latest).happened_at,
            last=self.latest.happened_at,
            heading=next(self._list_headings(), self.latest.heading),
        )

    def _list_headings(self) -> Iterator[str]:
        """Yield the beginnings of the messages that say something, latest first."""
        return (memory.heading for memory in self.messages if memory.is_indexed)


def _describe_term(memories: list[Memory], usage: Mapping[str, Usage]) -> ConversationTerm:
    scores = [usage[memory.id].activation if memory.id in usage else 0.0 for memory in memories]
    return ConversationTerm(
        count=len(memories),
        updated=sum(memory.revision > 1 for memory in memories),
        mean_score=round(fmean(scores), 2) if scores else 0.0,
    )
