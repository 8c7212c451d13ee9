"""Search short-term memory: what comes up for the messages of the moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.conversation.message import check_conversation_id
from infinite_memory.core.values.criteria import Conditions, Criteria, Cut, Mode
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import FoundMemory, Memory
from infinite_memory.core.values.record import Usage
from infinite_memory.engine.after_commit import AfterCommit
from infinite_memory.engine.retrieval.search import find_hits
from infinite_memory.engine.retrieval.search_request import SearchRequest
from infinite_memory.engine.scopes import ALL, choose_scopes
from infinite_memory.engine.services import Services
from infinite_memory.features.chats.short_term.adding import (
    check_recent,
    check_role_weights,
    keywords_now,
)
from infinite_memory.features.chats.short_term.choosing import Choice, Chosen, choose
from infinite_memory.features.chats.short_term.entry import (
    KIND,
    ShortTermEntry,
    candidates_of,
    entries_of,
)
from infinite_memory.features.reminders.long_term.firing import count_firing
from infinite_memory.features.reminders.long_term.prompting import find_prompted

_SEED_BYTES = 8
_OVERDUE = timedelta(days=7)


@frozen(kw_only=True)
class ShortTermHit(FoundMemory):
    """A short-term memory that came up.

    `relevance` and `activation` are those before it came up; `shared` are the keywords that it
    shares with the messages of the moment, with both weights added, the greatest first.
    """

    memory: Memory
    relevance: float
    activation: float
    shared: Mapping[str, float]


@frozen(kw_only=True)
class ShortTermRecall(PlainData):
    """What came up: the most relevant memories, the next, and flashbacks drawn at random.

    `others` are the most relevant of other conversations, which come last and gain nothing by it.
    `keywords` are those of the messages of the moment, `searched` counts the short-term memories of
    the conversation, and `seed` draws the same flashbacks again.
    """

    top: tuple[ShortTermHit, ...]
    next: tuple[ShortTermHit, ...]
    flashbacks: tuple[ShortTermHit, ...]
    others: tuple[ShortTermHit, ...] = ()
    keywords: Mapping[str, float]
    searched: int
    seed: int

    def __iter__(self) -> Iterator[ShortTermHit]:
        yield from self.top
        yield from self.next
        yield from self.flashbacks
        yield from self.others


@frozen(kw_only=True)
class ComingUp(PlainData):
    """What comes up by itself: reminders, due or by their condition, and short-term memories."""

    reminders: tuple[Memory, ...]
    short_term: tuple[Memory, ...]


def search_short_term(
    services: Services,
    messages: object,
    conversation_id: str,
    *,
    role_weights: Mapping[str, float] | None,
    scope: str | Iterable[str] | None,
    seed: int | None,
) -> ShortTermRecall:
    """Return what the recent messages call to mind; see `Conversations.search_short_term`."""
    conversation_id = check_conversation_id(conversation_id)
    recent = check_recent(services, messages, "recentMessages")
    weights = check_role_weights(role_weights)
    seed = draw_seed(services) if seed is None else check_count(seed, "seed", low=0, high=2**64)
    entries = entries_of(services, conversation_id, scope)
    keywords = keywords_now(services, recent, entries, weights)
    now, constants = services.clock(), services.config.short_term
    candidates = candidates_of(services, entries)
    choice = choose(candidates, keywords, now=now, seed=seed, constants=constants)
    _activate_chosen(services, choice, now)
    by_id = {entry.memory.id: entry for entry in entries}

    def hits_of(chosen: Sequence[Chosen]) -> tuple[ShortTermHit, ...]:
        return tuple([_make_hit(by_id[c.candidate.id], c, keywords) for c in chosen])

    recall = ShortTermRecall(
        top=hits_of(choice.top),
        next=hits_of(choice.next),
        flashbacks=hits_of(choice.flashbacks),
        others=_recall_others(services, conversation_id, scope, keywords),
        keywords=keywords,
        searched=len(entries),
        seed=seed,
    )
    services.note_returned([hit.memory for hit in recall])
    return recall


def _recall_others(
    services: Services,
    conversation_id: str,
    scope: str | Iterable[str] | None,
    keywords: Mapping[str, float],
) -> tuple[ShortTermHit, ...]:
    """Return the most relevant memories of other conversations in the scopes of a search.

    A conversation is kept apart by a private scope, and every one where each has its own scope.
    """
    entries = entries_of(services, None, scope, without=conversation_id)
    constants, now = services.config.short_term, services.clock()
    candidates = candidates_of(services, entries)
    choice = choose(candidates, keywords, now=now, seed=0, constants=constants)
    by_id = {entry.memory.id: entry for entry in entries}
    return tuple([_make_hit(by_id[c.candidate.id], c, keywords) for c in choice.top])


def find_coming_up(
    services: Services,
    messages: object,
    conversation_id: str,
    *,
    scope: str | Iterable[str] | None,
) -> ComingUp:
    """Return what the last messages bring up by itself; see `Conversations.coming_up`."""
    conversation_id, now = check_conversation_id(conversation_id), services.clock()
    found = find_prompted(
        services,
        check_recent(services, messages, "messages"),
        choose_scopes(scope, services, conversation_id).scopes,
        conversation_id=conversation_id,
        since=now - _OVERDUE,
        without=(),
    )
    reminders = [memory for _, memory in found]
    count_firing(services, reminders, (), now)
    services.note_returned(reminders)
    recall = search_short_term(
        services, messages, conversation_id, role_weights=None, scope=scope, seed=0
    )
    near = tuple([hit.memory for hit in recall.top])
    return ComingUp(reminders=tuple(reminders), short_term=near)


def find_sure(services: Services, prompt: str, conversation_id: str) -> list[Hit]:
    """Return the short-term memories of a conversation that surely help with its prompt.

    They are the most relevant, and the search would show them unasked. To a conversation without
    any, which is nearly every one, this is one look-up.
    """
    present = Criteria(conversation_id=conversation_id, kinds=frozenset({KIND}))
    if not services.storage.find(present, limit=1).memories:
        return []
    entries = entries_of(services, conversation_id, ALL)
    said = check_recent(services, [{"role": "user", "content": prompt}], "messages")
    choice = choose(
        candidates_of(services, entries),
        keywords_now(services, said, entries, None),
        now=services.clock(),
        seed=0,
        constants=services.config.short_term,
    )
    relevant = {chosen.candidate.id for chosen in choice.top}
    conditions: Conditions = {
        "scope": ALL,
        "conversation_id": conversation_id,
        "kinds": [KIND],
        "mode": Mode.CURRENT,
    }
    request = SearchRequest(text=prompt, conditions=conditions, cut=Cut.PUSHED, may_miss=True)
    hits = find_hits(services, request) if relevant else ()
    return [hit for hit in hits if hit.memory.id in relevant]


def draw_seed(services: Services) -> int:
    """Return a seed from the store's source of random bytes."""
    return int.from_bytes(services.random_bytes(_SEED_BYTES), "big")


def _activate_chosen(services: Services, choice: Choice, now: datetime) -> None:
    """Count what came up as recalled, and add the gains; not in a store that counts no recalls."""
    if services.usage is None:
        return
    constants = services.config.short_term
    gains = [(choice.top, constants.top_gain), (choice.next, constants.next_gain)]
    used = {
        chosen.candidate.id: Usage(count=1, last=now, activation=gain, activated_at=now)
        for tier, gain in gains
        for chosen in tier
    }
    used |= {chosen.candidate.id: Usage(count=1, last=now) for chosen in choice.flashbacks}
    if used:
        with AfterCommit("the gains of the memories that came up"):
            services.usage.store(used)


def _make_hit(entry: ShortTermEntry, chosen: Chosen, keywords: Mapping[str, float]) -> ShortTermHit:
    shared = {
        word: round(weight + entry.keywords[word], 4)
        for word, weight in keywords.items()
        if word in entry.keywords
    }
    return ShortTermHit(
        memory=entry.memory,
        relevance=round(chosen.relevance, 4),
        activation=chosen.candidate.activation,
        shared=dict(sorted(shared.items(), key=lambda pair: (-pair[1], pair[0]))),
    )
