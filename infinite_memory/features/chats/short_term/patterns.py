"""Statistics of the memories of a conversation, and what recurs in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import fmean

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.conversation.message import check_conversation_id
from infinite_memory.core.values.memory import Kind, Memory
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.engine.scopes import ALL
from infinite_memory.engine.services import Services
from infinite_memory.features.chats.log.reading import follow_conversation
from infinite_memory.features.chats.short_term.choosing import Candidate
from infinite_memory.features.chats.short_term.entry import (
    ShortTermEntry,
    candidates_of,
    entries_of,
)
from infinite_memory.features.chats.short_term.relevance import time_penalty
from infinite_memory.features.chats.short_term.spelling import spell_keywords

_DIGITS = 4


@frozen(kw_only=True)
class TermStats(PlainData):
    """Memories of a term: how many there are, of which time, and how active they are.

    `updated` counts those that were changed since they were stored. Activations are those that
    searches have added, before the penalty of time; `mean_penalty` is that penalty in the mean.
    """

    count: int
    updated: int
    oldest: datetime | None
    newest: datetime | None
    mean_activation: float
    greatest_activation: float
    least_activation: float
    mean_penalty: float


@frozen(kw_only=True)
class ConversationStats(PlainData):
    """The numbers of a conversation: its log, and its short-term and long-term memories.

    `trivial` of the messages say nothing, and no search finds them.
    """

    conversation_id: str
    at: datetime
    messages: int
    trivial: int
    speakers: Mapping[str, int]
    short_term: TermStats
    long_term: TermStats


@frozen(kw_only=True)
class KeywordCount(PlainData):
    """A keyword as it is written, in how many memories it is one, and its mean weight there."""

    word: str
    memories: int
    mean_weight: float


@frozen(kw_only=True)
class MemoryPatterns(PlainData):
    """What recurs in the short-term and long-term memories of a conversation.

    `by_hour`, `by_weekday` (Monday is "1") and `by_month` count them by local time. `most_recalled`
    are the memories with the greatest activation, greatest first.
    """

    conversation_id: str
    at: datetime
    short_term: int
    long_term: int
    keywords: tuple[KeywordCount, ...]
    by_hour: Mapping[str, int]
    by_weekday: Mapping[str, int]
    by_month: Mapping[str, int]
    most_recalled: tuple[Memory, ...]


def conversation_stats(
    services: Services, conversation_id: str, *, scope: str | None
) -> ConversationStats:
    """Return the numbers of a conversation; see `Conversations.stats`."""
    conversation_id = check_conversation_id(conversation_id)
    messages = follow_conversation(services, conversation_id, scope, Kind.MESSAGE, _name_speaker)
    entries = entries_of(services, conversation_id, scope)
    reminders = follow_conversation(
        services, conversation_id, scope, Kind.REMINDER, lambda memory: memory
    )
    return ConversationStats(
        conversation_id=conversation_id,
        at=services.clock(),
        messages=len(messages),
        trivial=sum(not is_indexed for _, is_indexed in messages),
        speakers=dict(Counter(speaker for speaker, _ in messages).most_common()),
        short_term=_count_term(services, [entry.memory for entry in entries]),
        long_term=_count_term(services, reminders),
    )


def analyze_patterns(
    services: Services, conversation_id: str, *, scope: str | None, top_keywords: int
) -> MemoryPatterns:
    """Return what recurs in a conversation; see `Conversations.analyze_patterns`."""
    conversation_id = check_conversation_id(conversation_id)
    check_count(top_keywords, "top_keywords", low=1, high=1000)
    entries = entries_of(services, conversation_id, scope)
    reminders = follow_conversation(
        services, conversation_id, scope, Kind.REMINDER, lambda memory: memory
    )
    memories = [*(entry.memory for entry in entries), *reminders]
    zone = services.config.time_zone
    moments = [in_zone(memory.happened_at, zone) for memory in memories]
    candidates = candidates_of(services, entries)
    active = sorted((c for c in candidates if c.activation > 0), key=_order_by_activation)
    by_id = {entry.memory.id: entry.memory for entry in entries}
    return MemoryPatterns(
        conversation_id=conversation_id,
        at=services.clock(),
        short_term=len(entries),
        long_term=len(reminders),
        keywords=tuple(_count_keywords(entries, top_keywords)),
        by_hour=_count_values(f"{moment.hour:02}" for moment in moments),
        by_weekday=_count_values(str(moment.isoweekday()) for moment in moments),
        by_month=_count_values(f"{moment:%Y-%m}" for moment in moments),
        most_recalled=tuple([by_id[candidate.id] for candidate in active[:5]]),
    )


def find_frequent_conversation(services: Services, *, scope: str | None) -> tuple[str, int] | None:
    """Return the conversation with most short-term memories, and their number, None without any.

    Without `scope` those of every open scope count.
    Of equal numbers the conversation with the latest memory comes first.
    """
    entries = entries_of(services, None, ALL if scope is None else scope)
    # Oldest first, and a counter keeps the order of equal counts: so count the latest first.
    counts = Counter(str(entry.memory.conversation_id) for entry in reversed(entries))
    return counts.most_common(1)[0] if counts else None


def _name_speaker(message: Memory) -> tuple[str, bool]:
    return message.speaker or "", message.is_indexed


def _count_term(services: Services, memories: Sequence[Memory]) -> TermStats:
    now, constants = services.clock(), services.config.short_term
    usage = services.followers.usage.read([memory.id for memory in memories])
    activations = [used.activation for used in usage.values()]
    activations += [0.0] * (len(memories) - len(usage))
    penalties = [time_penalty(memory.happened_at, now, constants) for memory in memories]
    moments = [memory.happened_at for memory in memories]
    return TermStats(
        count=len(memories),
        updated=sum(memory.revision > 1 for memory in memories),
        oldest=min(moments, default=None),
        newest=max(moments, default=None),
        mean_activation=round(fmean(activations), _DIGITS) if activations else 0.0,
        greatest_activation=max(activations, default=0.0),
        least_activation=min(activations, default=0.0),
        mean_penalty=round(fmean(penalties), _DIGITS) if penalties else 0.0,
    )


def _count_keywords(entries: Sequence[ShortTermEntry], limit: int) -> Iterable[KeywordCount]:
    weights: dict[str, list[float]] = {}
    texts: dict[str, str] = {}
    for entry in entries:
        for word, weight in entry.keywords.items():
            weights.setdefault(word, []).append(weight)
            texts.setdefault(word, entry.memory.text)
    ranked = sorted(weights.items(), key=lambda pair: (-len(pair[1]), -sum(pair[1]), pair[0]))
    for word, of_word in ranked[:limit]:
        yield KeywordCount(
            word=spell_keywords([word], texts[word])[0],
            memories=len(of_word),
            mean_weight=round(fmean(of_word), _DIGITS),
        )


def _order_by_activation(candidate: Candidate) -> tuple[float, str]:
    return -candidate.activation, candidate.id


def _count_values(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
