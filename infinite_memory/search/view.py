"""What one search looks at: segments, and which of their documents are still alive.

A view never changes, so a search needs no lock and a refresh disturbs no search that is under way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from infinite_memory.model.codec import to_micros
from infinite_memory.model.criteria import Criteria
from infinite_memory.search.document import KINDS, STATUSES, Document, hash_tag
from infinite_memory.search.segment import Segment, build, merge

__all__ = ["Part", "View"]

Bools = NDArray[np.bool_]


@frozen(kw_only=True, eq=False)
class Part:
    """A segment, and which of its documents are alive: bool, shape (n,)."""

    segment: Segment
    alive: Bools
    living: int = field()

    @living.default
    def _count(self) -> int:
        return int(np.count_nonzero(self.alive))

    def eligible(self, criteria: Criteria) -> Bools:
        """Return which documents are alive and meet `criteria`: bool, shape (n,)."""
        segment, mask = self.segment, self.alive.copy()
        if criteria.scopes is not None:
            mask &= _named(segment, criteria.scopes)[segment.scope]
        if criteria.kinds is not None:
            mask &= np.array([kind in criteria.kinds for kind in KINDS])[segment.kind]
        if criteria.statuses is not None:
            mask &= np.array([status in criteria.statuses for status in STATUSES])[segment.status]
        if criteria.conversation_id is not None:
            mask &= _named(segment, {criteria.conversation_id})[segment.conversation]
        if criteria.since is not None:
            mask &= segment.happened >= to_micros(criteria.since)
        if criteria.until is not None:
            mask &= segment.happened < to_micros(criteria.until)
        for tag in criteria.tags:
            tagged = np.zeros(len(segment), np.bool_)
            tagged[segment.postings(hash_tag(tag))[0]] = True
            mask &= tagged
        return mask


@frozen(kw_only=True, eq=False)
class View:
    """Parts in the order they were made, and the cursor of the change feed they stand at."""

    parts: tuple[Part, ...] = ()
    cursor: int = 0

    def __len__(self) -> int:
        return sum(part.living for part in self.parts)

    def changed(
        self,
        documents: Sequence[Document],
        gone: Sequence[str],
        *,
        cursor: int,
        dimensions: int,
    ) -> View:
        """Return the view after `documents` were added or replaced and the ids `gone` removed."""
        ids = [document.id for document in documents]
        parts = list(_bury(self.parts, [*ids, *gone]))
        if documents:
            segment = build(documents, dimensions=dimensions)
            parts.append(Part(segment=segment, alive=np.ones(len(segment), np.bool_)))
        return evolve(self, parts=tuple(_balance(parts)), cursor=cursor)

    def compact(self) -> View:
        """Return the same documents in a single segment without the dead."""
        if len(self.parts) < 2 and all(part.living == len(part.segment) for part in self.parts):
            return self
        return evolve(self, parts=(_merged(self.parts),) if self.parts else ())


def _named(segment: Segment, wanted: frozenset[str] | set[str]) -> Bools:
    """Return which codes of a segment's names are wanted; never empty."""
    return np.array([name in wanted for name in segment.names] or [False])


def _bury(parts: Sequence[Part], ids: Sequence[str]) -> Iterator[Part]:
    """Yield `parts` with the documents about `ids` dead."""
    for part in parts:
        found = [part.segment.find(memory_id) for memory_id in ids]
        dead = [doc for doc in found if doc is not None and part.alive[doc]]
        if dead:
            alive = part.alive.copy()
            alive[dead] = False
            part = Part(segment=part.segment, alive=alive)
        if part.living:
            yield part


def _balance(parts: list[Part]) -> list[Part]:
    """Merge the youngest parts while one is no smaller than half its elder.

    So a store of n memories has about log2(n) segments, and each memory is copied about log2(n)
    times, however small the changes come in.
    """
    while len(parts) > 1 and 2 * len(parts[-1].segment) >= len(parts[-2].segment):
        parts[-2:] = [_merged(parts[-2:])]
    return parts


def _merged(parts: Sequence[Part]) -> Part:
    segment = merge([(part.segment, part.alive) for part in parts])
    return Part(segment=segment, alive=np.ones(len(segment), np.bool_))
