"""Recall by time: the memories of a stretch of time in its order, and a digest of the whole."""

from __future__ import annotations

from datetime import date

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from infinite_memory.errors import InvalidInput
from infinite_memory.model.checks import check_count, check_flag
from infinite_memory.model.codec import from_micros, to_micros
from infinite_memory.model.criteria import Conditions, Criteria
from infinite_memory.model.memory import Memory
from infinite_memory.model.recall_page import Digest, Landmark, Recalled
from infinite_memory.model.time_range import TimeRange, format_range
from infinite_memory.operations.load_memories import load_memories
from infinite_memory.operations.retrieval.search_request import criteria_of
from infinite_memory.operations.services import Services
from infinite_memory.protocols import SupportsTimeline, Timeline
from infinite_memory.search.linear import LinearTimeline
from infinite_memory.search.timeline import TimelinePosition
from infinite_memory.storage.paging import decode_cursor, encode_position
from infinite_memory.times.calendar import Calendar, WeekStart

__all__ = ["recall_by_time"]

MAX_LIMIT = 1000
# So many are read at once until one is there: another process may have erased some meanwhile.
_TRIED = 8


def recall_by_time(
    services: Services,
    conditions: Conditions,
    *,
    limit: int,
    after: str | None,
    newest_first: bool,
) -> Recalled:
    """Return at most `limit` memories of a window, with a digest where it holds more.

    Raises:
        InvalidInput: no time is given, or it cannot be read, or another value cannot be used.
        UnknownScope: a scope was asked for that does not exist.
    """
    check_count(limit, "limit", low=1, high=MAX_LIMIT)
    check_flag(newest_first, "newest_first")
    bound = None if after is None else decode_cursor(after)
    criteria = criteria_of(services, "", conditions)
    if criteria.when is None and criteria.since is None and criteria.until is None:
        raise InvalidInput(
            'there is no time to recall: give when, such as "last week", "March 2024", "since'
            ' Monday" or "always", or since and until'
        )
    timeline = _timeline_of(services, criteria)
    ahead = timeline.stretch(bound, limit + 1, newest_first=newest_first)
    places, more = ahead[:limit], len(ahead) > limit
    window = TimeRange(criteria.since, criteria.until)
    shown = format_range(window, services.config.time_zone)
    recalled = Recalled(
        memories=tuple(_admitted(services, criteria, places)),
        window=window,
        said=shown if criteria.when is None else criteria.when.said,
        when=criteria.when,
        total=len(timeline.happened),
        newest_first=newest_first,
        next=encode_position(places[-1]) if more else None,
    )
    if not len(timeline.happened):
        return _among_others(services, criteria, recalled)
    if more and bound is None:
        return evolve(recalled, digest=_digest(services, timeline, criteria))
    return recalled


def _admitted(
    services: Services, criteria: Criteria, places: list[TimelinePosition]
) -> list[Memory]:
    ids = [memory_id for _, memory_id in places]
    memories = load_memories(services, ids)
    # Another process may have changed or erased one since the index was read.
    return [memories[i] for i in ids if i in memories and criteria.admit(memories[i])]


def _timeline_of(services: Services, criteria: Criteria) -> Timeline:
    index = services.index
    if isinstance(index, SupportsTimeline):
        return index.timeline(criteria)
    return LinearTimeline(services.storage, criteria)


def _among_others(services: Services, criteria: Criteria, recalled: Recalled) -> Recalled:
    """Return the answer of an empty window with the nearest memories around it."""
    since, until = criteria.since, criteria.until
    earlier = evolve(criteria, since=None, until=since)
    later = evolve(criteria, since=until, until=None)
    return evolve(
        recalled,
        before=None if since is None else _end(services, earlier, newest_first=True),
        after=None if until is None else _end(services, later, newest_first=False),
    )


def _end(services: Services, criteria: Criteria, *, newest_first: bool) -> Landmark | None:
    timeline = _timeline_of(services, criteria)
    return _landmark(services, timeline, criteria, newest_first=newest_first)


def _digest(services: Services, timeline: Timeline, criteria: Criteria) -> Digest:
    return Digest(
        first=_landmark(services, timeline, criteria, newest_first=False),
        last=_landmark(services, timeline, criteria, newest_first=True),
        by_day=_by_day(services, timeline.happened),
        by_scope=timeline.by_scope(),
        by_kind=timeline.by_kind(),
    )


def _landmark(
    services: Services, timeline: Timeline, criteria: Criteria, *, newest_first: bool
) -> Landmark | None:
    after: TimelinePosition | None = None
    while places := timeline.stretch(after, _TRIED, newest_first=newest_first):
        for memory in _admitted(services, criteria, places):
            return Landmark.of(memory)
        after = places[-1]
    return None


def _by_day(services: Services, happened: NDArray[np.int64]) -> dict[date, int]:
    """Count moments, which are ascending, by the days of the user's time zone."""
    config = services.config
    calendar = Calendar(
        now=services.clock(), zone=config.time_zone, week_start=WeekStart(config.week_start)
    )
    counts: dict[date, int] = {}
    place = 0
    while place < len(happened):
        day, end = calendar.day_of(from_micros(int(happened[place])))
        until = len(happened)
        if end is not None:
            until = int(np.searchsorted(happened, to_micros(end), "left"))
        counts[day] = until - place
        place = until
    return counts
