"""An immutable view of the index: segments with masks of their live documents.

A search works on one reader. A refresh makes a new reader, so that searches need no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Status
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import (
    KINDS,
    STATUSES,
    TOPIC_SUMMARY,
    Document,
    hash_id,
    hash_tag,
)
from infinite_memory.search.segment import Segment, build, cumulate_sizes, sort_distinct, sort_order

_COLUMNS = (
    *("kind", "status", "happened", "stored", "held_from", "held_to"),
    *("is_question", "important", "canonical_hash", "length"),
)

_PASSAGE_COLUMNS = ("high", "low", "scale", "spans")
MERGED_AT_ONCE = 16_384
"""A search waits for the merge of segments with at most this many documents in all."""

_COMPARED_ONE_BY_ONE = 8
_MOST_RECENT = 8
"""To build a segment of so many documents anew takes less than to merge two segments."""

Bools = NDArray[np.bool_]


@frozen(kw_only=True, eq=False)
class SegmentReader:
    """A segment with the mask of its documents that are not deleted: bool, shape (n,)."""

    segment: Segment
    live_docs: Bools
    live_count: int = field()

    @live_count.default
    def _count(self) -> int:
        return int(np.count_nonzero(self.live_docs))

    def confine(self, codes: Sequence[int]) -> SegmentReader:
        """Return a reader of the live documents whose scope has one of `codes` alone."""
        segment = self.segment
        if len(codes) == len(segment.scope_codes):
            return self
        live_docs = self.live_docs & _mask_codes(segment.scope, codes, len(segment.names))
        return SegmentReader(segment=segment, live_docs=live_docs)

    def eligible(self, criteria: Criteria) -> DocFilter:
        """Return the live documents that meet `criteria`."""
        masks = list(self._conditions(criteria))
        if not masks:
            return DocFilter(size=len(self.segment))
        return DocFilter.of(masks[0] if len(masks) == 1 else np.logical_and.reduce(masks))

    def _conditions(self, criteria: Criteria) -> Iterator[Bools]:
        """Yield a mask for every condition that a document may fail."""
        segment = self.segment
        if self.live_count < len(segment):
            yield self.live_docs
        if criteria.scopes is not None:
            yield from _mask_scopes(segment, criteria.scopes)
        if criteria.kinds is not None:
            yield from _mask_names(segment.kind, segment.kind_codes, KINDS, criteria.kinds)
        if not criteria.topic_summaries and TOPIC_SUMMARY in segment.kind_codes:
            yield segment.kind != TOPIC_SUMMARY
        if criteria.statuses is not None:
            yield from _mask_names(
                segment.status, segment.status_codes, STATUSES, criteria.statuses
            )
        if criteria.conversation_id is not None:
            yield segment.conversation == segment.code_of.get(criteria.conversation_id, -1)
        yield from _mask_times(segment, criteria)
        for tag in criteria.tags:
            tagged = np.zeros(len(segment), np.bool_)
            tagged[segment.postings(hash_tag(tag))[0]] = True
            yield tagged


@frozen(kw_only=True, eq=False)
class Reader:
    """Segments, oldest first, and the cursor of the change feed up to which they are current.

    A background thread is merging the first `sealed` segments. Until it has finished, only their
    masks of live documents change. `recent` are the documents of the last segment if `add_new` made
    it and may build it anew.
    """

    segment_readers: tuple[SegmentReader, ...] = ()
    cursor: int = 0
    sealed: int = 0
    recent: tuple[Document, ...] = ()

    def __len__(self) -> int:
        return sum(segment_reader.live_count for segment_reader in self.segment_readers)

    @property
    def size_bytes(self) -> int:
        """The bytes of all segments, in memory or mapped."""
        return sum(part.segment.size_bytes for part in self.segment_readers)

    def ids(self) -> Iterator[str]:
        """Yield the ids of all memories."""
        for part in self.segment_readers:
            yield from map(part.segment.id_of, part.live_docs.nonzero()[0].tolist())

    def confine(self, choose_codes: Callable[[Segment], Sequence[int]]) -> Reader:
        """Return a reader of the documents alone whose scopes `choose_codes` gives by segment.

        Nothing that is told of it depends on the others, see `SegmentReader.live_docs`.
        """
        chosen = ((part, choose_codes(part.segment)) for part in self.segment_readers)
        confined = [part.confine(codes) for part, codes in chosen if codes]
        return Reader(
            segment_readers=tuple(part for part in confined if part.live_count),
            cursor=self.cursor,
        )

    def holds(self, status: Status) -> bool:
        """Return whether a memory has `status`."""
        code = STATUSES.index(status)
        return any(
            code in part.segment.status_codes
            and bool((part.live_docs & (part.segment.status == code)).any())
            for part in self.segment_readers
        )

    def apply_changes(
        self,
        documents: Sequence[Document],
        gone: Sequence[str],
        *,
        cursor: int,
        dimensions: int,
    ) -> Reader:
        """Return a reader with `documents` added or replaced, without the ids in `gone`."""
        ids = [document.id for document in documents]
        buried = _delete_documents(self.segment_readers, [*ids, *gone])
        segment_readers = [
            segment_reader
            for number, segment_reader in enumerate(buried)
            if segment_reader.live_count or number < self.sealed
        ]
        if documents:
            segment = build(documents, dimensions=dimensions)
            segment_readers.append(
                SegmentReader(segment=segment, live_docs=np.ones(len(segment), np.bool_))
            )
        balanced = tuple(_balance(segment_readers, self.sealed))
        return evolve(self, segment_readers=balanced, cursor=cursor, recent=())

    def add_new(self, document: Document, *, cursor: int, dimensions: int) -> Reader:
        """Return a reader with a document whose id no other document has."""
        recent = (*self.recent, document)
        older = self.segment_readers[:-1] if self.recent else self.segment_readers
        segment = build(recent, dimensions=dimensions)
        parts = [*older, SegmentReader(segment=segment, live_docs=np.ones(len(recent), np.bool_))]
        if len(recent) == _MOST_RECENT:
            parts, recent = _balance(parts, self.sealed), ()
        return evolve(self, segment_readers=tuple(parts), cursor=cursor, recent=recent)

    def compact(self) -> Reader:
        """Return a reader with the live documents in a single segment."""
        if len(self.segment_readers) < 2 and all(
            segment_reader.live_count == len(segment_reader.segment)
            for segment_reader in self.segment_readers
        ):
            return self
        return evolve(
            self,
            segment_readers=(_merge_segments(self.segment_readers),)
            if self.segment_readers
            else (),
            sealed=0,
            recent=(),
        )

    def replace_folded(self, before: Reader, compact: Reader) -> Reader:
        """Return this reader with the merged segment of `compact` instead of the sealed segments.

        `before` is the reader that was merged. Documents deleted since then are deleted in the
        result. If the sealed segments are not those of `before`, the result is this reader.
        """
        sealed = self.segment_readers[: self.sealed]
        if [id(p.segment) for p in sealed] != [id(p.segment) for p in before.segment_readers]:
            return self
        younger = self.segment_readers[self.sealed :]
        if sealed:
            live_docs = np.concatenate(
                [
                    now.live_docs[then.live_docs]
                    for now, then in zip(sealed, before.segment_readers, strict=True)
                ]
            )
            younger = (
                SegmentReader(segment=compact.segment_readers[0].segment, live_docs=live_docs),
                *younger,
            )
        return evolve(
            self,
            segment_readers=tuple(
                segment_reader for segment_reader in younger if segment_reader.live_count
            ),
            sealed=0,
        )


def _mask_times(segment: Segment, criteria: Criteria) -> Iterator[Bools]:
    if criteria.since is not None:
        yield segment.happened >= to_micros(criteria.since)
    if criteria.until is not None:
        yield segment.happened < to_micros(criteria.until)
    if criteria.as_of is not None:
        yield from _mask_begun(segment, to_micros(criteria.as_of))
        yield from _mask_unended(segment, to_micros(criteria.as_of))
    if criteria.begun_at is not None:
        yield from _mask_begun_or_stored(segment, to_micros(criteria.begun_at))
    if criteria.unended_at is not None:
        yield from _mask_unended(segment, to_micros(criteria.unended_at))


def _mask_begun(segment: Segment, moment: int) -> Iterator[Bools]:
    """Yield the mask of documents valid from `moment` or earlier, nothing if it is all true."""
    if segment.last_beginning > moment:
        yield segment.held_from <= moment


def _mask_begun_or_stored(segment: Segment, moment: int) -> Iterator[Bools]:
    """Yield the mask of `_mask_begun`, with documents that were valid when they were stored."""
    for begun in _mask_begun(segment, moment):
        yield begun | (segment.held_from <= segment.stored)


def _mask_unended(segment: Segment, moment: int) -> Iterator[Bools]:
    """Yield the mask of documents whose validity ends after `moment`, nothing if all do."""
    if segment.first_end <= moment:
        yield segment.held_to > moment


def _mask_scopes(segment: Segment, wanted: Collection[str]) -> Iterator[Bools]:
    """Yield the mask of `_mask_names` for scopes; it walks over the fewer of both."""
    if len(wanted) < len(segment.scope_codes):
        codes = [segment.code_of[name] for name in wanted if name in segment.code_of]
        yield _mask_codes(segment.scope, codes, len(segment.names))
    else:
        yield from _mask_names(segment.scope, segment.scope_codes, segment.names, wanted)


def _mask_names(
    codes: NDArray[np.integer],
    present: NDArray[np.intp],
    names: Sequence[str],
    wanted: Container[str],
) -> Iterator[Bools]:
    """Yield the mask of the documents with a name in `wanted`, nothing if it is all true.

    `codes` has the position in `names` for every document, and `present` the distinct positions.
    """
    chosen = [code for code in present.tolist() if names[code] in wanted]
    if len(chosen) == len(present):
        return
    yield _mask_codes(codes, chosen, len(names))


def _mask_codes(column: NDArray[np.integer], codes: Sequence[int], names: int) -> Bools:
    """Return which values of `column` are among `codes`, which are less than `names`."""
    if len(codes) > _COMPARED_ONE_BY_ONE:
        table = np.zeros(names, np.bool_)
        table[codes] = True
        return np.asarray(table[column], np.bool_)
    mask = np.zeros(len(column), np.bool_)
    for code in codes:
        mask |= column == code
    return mask


def _delete_documents(
    segment_readers: Sequence[SegmentReader], ids: Sequence[str]
) -> Iterator[SegmentReader]:
    """Yield `segment_readers` with the documents of `ids` deleted."""
    hashes = np.array([hash_id(i) for i in ids] if segment_readers else [], np.uint64)
    for segment_reader in segment_readers:
        maybe = np.flatnonzero(segment_reader.segment.may_hold(hashes))
        docs = [segment_reader.segment.find(ids[number]) for number in maybe.tolist()]
        dead = [doc for doc in docs if doc is not None and segment_reader.live_docs[doc]]
        if dead:
            live_docs = segment_reader.live_docs.copy()
            live_docs[dead] = False
            segment_reader = SegmentReader(segment=segment_reader.segment, live_docs=live_docs)
        yield segment_reader


def _balance(segment_readers: list[SegmentReader], sealed: int) -> list[SegmentReader]:
    """Merge the newest segments while the last has at least half the size of its predecessor.

    A small change is therefore copied only a few times, and a search waits at most some
    milliseconds for a merge. `Reader.compact` merges larger segments in the background.
    """
    while len(segment_readers) - sealed > 1 and 2 * len(segment_readers[-1].segment) >= len(
        segment_readers[-2].segment
    ):
        if len(segment_readers[-1].segment) + len(segment_readers[-2].segment) > MERGED_AT_ONCE:
            break
        segment_readers[-2:] = [_merge_segments(segment_readers[-2:])]
    return segment_readers


def _merge_segments(segment_readers: Sequence[SegmentReader]) -> SegmentReader:
    segment = merge(
        [(segment_reader.segment, segment_reader.live_docs) for segment_reader in segment_readers]
    )
    return SegmentReader(segment=segment, live_docs=np.ones(len(segment), np.bool_))


def merge(segments: Sequence[tuple[Segment, Bools]]) -> Segment:
    """Return a segment with the live documents of `segments`, in order.

    `segments` has at least one segment, with its mask of live documents, shape (n,).
    """
    names: dict[str, int] = {}
    lookups = [
        np.array([names.setdefault(n, len(names)) for n in segment.names], np.int32)
        for segment, _ in segments
    ]
    named: dict[str, Any] = {
        name: _concatenate(
            lookup[getattr(segment, name)[live_docs]]
            for lookup, (segment, live_docs) in zip(lookups, segments, strict=True)
        )
        for name in ("scope", "speaker", "conversation")
    }
    columns: dict[str, Any] = {
        name: _concatenate(getattr(segment, name)[live_docs] for segment, live_docs in segments)
        for name in _COLUMNS
    }
    passages: dict[str, Any] = {
        name: _concatenate(
            _select_rows(getattr(segment, name), segment.passage_start, live_docs)
            for segment, live_docs in segments
        )
        for name in _PASSAGE_COLUMNS
    }
    id_hash = _concatenate(segment.id_hash[live_docs] for segment, live_docs in segments)
    return Segment(
        names=tuple(names),
        id_hash=id_hash,
        id_order=sort_order(id_hash),
        canonical_order=sort_order(columns["canonical_hash"]),
        conversation_order=sort_order(named["conversation"]),
        id_bytes=_concatenate(
            _select_rows(segment.id_bytes, segment.id_start, live_docs)
            for segment, live_docs in segments
        ),
        id_start=_merge_starts("id_start", segments),
        passage_start=_merge_starts("passage_start", segments),
        **passages,
        **named,
        **columns,
        **_merge_postings(segments),
    )


@frozen(kw_only=True, eq=False)
class _LivePostings:
    """The postings of the live documents of a segment, under their new numbers.

    `rows` are the positions of the segment's terms among the terms of all segments, `sizes` the
    numbers of live postings per term.
    """

    rows: NDArray[np.intp]
    sizes: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.uint16]


def _merge_postings(segments: Sequence[tuple[Segment, Bools]]) -> dict[str, Any]:
    """Return the arrays of postings of the merged segment.

    The terms of a segment and the documents of a term are sorted already. The position of every
    posting can therefore be computed, and only the terms are sorted.
    """
    terms = sort_distinct(_concatenate(segment.term_hash for segment, _ in segments))
    live_postings: list[_LivePostings] = []
    first = 0
    for segment, live_docs in segments:
        live_postings.append(_remap_postings(segment, live_docs, terms, first))
        first += int(np.count_nonzero(live_docs))
    sizes = np.zeros(len(terms), np.int64)
    for postings in live_postings:
        sizes[postings.rows] += postings.sizes
    starts = cumulate_sizes(sizes)
    docs, counts = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint16)
    free = starts[:-1].copy()
    for postings in live_postings:
        before = np.cumsum(postings.sizes) - postings.sizes
        position = np.repeat(free[postings.rows] - before, postings.sizes)
        position += np.arange(len(position))
        docs[position] = postings.docs
        counts[position] = postings.counts
        free[postings.rows] += postings.sizes
    left = sizes > 0
    return {
        "term_hash": terms[left],
        "term_start": np.append(starts[:-1][left], starts[-1]),
        "posting_doc": docs,
        "posting_count": counts,
    }


def _remap_postings(
    segment: Segment, live_docs: Bools, terms: NDArray[np.uint64], first: int
) -> _LivePostings:
    """Return the live postings of a segment whose first live document gets the number `first`."""
    rows, sizes = np.searchsorted(terms, segment.term_hash), np.diff(segment.term_start)
    if live_docs.all():
        docs = segment.posting_doc + np.int32(first)
        return _LivePostings(rows=rows, sizes=sizes, docs=docs, counts=segment.posting_count)
    number = np.cumsum(live_docs, dtype=np.int32) + np.int32(first - 1)
    kept = live_docs[segment.posting_doc]
    return _LivePostings(
        rows=rows,
        sizes=np.diff(cumulate_sizes(kept.view(np.int8))[segment.term_start]),
        docs=number[segment.posting_doc[kept]],
        counts=segment.posting_count[kept],
    )


def _select_rows(values: NDArray[Any], starts: NDArray[np.int64], live_docs: Bools) -> NDArray[Any]:
    """Return the slices of `values` that belong to live documents, concatenated."""
    values = np.asarray(values)
    return values if live_docs.all() else values[np.repeat(live_docs, np.diff(starts))]


def _merge_starts(name: str, segments: Sequence[tuple[Segment, Bools]]) -> NDArray[np.int64]:
    """Return the starts of the slices of live documents, and the end of the last slice."""
    sizes = (np.diff(getattr(segment, name))[live_docs] for segment, live_docs in segments)
    return cumulate_sizes(_concatenate(sizes))


def _concatenate(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(arrays))
