"""Recall by time: the memories of a period, ordered by time, and a digest of the period."""

from __future__ import annotations

from datetime import date

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.protocols import SupportsTimeline, Timeline
from infinite_memory.core.values.checks import check_count, check_flag
from infinite_memory.core.values.codec import from_micros, to_micros
from infinite_memory.core.values.criteria import Conditions, Criteria
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.recall_page import Digest, Landmark, Recalled
from infinite_memory.core.values.time_range import TimeRange, format_range
from infinite_memory.engine.load_memories import load_memories
from infinite_memory.engine.retrieval.search_request import build_criteria, leave_out_topics
from infinite_memory.engine.services import Services
from infinite_memory.search.linear import LinearTimeline
from infinite_memory.search.timeline import TimelinePosition
from infinite_memory.storage.paging import decode_cursor, encode_position
from infinite_memory.times.calendar import Calendar, WeekStart

MAX_LIMIT = 1000
# The number of memories loaded per attempt: another process may have erased some of them.
_ATTEMPT = 8


def recall_by_time(
    services: Services,
    conditions: Conditions,
    *,
    limit: int,
    after: str | None,
    newest_first: bool,
) -> Recalled:
    """Return at most `limit` memories of a period, with a digest if it has more.

    Every memory on the page counts as recalled. Topic summaries are left out unless `kinds` names
    summaries: nobody told them at any time.

    Raises:
        InvalidInput: no time is given, or it cannot be read, or another value cannot be used.
        UnknownScope: a scope does not exist.
    """
    recalled = _read_period(
        services, conditions, limit=limit, after=after, newest_first=newest_first
    )
    services.note_returned(recalled, is_recall=True)
    return recalled


def _read_period(
    services: Services,
    conditions: Conditions,
    *,
    limit: int,
    after: str | None,
    newest_first: bool,
) -> Recalled:
    check_count(limit, "limit", low=1, high=MAX_LIMIT)
    check_flag(newest_first, "newest_first")
    bound = None if after is None else decode_cursor(after)
    criteria = leave_out_topics(build_criteria(services, "", conditions))
    if criteria.when is None and criteria.since is None and criteria.until is None:
        raise InvalidInput(
            'there is no time to recall: give when, such as "last week", "March 2024", "since'
            ' Monday" or "always", or since and until'
        )
    timeline = timeline_of(services, criteria)
    ahead = timeline.page(bound, limit + 1, newest_first=newest_first)
    positions, more = ahead[:limit], len(ahead) > limit
    window = TimeRange(criteria.since, criteria.until)
    shown = format_range(window, services.config.time_zone)
    recalled = Recalled(
        memories=tuple(_load_admitted(services, criteria, positions)),
        window=window,
        said=shown if criteria.when is None else criteria.when.said,
        when=criteria.when,
        total=len(timeline.moments),
        newest_first=newest_first,
        next=encode_position(positions[-1]) if more else None,
    )
    if not len(timeline.moments):
        return _add_landmarks(services, criteria, recalled)
    if more and bound is None:
        return evolve(recalled, digest=_make_digest(services, timeline, criteria))
    return recalled


def _load_admitted(
    services: Services, criteria: Criteria, positions: list[TimelinePosition]
) -> list[Memory]:
    ids = [memory_id for _, memory_id in positions]
    memories = load_memories(services, ids)
    # Another process may have changed or erased one since the index was read.
    return [memories[i] for i in ids if i in memories and criteria.admit(memories[i])]


def timeline_of(services: Services, criteria: Criteria) -> Timeline:
    """Return the memories that meet `criteria` by time, from the index if it can list them."""
    index = services.index
    if isinstance(index, SupportsTimeline):
        return index.timeline(criteria)
    return LinearTimeline(services.storage, criteria)


def _add_landmarks(services: Services, criteria: Criteria, recalled: Recalled) -> Recalled:
    """Return the answer of an empty period with the nearest memories before and after it."""
    since, until = criteria.since, criteria.until
    earlier = evolve(criteria, since=None, until=since)
    later = evolve(criteria, since=until, until=None)
    return evolve(
        recalled,
        before=None if since is None else _find_end(services, earlier, newest_first=True),
        after=None if until is None else _find_end(services, later, newest_first=False),
    )


def _find_end(services: Services, criteria: Criteria, *, newest_first: bool) -> Landmark | None:
    timeline = timeline_of(services, criteria)
    return _find_landmark(services, timeline, criteria, newest_first=newest_first)


def _make_digest(services: Services, timeline: Timeline, criteria: Criteria) -> Digest:
    return Digest(
        first=_find_landmark(services, timeline, criteria, newest_first=False),
        last=_find_landmark(services, timeline, criteria, newest_first=True),
        by_day=_count_by_day(services, timeline.moments),
        by_scope=timeline.by_scope(),
        by_kind=timeline.by_kind(),
    )


def _find_landmark(
    services: Services, timeline: Timeline, criteria: Criteria, *, newest_first: bool
) -> Landmark | None:
    after: TimelinePosition | None = None
    while positions := timeline.page(after, _ATTEMPT, newest_first=newest_first):
        for memory in _load_admitted(services, criteria, positions):
            return Landmark.of(memory)
        after = positions[-1]
    return None


def _count_by_day(services: Services, moments: NDArray[np.int64]) -> dict[date, int]:
    """Count ascending moments by day in the time zone of the user."""
    config = services.config
    calendar = Calendar(
        now=services.clock(), zone=config.time_zone, week_start=WeekStart(config.week_start)
    )
    counts: dict[date, int] = {}
    row = 0
    while row < len(moments):
        day, end = calendar.day_of(from_micros(int(moments[row])))
        next_row = len(moments)
        if end is not None:
            next_row = int(np.searchsorted(moments, to_micros(end), "left"))
        counts[day] = next_row - row
        row = next_row
    return counts
