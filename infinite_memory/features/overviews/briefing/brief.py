"""The briefing with which an assistant should begin a session, from the storage alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from attrs import evolve

from infinite_memory.core.values.checks import check_count
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import GLOBAL, Kind, Memory, Status, shorten
from infinite_memory.core.values.scope import Scope, Sensitivity, find_spelling, visible_from
from infinite_memory.engine.id_endings import shorten_ids
from infinite_memory.engine.profile import is_profile_fact, load_profile_facts
from infinite_memory.engine.retrieval.browse import load_page
from infinite_memory.engine.scopes import known_scope
from infinite_memory.engine.services import Services
from infinite_memory.features.overviews.briefing.text import write_briefing
from infinite_memory.features.overviews.briefing.values import (
    Additions,
    Briefing,
    BriefingItem,
    BriefingPart,
    BriefingSection,
)
from infinite_memory.features.reminders.dates import due_at

_LOWEST_TOKENS, _HIGHEST_TOKENS = 200, 100_000
_TEXT_CHARS = 240
_CURRENT = frozenset({Status.CURRENT})
# Kinds that hold until something replaces them; everything else but messages is an event.
_HOLDING = frozenset({Kind.FACT, Kind.DECISION, Kind.LESSON})
_EVENTS = frozenset(Kind) - _HOLDING - {Kind.MESSAGE, Kind.REMINDER}
_RECENT = timedelta(days=14)
_DUE_WITHIN = timedelta(days=7)
# The newest of each kind that are looked at; an important memory comes first among them.
_MOST_HOLDING, _MOST_EVENTS, _MOST_REMINDERS, _MOST_MESSAGES = 400, 60, 400, 8


_NOTHING = Additions()


def brief(
    services: Services, scope: str | None, *, budget: int, additions: Additions = _NOTHING
) -> Briefing:
    """Return the briefing for a scope; see `MemoryStore.briefing`.

    Raises:
        InvalidInput: the budget cannot be used.
        UnknownScope: there is no such scope.
    """
    check_count(budget, "budget", low=_LOWEST_TOKENS, high=_HIGHEST_TOKENS)
    now = services.clock()
    name, visible = find_briefed_scopes(services, scope)
    memories = _collect(services, visible, name, now, additions)
    shown = [memory for listed in memories.values() for memory in listed]
    short_ids = shorten_ids(services, [memory.id for memory in shown])
    services.note_returned(shown)
    sections = [
        BriefingSection(
            part=part,
            items=tuple(_item(memory, part, short_ids[memory.id], additions) for memory in listed),
        )
        for part, listed in memories.items()
        if listed
    ]
    return write_briefing(
        sections,
        scope=name,
        at=now,
        budget=budget,
        zone=services.config.time_zone,
        searchable=scope is not None and name != services.default_scope,
        headline=additions.headline,
    )


def find_briefed_scopes(services: Services, scope: str | None) -> tuple[str, frozenset[str]]:
    """Return the spelling of the scope of a briefing, and the scopes that it reads.

    Raises:
        UnknownScope: there is no such scope.
    """
    scopes = services.storage.scopes()
    if scope is None:
        # The default scope need not exist before something is stored in it.
        name = find_spelling(services.default_scope, scopes) or GLOBAL
    else:
        name = known_scope(scope, scopes, services.confinement).name
    return name, frozenset(_open_scopes(name, visible_from(name, scopes), scopes))


def _collect(
    services: Services, visible: frozenset[str], name: str, now: datetime, additions: Additions
) -> dict[BriefingPart, Sequence[Memory]]:
    """Return the memories of every part, the most important first."""
    holding = _holding(services, visible, name, now)
    # The sort is stable.
    holding.sort(key=lambda memory: memory.id not in additions.first)
    return {
        BriefingPart.DUE: _add_due(_due(services, visible, now), additions),
        BriefingPart.USER: load_profile_facts(services) if GLOBAL in visible else [],
        BriefingPart.OPEN: additions.memories.get(BriefingPart.OPEN, ()),
        BriefingPart.HOLDS: holding,
        BriefingPart.SESSIONS: additions.memories.get(BriefingPart.SESSIONS, ()),
        BriefingPart.PATTERNS: additions.memories.get(BriefingPart.PATTERNS, ()),
        BriefingPart.RECENT: _recent(services, visible, now, _EVENTS - set(additions.told)),
        BriefingPart.CONVERSATION: _last_messages(services, visible),
    }


def _open_scopes(name: str, seen: Iterable[str], scopes: dict[str, Scope]) -> Iterator[str]:
    """Yield the scopes that a briefing reads; a parent is left out if it is private or inactive."""
    for each_name in seen:
        scope = scopes[each_name]
        if each_name == name or (scope.active and scope.sensitivity is Sensitivity.NORMAL):
            yield each_name


def _item(
    memory: Memory,
    part: BriefingPart,
    short_id: str,
    additions: Additions,
) -> BriefingItem:
    at = memory.happened_at
    if part is BriefingPart.DUE:
        at = additions.due_at.get(memory.id) or due_at(memory) or at
    elif part is BriefingPart.HOLDS:
        at = memory.held_from
    text = shorten(memory.text, _TEXT_CHARS)
    if memory.title and not memory.text.startswith(memory.title.rstrip("…")):
        text = shorten(f"{memory.title}: {memory.text}", _TEXT_CHARS)
    text = shorten(additions.texts.get((part, memory.id), text), _TEXT_CHARS)
    return BriefingItem(
        id=memory.id,
        short_id=short_id,
        kind=memory.kind,
        scope=memory.scope,
        at=at,
        text=text,
        important=memory.important,
        speaker=memory.speaker,
    )


def _due(services: Services, visible: frozenset[str], now: datetime) -> list[Memory]:
    """Return the reminders whose time is near, the earliest first."""
    criteria = Criteria(scopes=visible, kinds=frozenset({Kind.REMINDER}), statuses=_CURRENT)
    reminders = _load(services, criteria, _MOST_REMINDERS)
    times = {memory.id: due_at(memory) for memory in reminders}
    near = [
        (moment, memory.id, memory)
        for memory in reminders
        if (moment := times[memory.id]) is not None and abs(moment - now) <= _DUE_WITHIN
    ]
    return [memory for _, _, memory in sorted(near, key=lambda entry: entry[:2])]


def _add_due(reminders: Sequence[Memory], additions: Additions) -> list[Memory]:
    """Return dated reminders with those whose condition holds, the earliest first."""
    moments = {**{memory.id: due_at(memory) for memory in reminders}, **additions.due_at}
    merged = [*reminders, *additions.memories.get(BriefingPart.DUE, ())]
    return sorted(merged, key=lambda memory: (moments[memory.id] or memory.happened_at, memory.id))


def _holding(services: Services, visible: frozenset[str], own: str, now: datetime) -> list[Memory]:
    """Return the memories that hold now: important, then of the scope itself, newest first."""
    criteria = Criteria(
        scopes=visible, kinds=_HOLDING, statuses=_CURRENT, begun_at=now, unended_at=now
    )
    inherited = visible - {own}
    memories = _load(services, evolve(criteria, scopes=frozenset({own})), _MOST_HOLDING)
    if inherited:
        memories += _load(services, evolve(criteria, scopes=inherited), _MOST_HOLDING)
    # The sort is stable, so the newest stay first.
    return sorted(
        (memory for memory in memories if not is_profile_fact(memory)),
        key=lambda memory: (not memory.important, memory.scope != own),
    )


def _recent(
    services: Services, visible: frozenset[str], now: datetime, kinds: frozenset[Kind]
) -> list[Memory]:
    """Return the notes and events of the last days, newest first, without topic summaries."""
    criteria = Criteria(
        scopes=visible,
        kinds=kinds,
        statuses=_CURRENT,
        topic_summaries=False,
        since=now - _RECENT,
        until=now + timedelta(microseconds=1),
        unended_at=now,
    )
    return _load(services, criteria, _MOST_EVENTS)


def _last_messages(services: Services, visible: frozenset[str]) -> list[Memory]:
    """Return the last messages of the newest conversation, newest first."""
    criteria = Criteria(scopes=visible, kinds=frozenset({Kind.MESSAGE}), statuses=_CURRENT)
    newest = _load(services, criteria, 1)
    if not newest or newest[0].conversation_id is None:
        return newest
    in_conversation = evolve(criteria, conversation_id=newest[0].conversation_id)
    return _load(services, in_conversation, _MOST_MESSAGES)


def _load(services: Services, criteria: Criteria, limit: int) -> list[Memory]:
    if not criteria.scopes:
        return []
    memories: Sequence[Memory] = load_page(services.storage, criteria, limit, None).memories
    return list(memories)
