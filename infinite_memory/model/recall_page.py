"""What `recall_by_time` answers: the memories of a stretch of time, in its order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, datetime

from attrs import frozen

from infinite_memory.model.memory import Memory
from infinite_memory.model.time_range import Reading, TimeRange

__all__ = ["Digest", "Landmark", "Recalled"]

_YEAR_CHARS, _MONTH_CHARS = 4, 7


@frozen(kw_only=True)
class Landmark:
    """A memory by its id, heading and time."""

    id: str
    heading: str
    happened_at: datetime

    @classmethod
    def of(cls, memory: Memory) -> Landmark:
        """Return that of `memory`."""
        return cls(id=memory.id, heading=memory.heading, happened_at=memory.happened_at)


@frozen(kw_only=True)
class Digest:
    """A whole window in brief, whatever its size; the counts are exact.

    `by_day` has the days of the user's time zone in their order, none with 0; one is the very
    stretch that `when` reads a day as. `by_scope` and `by_kind` begin with the largest.
    """

    first: Landmark | None
    last: Landmark | None
    by_day: Mapping[date, int]
    by_scope: Mapping[str, int]
    by_kind: Mapping[str, int]

    def by_time(self, most: int) -> tuple[str, dict[str, int]]:
        """Return "day", "month" or "year" with the counts by it, as in ISO 8601.

        It is the finest that has at most `most` entries, or else the year.
        """
        counts = {day.isoformat(): count for day, count in self.by_day.items()}
        if len(counts) <= most:
            return "day", counts
        months = _coarser(counts, _MONTH_CHARS)
        return ("month", months) if len(months) <= most else ("year", _coarser(counts, _YEAR_CHARS))

    def largest_scopes(self, most: int) -> tuple[dict[str, int], int]:
        """Return at most `most` scopes, and how many memories the others have together."""
        largest = dict(list(self.by_scope.items())[:most])
        return largest, sum(self.by_scope.values()) - sum(largest.values())


@frozen(kw_only=True)
class Recalled:
    """A page of the memories of a window, oldest first unless `newest_first`.

    `when` is how the words of time were read, None where moments were given; `said` shows the
    window in the user's time zone in both cases. `total` counts all memories of the window, and
    `next` is the cursor of the next page, None at the end. The first page has a `digest` where the
    window holds more than the page. Of an empty window `before` and `after` are the nearest
    memories around it that meet all other conditions.
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
    def order(self) -> str:
        """The order of the memories, in words."""
        return "newest first" if self.newest_first else "oldest first"

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)


def _coarser(counts: Mapping[str, int], chars: int) -> dict[str, int]:
    summed: Counter[str] = Counter()
    for day, count in counts.items():
        summed[day[:chars]] += count
    return dict(summed)
