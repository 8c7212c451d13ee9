"""The briefing with which an assistant should begin a session, from the storage alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta

from attrs import evolve, field, frozen

from infinite_memory.core.secrets import find_secrets
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import GLOBAL, Kind, Memory, Status, shorten
from infinite_memory.core.values.scope import Sensitivity, find_spelling, visible_from
from infinite_memory.core.values.timestamps import show_moment
from infinite_memory.engine.id_endings import shorten_ids
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.profile import is_profile_fact, load_profile_facts
from infinite_memory.engine.retrieval.browse import load_page
from infinite_memory.engine.retrieval.summaries import drop_outdated, find_covered
from infinite_memory.engine.scopes import known_scope
from infinite_memory.engine.services import Services
from infinite_memory.features.overviews.sections import (
    Section,
    check_budget,
    choose_fitting,
    count_tokens,
    describe_origin,
    fit_sections,
    join_title,
    write_memory,
)
from infinite_memory.features.overviews.values import (
    Briefing,
    BriefingItem,
    BriefingPart,
    BriefingSection,
)
from infinite_memory.features.reminders.long_term.due import find_due
from infinite_memory.features.reminders.long_term.values import describe_unchecked
from infinite_memory.search.text.quotation import NOTICE, escape_line, quote_label
from infinite_memory.search.text.token_estimate import estimate_tokens

# The title of each part, and the share of the budget that no other part takes.
_PARTS = {
    BriefingPart.DUE: ("Due:", 0.15),
    BriefingPart.USER: ("About the user:", 0.2),
    BriefingPart.OPEN: ("Open work:", 0.2),
    BriefingPart.HOLDS: ("What holds:", 0.35),
    BriefingPart.SESSIONS: ("Recent sessions:", 0.15),
    BriefingPart.PATTERNS: ("What recurs:", 0.05),
    BriefingPart.RECENT: ("Recent:", 0.15),
    BriefingPart.CONVERSATION: ("The end of the last conversation:", 0.15),
}
# Their items stand for several memories, which other parts may show as well.
_OF_GROUPS = frozenset({BriefingPart.SESSIONS, BriefingPart.PATTERNS})
_EMPTY = (
    "The memory holds nothing for {scope} yet: store what should last beyond this session, such as"
    " decisions with their reasons, facts, and what the user prefers."
)
_TEXT_CHARS = 240
# A secret is shown to whoever asks for it, so it is looked for in more than is shown of a text.
_LOOKED_AT_CHARS = 8 * _TEXT_CHARS
_CURRENT = frozenset({Status.CURRENT})
# Kinds that hold until something replaces them; everything else but messages is an event.
_HOLDING = frozenset({Kind.FACT, Kind.DECISION, Kind.LESSON})
_EVENTS = frozenset(Kind) - _HOLDING - {Kind.MESSAGE, Kind.REMINDER}
_RECENT = timedelta(days=14)
# The newest of each kind that are looked at; an important memory comes first among them.
_MOST_HOLDING, _MOST_EVENTS, _MOST_MESSAGES = 400, 60, 8
# A session waits for its briefing, whatever conditions there are.
_CODE_SECONDS, _AHEAD_SECONDS = 0.1, 0.5


@frozen(kw_only=True)
class Additions:
    """What the layers above add to the briefing of a scope.

    `headline` is a sentence on the repository; `texts` has what is shown of further memories of a
    part, by their ids. `told` are the kinds that these parts tell, which the recent memories then
    leave out, and `first` the ids that come first of all that holds.
    """

    headline: str = ""
    texts: Mapping[BriefingPart, Mapping[str, str]] = field(factory=dict)
    told: Collection[Kind] = ()
    first: Collection[str] = ()


def brief(
    services: Services,
    scope: str | None,
    *,
    budget: int,
    add: Callable[[str], Additions],
    folder: str = "",
) -> Briefing:
    """Return the briefing for a scope; see `MemoryStore.briefing`.

    `add` returns what is added to the briefing of the scope, whose name it is given. With a
    `folder` that has no scope of its own, the last conversation is the last one there.

    Raises:
        InvalidInput: the budget cannot be used.
        UnknownScope: there is no such scope.
    """
    check_budget(budget)
    now, zone = services.clock(), services.config.time_zone
    name, visible = _find_scopes(services, scope)
    additions = add(name)
    due = find_due(services, visible, code_seconds=_CODE_SECONDS, ahead_seconds=_AHEAD_SECONDS)
    moments = {entry.memory.id: moment for moment, entry in due.reminders}
    reminders = [entry.memory for _, entry in due.reminders]
    here = folder if scope is None else ""
    memories = _collect_memories(services, visible, name, now, additions, reminders, here)
    shown = [memory for listed in memories.values() for memory in listed]
    short_ids = shorten_ids(services, [memory.id for memory in shown])
    services.note_returned(shown)

    def make_item(memory: Memory, part: BriefingPart) -> BriefingItem:
        text = _write_text(memory, part, additions)
        at = memory.held_from if part is BriefingPart.HOLDS else memory.happened_at
        at = moments.get(memory.id, at)
        return BriefingItem.of(memory, short_ids[memory.id], shorten(text, _TEXT_CHARS), at=at)

    sections = {
        part: _make_section(part, [make_item(memory, part) for memory in listed], name, zone)
        for part, listed in memories.items()
        if listed
    }
    head = [f"From the memory, for {quote_label(name)}, at {show_moment(now, zone)}. {NOTICE}"]
    if scope is not None and name != services.default_scope:
        head.append(f"To search what was said here, name scope {quote_label(name)}.")
    head += [escape_line(additions.headline)] if additions.headline else []
    head += [describe_unchecked(len(due.unchecked), due.conditions)] if due.unchecked else []
    return _write_briefing(sections, " ".join(head), scope=name, at=now, budget=budget)


def _make_section(
    part: BriefingPart, items: Sequence[BriefingItem], scope: str, zone: str | None
) -> Section[BriefingItem]:
    title, share = _PARTS[part]
    is_due, is_of_groups = part is BriefingPart.DUE, part in _OF_GROUPS

    def write(item: BriefingItem) -> str:
        about = [] if is_of_groups else describe_origin(item)
        return write_memory(item, about, usual=scope, zone=zone, timed=is_due)

    return Section(
        title=title,
        items=items,
        share=share,
        write=write,
        rest="({} more)",
        # The newest comes first in the section, and is read last.
        last_first=part is BriefingPart.CONVERSATION,
    )


def _write_briefing(
    sections: Mapping[BriefingPart, Section[BriefingItem]],
    head: str,
    *,
    scope: str,
    at: datetime,
    budget: int,
) -> Briefing:
    """Return the briefing with as many items of the `sections` as fit below the `head`."""
    head = choose_fitting([head, NOTICE], budget // 2)
    fitting = fit_sections(list(sections.values()), budget - count_tokens(head))
    kept = {part: each for part, each in zip(sections, fitting, strict=True) if each.items}
    text = "\n".join([head, *map(str, kept.values())])
    if not sections:
        empty = (_EMPTY.format(scope=name) for name in (quote_label(scope), "this scope"))
        text = choose_fitting(empty, budget)
    return Briefing(
        scope=scope,
        at=at,
        budget=budget,
        tokens=estimate_tokens(text),
        text=text,
        sections=tuple(
            BriefingSection(part=part, items=tuple(each.items), omitted=each.omitted)
            for part, each in kept.items()
        ),
    )


def _find_scopes(services: Services, scope: str | None) -> tuple[str, frozenset[str]]:
    """Return the spelling of the scope of a briefing, and the scopes that it reads.

    A parent is left out if it is private or inactive.

    Raises:
        UnknownScope: there is no such scope.
    """
    scopes = services.storage.scopes()
    if scope is None:
        # The default scope need not exist before something is stored in it.
        name = find_spelling(services.default_scope, scopes) or GLOBAL
    else:
        name = known_scope(scope, scopes, services).name
    return name, frozenset(
        each
        for each in visible_from(name, scopes)
        if each == name or (scopes[each].active and scopes[each].sensitivity is Sensitivity.NORMAL)
    )


def _collect_memories(
    services: Services,
    visible: frozenset[str],
    name: str,
    now: datetime,
    additions: Additions,
    reminders: Sequence[Memory],
    folder: str,
) -> dict[BriefingPart, list[Memory]]:
    """Return the memories of every part, the most important first, each in one part alone."""
    texts = additions.texts
    added = load_memories(services, [memory_id for part in texts.values() for memory_id in part])
    holding = _load_holding(services, visible, name, now)
    listed: dict[BriefingPart, Sequence[Memory]] = {
        BriefingPart.DUE: reminders,
        BriefingPart.USER: load_profile_facts(services) if GLOBAL in visible else [],
        # The sort is stable.
        BriefingPart.HOLDS: sorted(holding, key=lambda memory: memory.id not in additions.first),
        BriefingPart.RECENT: _load_recent(services, visible, now, _EVENTS - set(additions.told)),
        BriefingPart.CONVERSATION: _load_last_messages(services, visible, folder),
        **{part: [added[id_] for id_ in texts[part] if id_ in added] for part in texts},
    }
    shown: set[str] = set()
    memories: dict[BriefingPart, list[Memory]] = {}
    for part in BriefingPart:
        seen = frozenset() if part in _OF_GROUPS else frozenset(shown)
        memories[part] = [
            memory
            for memory in listed.get(part, ())
            if memory.id not in seen
            and not find_secrets(_write_text(memory, part, additions)[:_LOOKED_AT_CHARS])
        ]
        shown.update(memory.id for memory in memories[part] if part not in _OF_GROUPS)
    return memories


def _write_text(memory: Memory, part: BriefingPart, additions: Additions) -> str:
    added = additions.texts.get(part, {}).get(memory.id)
    return added or join_title(memory, memory.text)


def _load_holding(
    services: Services, visible: frozenset[str], own: str, now: datetime
) -> list[Memory]:
    """Return the memories that hold now: important, then of the scope itself, newest first.

    What was said in sessions comes behind what was stored.
    """
    criteria = Criteria(
        scopes=visible, kinds=_HOLDING, statuses=_CURRENT, begun_at=now, unended_at=now
    )
    memories = _load_memories(services, evolve(criteria, scopes=frozenset({own})), _MOST_HOLDING)
    memories += _load_memories(services, evolve(criteria, scopes=visible - {own}), _MOST_HOLDING)
    # The sort is stable, so the newest stay first.
    return sorted(
        (memory for memory in memories if not is_profile_fact(memory)),
        key=lambda memory: (not memory.important, memory.is_inferred, memory.scope != own),
    )


def _load_recent(
    services: Services, visible: frozenset[str], now: datetime, kinds: frozenset[Kind]
) -> list[Memory]:
    """Return the notes and events of the last days, newest first.

    Topic summaries are left out, outdated summaries, and what a summary among them tells.
    """
    criteria = Criteria(
        scopes=visible,
        kinds=kinds,
        statuses=_CURRENT,
        topic_summaries=False,
        since=now - _RECENT,
        until=now + timedelta(microseconds=1),
        unended_at=now,
    )
    recent = _load_memories(services, criteria, _MOST_EVENTS)
    hits, known = drop_outdated(services, [Hit(memory=memory, score=1.0) for memory in recent])
    summaries_first = sorted(hits, key=lambda hit: hit.memory.kind is not Kind.SUMMARY)
    covers = find_covered(summaries_first, known)
    told = {memory_id for ids in covers.values() for memory_id in ids}
    return [hit.memory for hit in hits if not (hit.outdated or hit.memory.id in told)]


def _load_last_messages(services: Services, visible: frozenset[str], folder: str) -> list[Memory]:
    """Return the last messages of the newest conversation, in `folder` if given, newest first."""
    criteria = Criteria(scopes=visible, kinds=frozenset({Kind.MESSAGE}), statuses=_CURRENT)
    newest = _load_memories(services, criteria, _MOST_HOLDING if folder else 1)
    if folder:
        newest = [memory for memory in newest if memory.context.get("folder") == folder]
    if not newest or newest[0].conversation_id is None:
        return newest
    in_conversation = evolve(criteria, conversation_id=newest[0].conversation_id)
    return _load_memories(services, in_conversation, _MOST_MESSAGES)


def _load_memories(services: Services, criteria: Criteria, limit: int) -> list[Memory]:
    if not criteria.scopes:
        return []
    return list(load_page(services.storage, criteria, limit, None).memories)
