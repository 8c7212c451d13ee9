"""The memories of the index, ordered by time: pages of ids, and exact counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.search.document import KINDS
from infinite_memory.search.reader import Reader
from infinite_memory.search.segment import Segment

TimelinePosition = tuple[int, str]
"""The position of a memory: microseconds of `happened_at`, then the id."""


@frozen(kw_only=True, eq=False)
class IndexTimeline:
    """The memories that meet the criteria, ordered by time.

    Columns of shape (n,): `moments` int64, ascending, microseconds since the epoch; `segment`
    int32, positions in `segments`; `doc` int32, document numbers. The order of equal moments is
    undefined.
    """

    segments: tuple[Segment, ...]
    moments: NDArray[np.int64]
    segment: NDArray[np.int32]
    doc: NDArray[np.int32]

    @classmethod
    def of(cls, reader: Reader, criteria: Criteria) -> IndexTimeline:
        """Return the memories in `reader` that meet `criteria`."""
        happened, docs = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        for segment_reader in reader.segment_readers:
            doc_filter = segment_reader.eligible(criteria)
            happened.append(doc_filter.take(segment_reader.segment.happened))
            docs.append(doc_filter.take(np.arange(doc_filter.size, dtype=np.int32)))
        whole = np.concatenate(happened)
        sizes = [len(segment_docs) for segment_docs in docs[1:]]
        order = np.argsort(whole, kind="stable")
        return cls(
            segments=tuple(segment_reader.segment for segment_reader in reader.segment_readers),
            moments=whole[order],
            segment=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)[order],
            doc=np.concatenate(docs)[order],
        )

    def __len__(self) -> int:
        return len(self.moments)

    def page(
        self, after: TimelinePosition | None, limit: int, *, newest_first: bool
    ) -> list[TimelinePosition]:
        """Return the next `limit` positions after `after`, None for the beginning.

        Equal moments are ordered by id, in the same direction.
        """
        times = self.moments
        if newest_first:
            end = len(times) if after is None else self._first_row(after[0], past=True)
            begin = (end if after is None else self._first_row(after[0])) - limit
            begin = self._first_row(int(times[begin])) if begin > 0 else 0
        else:
            begin = 0 if after is None else self._first_row(after[0])
            end = (0 if after is None else self._first_row(after[0], past=True)) + limit
            end = (
                self._first_row(int(times[end - 1]), past=True) if end < len(times) else len(times)
            )
        positions = ((int(times[row]), self._id(row)) for row in range(begin, end))
        ahead = sorted(
            (p for p in positions if after is None or (p < after if newest_first else p > after)),
            reverse=newest_first,
        )
        return ahead[:limit]

    def by_scope(self) -> dict[str, int]:
        """Return the number of memories by scope, largest first."""
        return self._count_by(lambda segment: (segment.scope, segment.names))

    def by_kind(self) -> dict[str, int]:
        """Return the number of memories by kind, largest first."""
        return self._count_by(lambda segment: (segment.kind, KINDS))

    def _count_by(
        self, column: Callable[[Segment], tuple[NDArray[np.integer], tuple[str, ...]]]
    ) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for number, segment in enumerate(self.segments):
            codes, names = column(segment)
            held = np.bincount(codes[self.doc[self.segment == number]])
            for code in np.flatnonzero(held).tolist():
                counts[str(names[code])] += int(held[code])
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def _first_row(self, moment: int, *, past: bool = False) -> int:
        """Return the first row at or after `moment`; with `past`, the first row after it."""
        return int(np.searchsorted(self.moments, moment, "right" if past else "left"))

    def _id(self, row: int) -> str:
        return self.segments[int(self.segment[row])].id_of(int(self.doc[row]))
