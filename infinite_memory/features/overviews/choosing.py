"""What a briefing tells: the memories of each part, the most important first.

Nothing is told twice: what was told again or changed since is shown as it is now, routine and
solved problems not at all, and a memory stands in one part alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from attrs import evolve, field, frozen

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.hits import Hit
from infinite_memory.core.values.memory import GLOBAL, Kind, Memory, Status
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.scope import Sensitivity
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.profile import (
    find_profile_scope,
    is_profile_fact,
    load_profile_facts,
)
from infinite_memory.engine.retrieval.browse import load_page
from infinite_memory.engine.retrieval.summaries import drop_outdated, find_covered
from infinite_memory.engine.services import Services
from infinite_memory.features.overviews.values import BriefingPart
from infinite_memory.features.reminders.coming import (
    Coming,
    ComingDay,
    list_coming,
    list_next_reminders,
)
from infinite_memory.features.reminders.long_term.context import is_closed
from infinite_memory.features.reminders.retelling import Retelling, find_retelling
from infinite_memory.features.reminders.states import When
from infinite_memory.features.sessions.statements import is_statement, speaks_of_self

_CURRENT = frozenset({Status.CURRENT})
# Kinds that hold until something replaces them; everything else but messages is an event.
_HOLDING = frozenset({Kind.FACT, Kind.DECISION, Kind.LESSON, Kind.INSTRUCTION, Kind.CONCLUSION})
_EVENTS = frozenset(Kind) - _HOLDING - {Kind.MESSAGE, Kind.REMINDER}
_WEEK, _RECENT = timedelta(days=7), timedelta(days=14)
# Days that are further ahead than a week are in notes of so long ago.
_DATED = timedelta(days=31)
# The newest of each kind that are looked at; an important memory comes first among them.
_MOST_HOLDING, _MOST_EVENTS, _MOST_MESSAGES = 400, 80, 8
# The decisions that come before older facts.
_LAST_DECISIONS = 1
# A solution of the same days belongs to the last problem before it.
_SOLVED_WITHIN = timedelta(days=3)
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


@frozen(kw_only=True)
class Chosen:
    """A memory of a part with the moment that it is shown with.

    `day` is the day that it names or at which it is due, None if it is shown for anything else.
    """

    memory: Memory
    at: datetime
    day: ComingDay | None = None


@frozen(kw_only=True)
class _View:
    """The scope of a briefing, the scopes that it reads, and the moment.

    `is_personal` says that the scope is no project: a diary has no thread to take up.
    """

    services: Services
    name: str
    visible: frozenset[str]
    is_personal: bool
    now: datetime


def choose_memories(
    services: Services,
    name: str,
    visible: frozenset[str],
    additions: Additions,
    folder: str,
) -> tuple[dict[BriefingPart, list[Chosen]], Coming]:
    """Return the memories of every part for the scope `name`, and all that comes.

    With a `folder`, the last conversation is the last one there.
    """
    view = _View(
        services=services,
        name=name,
        visible=visible,
        is_personal=name in (GLOBAL, services.default_scope),
        now=services.clock(),
    )
    holding, events = _load_holding(view), _load_events(view, _EVENTS - set(additions.told))
    retelling = find_retelling([*holding, *events])
    coming = list_coming(
        services,
        visible,
        [memory for memory in (*holding, *events) if memory.id not in retelling.instead],
        code_seconds=_CODE_SECONDS,
        ahead_seconds=_AHEAD_SECONDS,
    )
    held = _choose_holding(view, holding, events, retelling, additions.first)
    listed: dict[BriefingPart, Sequence[Memory]] = {
        BriefingPart.USER: _choose_of_user(view, held),
        BriefingPart.HOLDS: held,
        BriefingPart.RECENT: _choose_recent(view, events, retelling),
        BriefingPart.CONVERSATION: _load_last_messages(view, folder),
        **_load_added(services, additions),
    }
    parts = _choose_days(view, coming)
    parts |= {
        part: [Chosen(memory=memory, at=_read_moment(part, memory)) for memory in memories]
        for part, memories in listed.items()
    }
    return parts, coming


def _load_added(services: Services, additions: Additions) -> dict[BriefingPart, list[Memory]]:
    texts = additions.texts
    added = load_memories(services, [memory_id for part in texts.values() for memory_id in part])
    return {part: [added[id_] for id_ in texts[part] if id_ in added] for part in texts}


def _choose_of_user(view: _View, held: Sequence[Memory]) -> list[Memory]:
    """Return the profile, and what people say of themselves: who somebody is was told first."""
    home = find_profile_scope(view.services)
    profile = load_profile_facts(view.services) if home in view.visible else []
    stated = [m for m in reversed(held) if m.scope == home and m.kind is not Kind.DECISION]
    return [*profile, *(memory for memory in stated if speaks_of_self(memory.text))]


def _read_moment(part: BriefingPart, memory: Memory) -> datetime:
    return memory.held_from if part is BriefingPart.HOLDS else memory.happened_at


def _choose_days(view: _View, coming: Coming) -> dict[BriefingPart, list[Chosen]]:
    """Return what comes, this week first: of today all, and else of the scope itself first.

    What is overdue for more than a week comes last. What seems done is asked once, and within a
    week, where both the reminder and what tells it may be read.
    """
    week_ago, near = view.now - _WEEK, (When.OVERDUE, When.TODAY)

    def rank(day: ComingDay) -> int:  # a tuple of each of thousands takes longer
        is_foreign = day.memory.scope != view.name and day.when not in near
        is_asked_for = day.when in near or day.memory.kind is Kind.REMINDER
        is_old = day.at < week_ago
        return 8 * is_old + 4 * is_foreign + 2 * (day.when is When.LATER) + (not is_asked_for)

    due = [day for day in coming.days if day.when not in (When.DONE, When.ANYTIME)]
    done = [
        Chosen(memory=day.told_by, at=day.told_by.happened_at, day=day)
        for day in coming.days
        if day.told_by is not None
        and day.told_by.stored_at >= week_ago
        and {day.memory.scope, day.told_by.scope} <= view.visible
        and view.name in (day.memory.scope, day.told_by.scope)
    ]
    asked = view.services.storage.usage([each.day.memory.id for each in done if each.day])
    elsewhere = {
        name
        for name, scope in view.services.storage.scopes().items()
        if name not in view.visible and scope.active and scope.sensitivity is Sensitivity.NORMAL
    }
    return {
        BriefingPart.DUE: [
            Chosen(memory=day.memory, at=day.at, day=day) for day in sorted(due, key=rank)
        ],
        BriefingPart.DONE: [each for each in done if not _was_asked(each, asked)],
        BriefingPart.ELSEWHERE: [
            Chosen(memory=memory, at=at)
            for memory, at in list_next_reminders(view.services, elsewhere)
        ],
    }


def _was_asked(ended: Chosen, usages: Mapping[str, Usage]) -> bool:
    """Return whether somebody has seen a reminder since a memory told that it is done."""
    usage = usages.get(ended.day.memory.id) if ended.day else None
    return usage is not None and usage.last is not None and usage.last >= ended.memory.stored_at


def _choose_holding(
    view: _View,
    holding: Sequence[Memory],
    events: Sequence[Memory],
    retelling: Retelling,
    first: Collection[str],
) -> list[Memory]:
    """Return what holds: important, then of the scope itself, the last decision and the facts.

    A note that tells a fact as it is now stands in its place. What was said in sessions comes
    behind what was stored, and older decisions behind facts.
    """
    known = {memory.id for memory in holding}
    changed = {later.id for id_, later in retelling.instead.items() if id_ in known}
    held = [memory for memory in (*holding, *events) if memory.id in known | changed]
    held = [memory for memory in held if memory.id not in retelling.instead]
    held.sort(key=lambda memory: memory.held_from, reverse=True)
    decided = [memory.id for memory in held if memory.kind is Kind.DECISION][_LAST_DECISIONS:]
    behind = {*decided, *(memory.id for memory in held if memory.kind is Kind.LESSON)}
    return sorted(
        held,
        key=lambda memory: (
            memory.id not in first,
            not memory.important,
            memory.is_inferred,
            memory.scope != view.name,
            memory.id in behind,
        ),
    )


def _choose_recent(view: _View, events: Sequence[Memory], retelling: Retelling) -> list[Memory]:
    """Return the last notes and events: of a project all, of a person what states something."""
    solved = _find_solved(events)
    recent = [
        memory
        for memory in events
        if memory.happened_at >= view.now - _RECENT
        and memory.id not in retelling.instead
        and memory.id not in solved
        and not is_closed(memory)
    ]

    def is_thread(memory: Memory) -> bool:
        return memory.scope == view.name and not view.is_personal

    def tells(memory: Memory) -> bool:
        return is_thread(memory) or memory.kind is not Kind.NOTE or is_statement(memory.text)

    kept = [
        memory
        for memory in recent
        if is_thread(memory)
        or (memory.id not in retelling.routine and (view.is_personal or tells(memory)))
    ]
    return sorted(
        kept,
        key=lambda memory: (
            memory.scope != view.name,
            not tells(memory),
            memory.kind is Kind.CODE_CHANGE,
        ),
    )


def _find_solved(events: Iterable[Memory]) -> set[str]:
    """Return the problems that the next solution of their scope ended, within three days."""
    solved: set[str] = set()
    open_ones: dict[str, list[Memory]] = {}
    for memory in sorted(events, key=lambda memory: (memory.happened_at, memory.id)):
        waiting = open_ones.setdefault(memory.scope, [])
        if memory.kind is Kind.PROBLEM:
            waiting.append(memory)
        elif memory.kind is Kind.SOLUTION and waiting:
            problem = waiting.pop()
            if memory.happened_at - problem.happened_at <= _SOLVED_WITHIN:
                solved.add(problem.id)
    return solved


def _load_holding(view: _View) -> list[Memory]:
    """Return the memories that hold now, no values of a profile, newest first."""
    criteria = Criteria(
        scopes=frozenset({view.name}),
        kinds=_HOLDING,
        statuses=_CURRENT,
        begun_at=view.now,
        unended_at=view.now,
    )
    inherited = evolve(criteria, scopes=view.visible - {view.name})
    memories = [
        *_load_memories(view.services, criteria, _MOST_HOLDING),
        *_load_memories(view.services, inherited, _MOST_HOLDING),
    ]
    home = find_profile_scope(view.services)
    return [memory for memory in memories if memory.scope != home or not is_profile_fact(memory)]


def _load_events(view: _View, kinds: frozenset[Kind]) -> list[Memory]:
    """Return the notes and events of the last weeks, newest first.

    Topic summaries are left out, outdated summaries, and what a summary among them tells.
    """
    criteria = Criteria(
        scopes=view.visible,
        kinds=kinds,
        statuses=_CURRENT,
        topic_summaries=False,
        since=view.now - _DATED,
        until=view.now + timedelta(microseconds=1),
        unended_at=view.now,
    )
    recent = _load_memories(view.services, criteria, _MOST_EVENTS)
    hits, known = drop_outdated(view.services, [Hit(memory=memory, score=1.0) for memory in recent])
    summaries_first = sorted(hits, key=lambda hit: hit.memory.kind is not Kind.SUMMARY)
    covers = find_covered(summaries_first, known)
    told = {memory_id for ids in covers.values() for memory_id in ids}
    return [hit.memory for hit in hits if not (hit.outdated or hit.memory.id in told)]


def _load_last_messages(view: _View, folder: str) -> list[Memory]:
    """Return the last messages of the newest conversation, in `folder` if given, newest first.

    A project is told of its own conversations alone.
    """
    scopes = view.visible if view.is_personal else frozenset({view.name})
    criteria = Criteria(scopes=scopes, kinds=frozenset({Kind.MESSAGE}), statuses=_CURRENT)
    newest = _load_memories(view.services, criteria, _MOST_HOLDING if folder else 1)
    if folder:
        newest = [memory for memory in newest if memory.context.get("folder") == folder]
    if not newest or newest[0].conversation_id is None:
        return newest
    in_conversation = evolve(criteria, conversation_id=newest[0].conversation_id)
    return _load_memories(view.services, in_conversation, _MOST_MESSAGES)


def _load_memories(services: Services, criteria: Criteria, limit: int) -> list[Memory]:
    if not criteria.scopes:
        return []
    return list(load_page(services.storage, criteria, limit, None).memories)
