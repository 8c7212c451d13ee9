"""What comes: the days of the next week, and what is overdue, each once and the earliest first.

It is one list of reminders and of days that the texts of memories name. A reminder that a later
memory says is done is in it as such, and never as due.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from attrs import evolve, frozen

from infinite_memory import times
from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import FoundMemory, Kind, Memory, Status
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.engine.retrieval.browse import load_page
from infinite_memory.engine.scopes import choose_scopes
from infinite_memory.engine.services import Services
from infinite_memory.features.reminders.long_term.book import read_book
from infinite_memory.features.reminders.long_term.checking import CODE_SECONDS
from infinite_memory.features.reminders.long_term.due import (
    DEFAULT_WITHIN,
    check_within,
    find_due,
    read_date,
)
from infinite_memory.features.reminders.retelling import find_retelling, share_of_words

DATED = frozenset({Kind.FACT, Kind.DECISION, Kind.NOTE, Kind.SUMMARY})
"""The kinds whose texts are read for days; what happened in a session is none."""

_MOST_READ = 400
# A reminder and what says that it is done have more words in common than one and a remark on it.
_DONE_SHARE, _SAME_SHARE = 0.8, 0.5


class When(StrEnum):
    """Where a day lies; `LATER` is behind the time asked for, `DONE` a reminder that seems done."""

    OVERDUE = "overdue"
    TODAY = "today"
    AHEAD = "ahead"
    LATER = "later"
    DONE = "done"


@frozen(kw_only=True)
class ComingDay(FoundMemory):
    """A memory with the day that it names, or at which it is due.

    `at` is the beginning of that day, or the moment if `is_timed`; `span` is the half-open range of
    characters that name it, None if it is due without its text. `told_by` is the memory that
    says that the reminder is done, None for all others.
    """

    memory: Memory
    when: When
    at: datetime
    is_timed: bool
    span: tuple[int, int] | None = None
    told_by: Memory | None = None


@frozen(kw_only=True)
class Coming(PlainData):
    """The days as seen at `at`, the earliest first.

    Of the `conditions` of reminders, `unchecked` were not checked, for lack of time.
    """

    at: datetime
    days: tuple[ComingDay, ...]
    conditions: int
    unchecked: int

    def of(self, when: When) -> tuple[ComingDay, ...]:
        """Return the days that lie so, the earliest first."""
        return tuple(day for day in self.days if day.when is when)


def list_coming(
    services: Services,
    scopes: Collection[str] | None,
    memories: Iterable[Memory],
    *,
    within: timedelta = DEFAULT_WITHIN,
    code_seconds: float = CODE_SECONDS,
    ahead_seconds: float = float("inf"),
) -> Coming:
    """Return what comes in `scopes`, None for all, of their reminders and of `memories`.

    A day that two memories tell is there once, by the later one.
    """
    due = find_due(
        services, scopes, within=within, code_seconds=code_seconds, ahead_seconds=ahead_seconds
    )
    today, tomorrow = _find_today(services)
    limit = services.clock() + within

    def place(moment: datetime) -> When:
        if moment < today:
            return When.OVERDUE
        if moment < tomorrow:
            return When.TODAY
        return When.AHEAD if moment <= limit else When.LATER

    found = {entry.memory.id: (entry.memory, moment) for moment, entry in due.reminders}
    for entry in read_book(services).values():
        moment = read_date(entry.memory) if entry.trigger is None else None
        if moment is not None and moment > limit and _is_within(entry.memory.scope, scopes):
            found[entry.memory.id] = (entry.memory, moment)
    told = [memory for memory in memories if memory.kind is not Kind.REMINDER]
    days = [
        *_place_reminders(services, found, told, today, place),
        *_read_days(services, told, today, place),
    ]
    days.sort(key=lambda day: (day.at, day.memory.id))
    return Coming(
        at=services.clock(),
        days=tuple(_tell_once(days)),
        conditions=due.conditions,
        unchecked=len(due.unchecked),
    )


def load_coming(
    services: Services, *, within: timedelta, scope: str | Iterable[str] | None
) -> Coming:
    """Return what comes in the scopes of a call; see `Triggers.coming`.

    Raises:
        InvalidInput: a value cannot be used.
        UnknownScope: there is no such scope.
    """
    check_within(within)
    scopes = choose_scopes(scope, services, None).scopes
    criteria = Criteria(
        scopes=scopes,
        kinds=DATED,
        statuses=frozenset({Status.CURRENT}),
        topic_summaries=False,
        unended_at=services.clock(),
    )
    memories = load_page(services.storage, criteria, _MOST_READ, None).memories
    retelling = find_retelling(memories)
    kept = [memory for memory in memories if memory.id not in retelling.instead]
    coming = list_coming(services, scopes, kept, within=within)
    shown = tuple(day for day in coming.days if day.when is not When.LATER)
    services.note_read(day.memory for day in shown)
    return evolve(coming, days=shown)


def list_next_reminders(services: Services) -> list[tuple[Memory, datetime]]:
    """Return the next reminder with a date of each scope, and when it is due; no text is read."""
    now, nearest = services.clock(), dict[str, tuple[Memory, datetime]]()
    for entry in read_book(services).values():
        memory = entry.memory
        moment = read_date(memory) if entry.trigger is None else None
        if moment is None or moment < now:
            continue
        if memory.scope not in nearest or moment < nearest[memory.scope][1]:
            nearest[memory.scope] = memory, moment
    return sorted(nearest.values(), key=lambda pair: (pair[1], pair[0].id))


def _is_within(scope: str, scopes: Collection[str] | None) -> bool:
    return scopes is None or scope in scopes


def _find_today(services: Services) -> tuple[datetime, datetime]:
    """Return the beginning of today and of tomorrow in the configured time zone."""
    local = in_zone(services.clock(), services.config.time_zone)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return midnight.astimezone(UTC), (midnight + timedelta(days=1)).astimezone(UTC)


def _place_reminders(
    services: Services,
    found: Mapping[str, tuple[Memory, datetime]],
    told: Sequence[Memory],
    today: datetime,
    place: Callable[[datetime], When],
) -> Iterator[ComingDay]:
    """Yield the reminders; one whose text names days is left out once these are over."""
    zone = services.config.time_zone
    for memory, moment in found.values():
        told_by = _find_end(memory, told)
        if told_by is None and moment < today and _is_over(services, memory, today):
            continue
        local = in_zone(moment, zone)
        yield ComingDay(
            memory=memory,
            when=place(moment) if told_by is None else When.DONE,
            at=moment,
            is_timed=(local.hour, local.minute) != (0, 0),
            told_by=told_by,
        )


def _find_end(reminder: Memory, told: Iterable[Memory]) -> Memory | None:
    """Return the first memory that says, in the words of a reminder, that it is done."""
    later = [memory for memory in told if memory.happened_at > reminder.happened_at]
    ending = [
        memory for memory in later if share_of_words(reminder.text, memory.text) >= _DONE_SHARE
    ]
    return min(ending, key=lambda memory: memory.happened_at, default=None)


def _is_over(services: Services, memory: Memory, today: datetime) -> bool:
    """Return whether the days that a text names are over by today."""
    every = _find_days(services, memory, memory.happened_at)
    return bool(every) and all(day.end <= today for day in every)


def _read_days(
    services: Services,
    memories: Iterable[Memory],
    today: datetime,
    place: Callable[[datetime], When],
) -> Iterator[ComingDay]:
    """Yield the first day from today on that the text of each of `memories` names."""
    for memory in memories:
        if memory.kind not in DATED:
            continue
        days = _find_days(services, memory, today)
        if days:
            day = min(days, key=lambda day: day.start)
            at = max(day.start, today)
            yield ComingDay(
                memory=memory, when=place(at), at=at, is_timed=day.is_timed, span=day.span
            )


def _find_days(services: Services, memory: Memory, since: datetime) -> tuple[times.NamedDay, ...]:
    """Return the days in a text, as they were meant when it was told."""
    config = services.config
    return times.find_days(
        memory.text,
        # What was said of a time ahead was said before it.
        told_at=min(memory.happened_at, memory.stored_at),
        since=since,
        zone=config.time_zone,
        week_start=config.week_start,
    )


def _tell_once(days: Sequence[ComingDay]) -> list[ComingDay]:
    """Return the days without those that a later memory tells of the same day.

    A reminder stays, as it is to be done.
    """
    kept: list[ComingDay] = []
    for day in sorted(days, key=lambda day: day.memory.happened_at, reverse=True):
        is_told = any(
            other.at.date() == day.at.date()
            and share_of_words(_leave_out_day(other), _leave_out_day(day)) >= _SAME_SHARE
            for other in kept
        )
        if day.memory.kind is Kind.REMINDER or not is_told:
            kept.append(day)
    return [day for day in days if day in kept]


def _leave_out_day(day: ComingDay) -> str:
    """Return the text of a memory without the words that name its day."""
    start, end = day.span or (0, 0)
    return day.memory.text[:start] + day.memory.text[end:]
