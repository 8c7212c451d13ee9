"""The result of `recall_by_time`: a page of the memories of a period, and a digest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.core.values.memory import Memory

if TYPE_CHECKING:
    from infinite_memory.core.values.time_range import Reading, TimeRange


_YEAR_CHARS, _MONTH_CHARS = 4, 7


@frozen(kw_only=True)
class Landmark(PlainData):
    """A memory by its id, heading and time."""

    id: str
    heading: str
    happened_at: datetime

    @classmethod
    def of(cls, memory: Memory) -> Landmark:
        """Return the landmark of `memory`."""
        return cls(id=memory.id, heading=memory.heading, happened_at=memory.happened_at)


@frozen(kw_only=True)
class Digest(PlainData):
    """Exact counts of all memories of a window.

    `by_day` has the days of the user's time zone in order, without empty days. `by_scope` and
    `by_kind` begin with the largest count.
    """

    first: Landmark | None
    last: Landmark | None
    by_day: Mapping[date, int]
    by_scope: Mapping[str, int]
    by_kind: Mapping[str, int]

    def by_time(self, most: int) -> tuple[str, dict[str, int]]:
        """Return "day", "month" or "year" with the counts by that unit, as in ISO 8601.

        It is the finest unit with at most `most` entries, or else the year.
        """
        counts = {day.isoformat(): count for day, count in self.by_day.items()}
        if len(counts) <= most:
            return "day", counts
        months = _sum_by_prefix(counts, _MONTH_CHARS)
        return (
            ("month", months)
            if len(months) <= most
            else ("year", _sum_by_prefix(counts, _YEAR_CHARS))
        )

    def largest_scopes(self, most: int) -> tuple[dict[str, int], int]:
        """Return the counts of the `most` largest scopes, and the sum of the remaining counts."""
        largest = dict(list(self.by_scope.items())[:most])
        return largest, sum(self.by_scope.values()) - sum(largest.values())


@frozen(kw_only=True)
class Recalled(PlainData):
    """A page of the memories of a window, oldest first unless `newest_first`.

    `when` is the reading of the words of time, None if datetimes were given; `said` shows the
    window in the user's time zone in both cases. `total` counts all memories of the window; `next`
    is the cursor of the next page, None at the end. The first page has a `digest` if the window
    holds more than the page. For an empty window, `before` and `after` are the nearest memories
    outside of it that meet the remaining conditions.
    """

    memories: tuple[Memory, ...]
    window: TimeRange
    said: str
    when: Reading | None
    total: int
    newest_first: bool
    next: str | None = None
    digest: Digest | None = None
    before: Landmark | None = None
    after: Landmark | None = None

    @property
    def landmarks(self) -> tuple[Landmark, ...]:
        """The landmarks of the page and of its digest."""
        digest = () if self.digest is None else (self.digest.first, self.digest.last)
        return tuple(mark for mark in (self.before, self.after, *digest) if mark is not None)

    @property
    def order(self) -> str:
        """The order of the memories, in words."""
        return "newest first" if self.newest_first else "oldest first"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name and the `order`, for `json.dumps`."""
        return {**PlainData.to_dict(self), "order": self.order}

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)


def _sum_by_prefix(counts: Mapping[str, int], chars: int) -> dict[str, int]:
    summed: Counter[str] = Counter()
    for day, count in counts.items():
        summed[day[:chars]] += count
    return dict(summed)
