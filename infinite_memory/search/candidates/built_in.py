"""The built-in index as an engine of candidates: exact, within the process.

A search of the index ranks every memory and needs none of it. It is the reference for engines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.protocols.candidates import Counts, Selection, WordMatches
from infinite_memory.core.values.entry import JournalEnd
from infinite_memory.search.candidates.counts import (
    count_selected,
    score_words,
    weigh_terms,
)
from infinite_memory.search.conversation.turns import NONE, _find_members, _widen
from infinite_memory.search.cosine import ABSENT, QueryVector, approximate_cosines
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import Document, hash_id
from infinite_memory.search.reader import Reader, merge
from infinite_memory.search.scoring import _happened_within
from infinite_memory.search.segment import Segment, build, sort_distinct

BESIDE = 2
"""How many turns before a memory, and after it, are read with it."""

_Part = tuple[Segment, DocFilter]
_Found = list[tuple[float, str]]


class BuiltInCandidates:
    """Candidates from the segments of a reader."""

    def __init__(self, dimensions: int, *, second_length: float | None = None) -> None:
        """Begin without any document."""
        self._dimensions = dimensions
        self._second_length = second_length
        self._lock = Lock()
        self.reader = Reader()
        self._end = JournalEnd()

    def match_words(
        self, shares: Mapping[int, float], selection: Selection, *, limit: int
    ) -> WordMatches[Segment]:
        """Return the best `limit` memories by BM25, and the counts of the selected memories."""
        parts = list(self._select(selection))
        counts = count_selected(Counts(), parts, shares)
        query = weigh_terms(shares, counts)
        found: _Found = []
        for segment, doc_filter in parts:
            found += _best(segment, doc_filter, score_words(query, segment, doc_filter), 0.0, limit)
        chosen = [(part, f.contains(np.arange(len(part)))) for part, f in parts]
        return WordMatches(
            ids=tuple(i for _, i in sorted(found, key=_order)[:limit]),
            counts=counts,
            sample=merge(chosen) if chosen else build([], dimensions=self._dimensions),
        )

    def nearest(
        self, vectors: NDArray[np.float32], selection: Selection, *, limit: int
    ) -> dict[str, float]:
        """Return the ids of the `limit` memories nearest to each vector, with their cosines."""
        parts, nearest = list(self._select(selection)), dict[str, float]()
        for vector in vectors:
            query, found = QueryVector.of(vector, self._second_length), _Found()
            for part in parts:
                found += _best(*part, approximate_cosines(query, *part), float(ABSENT), limit)
            for cosine, memory_id in sorted(found, key=_order)[:limit]:
                nearest[memory_id] = max(cosine, nearest.get(memory_id, cosine))
        return nearest

    def columns(self, ids: Collection[str], selection: Selection) -> Segment:
        """Return the columns of the selected memories among `ids`, and of those beside them."""
        parts = list(self._select(selection))
        if not parts:
            return build([], dimensions=self._dimensions)
        masks = [_mask_ids(ids, *part) for part in parts]
        alike = np.concatenate(
            [segment.canonical_hash[mask] for (segment, _), mask in zip(parts, masks, strict=True)]
        )
        for (segment, doc_filter), mask in zip(parts, masks, strict=True):
            same = segment.find_by_canonical_hash(sort_distinct(alike))
            mask[same[doc_filter.contains(same)]] = True
        _widen_in_conversations(parts, masks)
        return merge([(segment, mask) for (segment, _), mask in zip(parts, masks, strict=True)])

    def position(self) -> int:
        """Return the cursor of the feed up to which it has taken in every change."""
        return self.reader.cursor

    def end(self) -> JournalEnd:
        """Return the end of the journal that was given last."""
        return self._end

    def take_in(
        self,
        entries: Sequence[Document],
        gone: Collection[str],
        *,
        after: int,
        position: int,
        end: JournalEnd = JournalEnd(),  # noqa: B008 - a frozen value
    ) -> bool:
        """Replace `entries`, remove the ids in `gone` and move to `position`."""
        with self._lock:
            if self.reader.cursor != after:
                return False
            self._end = end
            self.reader = self.reader.apply_changes(
                entries, list(gone), cursor=position, dimensions=self._dimensions
            )
            return True

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self.reader, self._end = Reader(), JournalEnd()

    def clear_others(self) -> None:
        """Do nothing: there is one model."""

    def scrub(self) -> None:
        """Do nothing: what is gone is freed with the memory of the process."""

    def close(self) -> None:
        """Do nothing."""

    def _select(self, selection: Selection) -> Iterator[_Part]:
        hashes = np.array([hash_id(i) for i in selection.without], np.uint64)
        for part in self.reader.segment_readers:
            segment, doc_filter = part.segment, part.eligible(selection.criteria)
            mask = doc_filter.contains(np.arange(len(segment)))
            if len(hashes):
                mask = mask & ~np.isin(segment.id_hash, hashes)
            if selection.within is not None:
                mask = mask & _happened_within(
                    DocFilter(size=len(segment)), segment, selection.within
                )
            yield segment, DocFilter.of(mask)


def _best(
    segment: Segment, doc_filter: DocFilter, scores: NDArray[np.float32], above: float, limit: int
) -> _Found:
    best = np.argsort(-scores, kind="stable")[:limit]
    return [
        (float(scores[position]), segment.id_of(doc_filter.doc_at(position)))
        for position in best[scores[best] > above].tolist()
    ]


def _order(found: tuple[float, str]) -> tuple[float, str]:
    return -round(found[0], 6), found[1]


def _mask_ids(ids: Collection[str], segment: Segment, doc_filter: DocFilter) -> NDArray[np.bool_]:
    mask = np.isin(segment.id_hash, np.array([hash_id(i) for i in ids], np.uint64))
    return np.asarray(mask & doc_filter.contains(np.arange(len(segment))), np.bool_)


def _widen_in_conversations(parts: Sequence[_Part], masks: Sequence[NDArray[np.bool_]]) -> None:
    """Add to `masks`, by part, the turns beside those that they select."""
    columns, docs = list[NDArray[np.intp]](), list[NDArray[np.intp]]()
    for number, ((segment, _), mask) in enumerate(zip(parts, masks, strict=True)):
        told = mask & (segment.conversation != segment.code_of.get("", NONE))
        docs.append(told.nonzero()[0])
        columns.append(np.full(len(docs[-1]), number, np.intp))
    if not any(map(len, docs)):
        return
    segments, filters = zip(*parts, strict=True)
    members = _find_members(segments, filters, np.concatenate(columns), np.concatenate(docs))
    wanted, together = members.is_candidate, members.code[1:] == members.code[:-1]
    for _ in range(BESIDE):
        wanted = _widen(wanted, together)
    for number, mask in enumerate(masks):
        mask[members.doc[wanted & (members.segment_index == number)]] = True
