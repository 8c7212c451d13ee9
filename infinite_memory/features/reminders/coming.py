"""What comes: the days of the next week, and what is overdue, each once and the earliest first.

It is one list of reminders and of days that the texts of memories name. A reminder that a later
memory says is done is in it as such, and never as due.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from operator import attrgetter

from attrs import evolve, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.conversation.message import check_conversation_id
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import FoundMemory, Kind, Memory, Status
from infinite_memory.engine.retrieval.browse import load_page
from infinite_memory.engine.scopes import choose_scopes
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.ending import find_ends
from infinite_memory.features.reminders.long_term.book import TrackedMemory, read_book
from infinite_memory.features.reminders.long_term.checking import CODE_SECONDS
from infinite_memory.features.reminders.long_term.context import is_day_over, read_trigger_of
from infinite_memory.features.reminders.long_term.due import (
    DEFAULT_WITHIN,
    check_within,
    find_due,
    find_named_days,
    find_next,
    find_open_since,
    find_today,
    find_tracked_moment,
    is_timed,
)
from infinite_memory.features.reminders.long_term.values import DueReminder, DueReminders
from infinite_memory.features.reminders.retelling import find_retelling, share_of_words
from infinite_memory.features.reminders.states import DUE, When

DATED = frozenset({Kind.FACT, Kind.DECISION, Kind.NOTE, Kind.SUMMARY})
"""The kinds whose texts are read for days; what happened in a session is none."""

_MOST_READ = 400
_SAME_SHARE = 0.5
_EVER = datetime.max.replace(tzinfo=UTC)


@frozen(kw_only=True)
class ComingDay(FoundMemory):
    """A memory with the day that it names, or at which it is due.

    `at` is the beginning of that day, or the moment if `is_timed`; `span` is the half-open range of
    characters that name it, None if it is due without its text. `recurs` is whether a reminder
    moves on to its next day. `told_by` is the memory that probably ends the reminder, None for all
    others.
    """

    memory: Memory
    when: When
    at: datetime
    is_timed: bool
    span: tuple[int, int] | None = None
    recurs: bool = False
    told_by: Memory | None = None


@frozen(kw_only=True)
class Coming(PlainData):
    """The days as seen at `at`, the earliest first.

    Of the `conditions` of reminders, those of the memories named in `unchecked` were not checked,
    for lack of time.
    """

    at: datetime
    days: tuple[ComingDay, ...]
    conditions: int
    unchecked: tuple[str, ...]

    def of(self, when: When) -> tuple[ComingDay, ...]:
        """Return the days that lie so, the earliest first."""
        return tuple(day for day in self.days if day.when is when)


def list_coming(
    services: Services,
    scopes: Collection[str] | None,
    memories: Iterable[Memory],
    *,
    within: timedelta | None = DEFAULT_WITHIN,
    conversation_id: str | None = None,
    code_seconds: float = CODE_SECONDS,
    ahead_seconds: float = float("inf"),
) -> Coming:
    """Return what comes in `scopes`, None for all, of their reminders and of `memories`.

    It is the one list of it. A day that two memories tell is there once, by the later one. With
    None for `within` all that lies ahead is `AHEAD`.
    """
    entries = [
        entry
        for entry in read_book(services).values()
        if (scopes is None or entry.memory.scope in scopes)
        and conversation_id in (None, entry.conversation_id)
    ]
    due = find_due(
        services,
        entries,
        within=within or DEFAULT_WITHIN,
        code_seconds=code_seconds,
        ahead_seconds=ahead_seconds,
    )
    place = make_place(services, within)
    days = [
        ComingDay(memory=entry.memory, when=place(at), at=at, is_timed=is_timed(services, at))
        for entry, at in due.moments.items()
    ]
    days += list_reminders(services, entries, place)
    days += _read_days(services, memories, place)
    days.sort(key=attrgetter("memory.id"))
    days.sort(key=attrgetter("at"))
    return Coming(
        at=services.clock(),
        days=tuple(_tell_once(days)),
        conditions=due.conditions,
        unchecked=tuple(entry.name for entry in due.unchecked),
    )


def list_reminders(
    services: Services, entries: Iterable[TrackedMemory], place: Callable[[datetime], When]
) -> list[ComingDay]:
    """Return the reminders without a condition, as they lie and whether they are probably done.

    A recurring one that is done today is there with its next day.
    """
    today, tomorrow = find_today(services)
    read = partial(find_tracked_moment, services, today=today)
    found = [entry for entry in entries if entry.trigger is None]
    # Two sorts by what is there, as a tuple of each of thousands takes longer.
    found.sort(key=attrgetter("memory.id"))
    found.sort(key=lambda entry: moment.at if (moment := read(entry)) else _EVER)

    def find_since(entry: TrackedMemory) -> datetime:
        moment = read(entry)
        return today if moment and moment.recurs else find_open_since(entry.memory)

    ends, days = find_ends(services, found, find_since), []
    for entry in found:
        memory, moment, end = entry.memory, read(entry), ends.get(entry.memory.id)
        if moment is not None and moment.recurs and end is not None:
            end, moment = None, find_next(services, memory, tomorrow)
        when = When.ANYTIME if moment is None else place(moment.at)
        days.append(
            ComingDay(
                memory=memory,
                when=when if end is None else When.DONE,
                at=memory.happened_at if moment is None else moment.at,
                is_timed=moment is not None and moment.is_timed,
                recurs=moment is not None and moment.recurs,
                told_by=end,
            )
        )
    return days


def load_coming(
    services: Services, *, within: timedelta | None, scope: str | Iterable[str] | None
) -> Coming:
    """Return what comes in the scopes of a call; see `Triggers.coming`.

    Raises:
        InvalidInput: a value cannot be used.
        UnknownScope: there is no such scope.
    """
    if within is not None:
        check_within(within)
    coming = list_coming_of(services, choose_scopes(scope, services, None).scopes, within=within)
    hidden = () if within is None else (When.LATER, When.ANYTIME)
    shown = tuple(day for day in coming.days if day.when not in hidden)
    services.note_read(day.memory for day in shown)
    return evolve(coming, days=shown)


def list_coming_of(
    services: Services, scopes: Collection[str] | None, *, within: timedelta | None
) -> Coming:
    """Return what comes in `scopes`, None for all, by the newest memories that may name a day."""
    criteria = Criteria(
        scopes=None if scopes is None else frozenset(scopes),
        kinds=DATED,
        statuses=frozenset({Status.CURRENT}),
        topic_summaries=False,
        unended_at=services.clock(),
    )
    memories = load_page(services.storage, criteria, _MOST_READ, None).memories
    retelling = find_retelling(memories)
    kept = [memory for memory in memories if memory.id not in retelling.instead]
    return list_coming(services, scopes, kept, within=within)


def list_due(
    services: Services,
    *,
    within: timedelta,
    conversation_id: str | None,
    scope: str | Iterable[str] | None,
) -> DueReminders:
    """Return the reminders of the list of what comes that are due; see `Triggers.due`.

    Raises:
        InvalidInput: a value cannot be used.
        UnknownScope: there is no such scope.
    """
    check_within(within)
    conversation = None if conversation_id is None else check_conversation_id(conversation_id)
    scopes = choose_scopes(scope, services, conversation).scopes
    coming = list_coming(services, scopes, (), within=within, conversation_id=conversation)
    days = [day for day in coming.days if day.when in DUE and day.at <= coming.at + within]
    services.note_read(day.memory for day in days)
    return DueReminders(
        map(_describe_reminder, days), conditions=coming.conditions, unchecked=coming.unchecked
    )


def _describe_reminder(day: ComingDay) -> DueReminder:
    memory = day.memory
    return DueReminder(
        id=memory.id,
        name=memory.title,
        text=memory.text,
        scope=memory.scope,
        conversation_id=memory.conversation_id,
        due_at=day.at,
        is_trigger=read_trigger_of(memory) is not None,
        important=memory.important,
    )


def list_next_reminders(
    services: Services, scopes: Collection[str]
) -> list[tuple[Memory, datetime]]:
    """Return the next open reminder with a date of each of `scopes`, and when it is due."""
    nearest: dict[str, tuple[Memory, datetime]] = {}
    now, place = services.clock(), make_place(services, None)
    entries = [entry for entry in read_book(services).values() if entry.memory.scope in scopes]
    for day in list_reminders(services, entries, place):
        is_ahead = day.when in DUE and day.at >= now
        if is_ahead and day.at < nearest.get(day.memory.scope, (day.memory, _EVER))[1]:
            nearest[day.memory.scope] = day.memory, day.at
    return sorted(nearest.values(), key=lambda pair: (pair[1], pair[0].id))


def make_place(services: Services, within: timedelta | None) -> Callable[[datetime], When]:
    """Return what tells where a moment lies, as seen from now."""
    today, tomorrow = find_today(services)
    limit = _EVER if within is None else services.clock() + within

    def place(moment: datetime) -> When:
        if moment < tomorrow:
            return When.OVERDUE if moment < today else When.TODAY
        return When.AHEAD if moment <= limit else When.LATER

    return place


def _read_days(
    services: Services,
    memories: Iterable[Memory],
    place: Callable[[datetime], When],
) -> Iterator[ComingDay]:
    """Yield the first day from today on that the text of each of `memories` names.

    A day that somebody stored as done is over.
    """
    today, _ = find_today(services)
    for memory in memories:
        if memory.kind not in DATED:
            continue
        days = [
            day for day in find_named_days(services, memory, today) if not is_day_over(memory, day)
        ]
        if days:
            day = min(days, key=lambda day: day.start)
            at = max(day.start, today)
            yield ComingDay(
                memory=memory, when=place(at), at=at, is_timed=day.is_timed, span=day.span
            )


def _tell_once(days: Sequence[ComingDay]) -> list[ComingDay]:
    """Return the days without those that a later memory tells of the same day.

    A reminder stays, as it is to be done.
    """
    named = {day.at.date() for day in days if day.memory.kind is not Kind.REMINDER}
    kept = defaultdict[date, list[ComingDay]](list)
    told: set[int] = set()
    same = [day for day in days if day.at.date() in named]
    for day in sorted(same, key=lambda day: day.memory.happened_at, reverse=True):
        if day.memory.kind is not Kind.REMINDER and any(
            share_of_words(_leave_out_day(other), _leave_out_day(day)) >= _SAME_SHARE
            for other in kept[day.at.date()]
        ):
            told.add(id(day))
        else:
            kept[day.at.date()].append(day)
    return [day for day in days if id(day) not in told]


def _leave_out_day(day: ComingDay) -> str:
    """Return the text of a memory without the words that name its day."""
    start, end = day.span or (0, 0)
    return day.memory.text[:start] + day.memory.text[end:]
