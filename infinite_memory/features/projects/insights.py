"""Insights: how work on repositories went, in numbers that a page or a terminal can show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum

from attrs import evolve, frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.criteria import Conditions
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.timestamps import in_zone
from infinite_memory.engine.retrieval.search_request import build_criteria
from infinite_memory.engine.scopes import ALL
from infinite_memory.engine.services import Services
from infinite_memory.features.projects.chunk import Chunk, WorkOutcome
from infinite_memory.features.projects.hard_spots import HardSpot, hard_components, hard_files
from infinite_memory.features.projects.loading import load_chunks
from infinite_memory.features.projects.patterns import (
    Pattern,
    PatternKind,
    Patterns,
    cluster_chunks,
    find_patterns,
)
from infinite_memory.features.projects.recalls import Recalls, count_recalls, session_of
from infinite_memory.features.projects.repositories import known_repository, list_repositories
from infinite_memory.features.projects.solved_again import SolvedAgain, find_solved_again
from infinite_memory.features.sessions.shown import NOTHING_SHOWN, Receipt, sum_shown

NO_OUTCOME = "unknown"
"""Stands for the outcome of chunks that have none."""

_MOST = 10_000
_WEEKDAYS = {"monday": 0, "saturday": 5, "sunday": 6}
_ENDS = (WorkOutcome.SUCCESS, WorkOutcome.FAILED, WorkOutcome.ABANDONED)


class Step(StrEnum):
    """How long a period is."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


_LONGEST = {Step.DAY: 45, Step.WEEK: 3 * 366, Step.MONTH: 20 * 366}
_DAYS_ON = {Step.DAY: 1, Step.WEEK: 7, Step.MONTH: 31, Step.YEAR: 366}


@frozen(kw_only=True)
class Calendar:
    """Where days begin: an IANA time zone, None for the zone of the machine; and where weeks do."""

    zone: str | None = None
    week_start: str = "monday"

    def day_of(self, moment: datetime) -> date:
        """Return the day of a moment."""
        return in_zone(moment, self.zone).date()

    def begin_of(self, day: date, step: Step) -> date:
        """Return the first day of the period that holds a day."""
        if step is Step.DAY:
            return day
        if step is not Step.WEEK:
            return day.replace(month=day.month if step is Step.MONTH else 1, day=1)
        days = (day.weekday() - _WEEKDAYS[self.week_start]) % 7
        # There is no day before the first one of the calendar.
        return day - timedelta(days=min(days, day.toordinal() - 1))


@frozen(kw_only=True)
class Period(PlainData):
    """The chunks of a period that begins on `begin`: counts, and minutes by repository."""

    begin: date
    kinds: Mapping[str, int]
    outcomes: Mapping[str, int]
    minutes: Mapping[str, float]


@frozen(kw_only=True)
class Insights(PlainData):
    """How the work on repositories went, from `chunks` chunks in `sessions` sessions.

    `scope` is the repository, None for all that are open. `more` says that there are earlier chunks
    which were left out. `first` and `last` are the times of the first and the last chunk.

    `periods` are all between the two, also those without work: days up to 45 of them, else weeks up
    to three years, months up to twenty, or years. `kinds` and `outcomes` count chunks; a chunk
    without an outcome is under "unknown". `minutes` is the time of the `timed` chunks, by scope of
    the repository; further chunks have no time, so that the time spent is at least that.
    `success` is the share of successes among the chunks that succeeded, failed or were abandoned,
    None if there are none.

    `problems` are the recurring problems, see `Pattern`. `shown` is what sessions at work on the
    repository, or all sessions, were shown unasked in the last ninety days of that time. The
    further parts say how they count.
    """

    scope: str | None
    chunks: int
    more: bool
    sessions: int
    first: datetime | None
    last: datetime | None
    step: Step
    periods: tuple[Period, ...]
    kinds: Mapping[str, int]
    outcomes: Mapping[str, int]
    success: float | None
    minutes: Mapping[str, float]
    timed: int
    files: tuple[HardSpot, ...]
    components: tuple[HardSpot, ...]
    problems: tuple[Pattern, ...]
    recalls: Recalls
    solved_again: tuple[SolvedAgain, ...]
    shown: Receipt = NOTHING_SHOWN


def get_insights(
    services: Services, repository: str | None, timeframe: str | None = None
) -> Insights:
    """Return how the work on a repository went, or on all that are open.

    The newest 10,000 chunks are counted, and the newest 1,000 problems compared among themselves.

    Raises:
        InvalidInput: the timeframe cannot be read.
        UnknownScope: nothing is stored of the repository.
    """
    scope = None if repository is None else known_repository(services, repository)
    scopes = list_repositories(services) if scope is None else [scope]
    conditions: Conditions = {"scope": scope or ALL, "when": timeframe}
    criteria = build_criteria(services, "", conditions)
    loaded = load_chunks(
        services, scopes, since=criteria.since, until=criteria.until, most=_MOST + 1
    )
    chunks = loaded[:_MOST]
    clusters = cluster_chunks(services, chunks)
    if services.usage is not None:
        services.usage.flush()
    config = services.config
    insights = make_insights(
        chunks,
        usage=services.storage.usage([chunk.id for chunk in chunks]),
        clusters=clusters,
        patterns=find_patterns(services, chunks, scope=scope, clusters=clusters),
        calendar=Calendar(zone=config.time_zone, week_start=config.week_start),
        more=len(loaded) > len(chunks),
    )
    at_work = None if scope is None and services.confinement is None else scopes
    shown = sum_shown(config.home, at_work, since=criteria.since, until=criteria.until)
    return evolve(insights, shown=shown)


def make_insights(
    chunks: Sequence[Chunk],
    *,
    usage: Mapping[str, Usage],
    clusters: Sequence[Sequence[Chunk]],
    patterns: Patterns,
    calendar: Calendar,
    more: bool = False,
) -> Insights:
    """Return the insights of chunks, which come newest first.

    `usage` is the usage of the chunks, by id; `clusters` are groups of chunks on the same problem.
    """
    step, periods = _make_periods(chunks, calendar)
    outcomes = _count_names(map(_name_outcome, chunks))
    ended = sum(outcomes.get(end.value, 0) for end in _ENDS)
    return Insights(
        scope=patterns.scope,
        chunks=len(chunks),
        more=more,
        sessions=len(set(map(session_of, chunks))),
        first=chunks[-1].happened_at if chunks else None,
        last=chunks[0].happened_at if chunks else None,
        step=step,
        periods=periods,
        kinds=_count_names(chunk.kind.value for chunk in chunks),
        outcomes=outcomes,
        success=outcomes.get(WorkOutcome.SUCCESS.value, 0) / ended if ended else None,
        minutes=_sum_minutes(chunks),
        timed=sum(chunk.minutes is not None for chunk in chunks),
        files=hard_files(chunks),
        components=hard_components(chunks),
        problems=patterns.of(PatternKind.PROBLEM),
        recalls=count_recalls(chunks, usage),
        solved_again=find_solved_again(clusters),
    )


def _make_periods(chunks: Sequence[Chunk], calendar: Calendar) -> tuple[Step, tuple[Period, ...]]:
    """Return the periods from the first chunk to the last, without a gap."""
    if not chunks:
        return Step.DAY, ()
    days = [calendar.day_of(chunk.happened_at) for chunk in chunks]
    first, last = min(days), max(days)
    step = next((step for step, most in _LONGEST.items() if (last - first).days < most), Step.YEAR)
    grouped: dict[date, list[Chunk]] = {}
    for chunk, day in zip(chunks, days, strict=True):
        grouped.setdefault(calendar.begin_of(day, step), []).append(chunk)
    begins = _list_begins(calendar, first, last, step)
    return step, tuple([_make_period(begin, grouped.get(begin, ())) for begin in begins])


def _list_begins(calendar: Calendar, first: date, last: date, step: Step) -> Iterator[date]:
    begin = calendar.begin_of(first, step)
    while True:
        yield begin
        # A day in the next period, which is not that after it.
        later = min(begin.toordinal() + _DAYS_ON[step], date.max.toordinal())
        following = calendar.begin_of(date.fromordinal(later), step)
        if following > last or following <= begin:
            return
        begin = following


def _make_period(begin: date, chunks: Sequence[Chunk]) -> Period:
    return Period(
        begin=begin,
        kinds=_count_names(chunk.kind.value for chunk in chunks),
        outcomes=_count_names(map(_name_outcome, chunks)),
        minutes=_sum_minutes(chunks),
    )


def _name_outcome(chunk: Chunk) -> str:
    return NO_OUTCOME if chunk.outcome is None else chunk.outcome.value


def _count_names(names: Iterable[str]) -> dict[str, int]:
    """Return how often every name comes, the most frequent first."""
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def _sum_minutes(chunks: Iterable[Chunk]) -> dict[str, float]:
    """Return the minutes of every repository that has any, the most first."""
    minutes: dict[str, float] = {}
    for chunk in chunks:
        if chunk.minutes:
            minutes[chunk.scope] = round(minutes.get(chunk.scope, 0) + chunk.minutes, 2)
    return dict(sorted(minutes.items(), key=lambda item: (-item[1], item[0])))
