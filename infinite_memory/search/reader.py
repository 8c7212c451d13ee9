"""What one search looks at: segments, and which of their documents are still alive.

A reader never changes, so a search needs no lock and a refresh disturbs no running search.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import reduce

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from infinite_memory.model.codec import to_micros
from infinite_memory.model.criteria import Criteria
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import KINDS, STATUSES, Document, hash_id, hash_tag, hash_term
from infinite_memory.search.merging import merge
from infinite_memory.search.segment import Segment, build
from infinite_memory.text.analyzer import terms

__all__ = ["MERGED_AT_ONCE", "Reader", "SegmentReader"]

MERGED_AT_ONCE = 16_384
"""Parts are merged while a search waits only where they hold no more documents than this."""

_COMPARED_ONE_BY_ONE = 8

Bools = NDArray[np.bool_]


@frozen(kw_only=True, eq=False)
class SegmentReader:
    """A segment, and which of its documents are alive: bool, shape (n,)."""

    segment: Segment
    live_docs: Bools
    live_count: int = field()

    @live_count.default
    def _count(self) -> int:
        return int(np.count_nonzero(self.live_docs))

    def eligible(self, criteria: Criteria) -> DocFilter:
        """Return the documents that are alive and meet `criteria`."""
        masks = list(self._conditions(criteria))
        if not masks:
            return DocFilter(size=len(self.segment))
        return DocFilter.of(masks[0] if len(masks) == 1 else np.logical_and.reduce(masks))

    def _conditions(self, criteria: Criteria) -> Iterator[Bools]:
        """Yield a mask for each condition that some document may fail."""
        segment = self.segment
        if self.live_count < len(segment):
            yield self.live_docs
        if criteria.scopes is not None:
            yield from _mask_names(
                segment.scope, segment.scope_codes, segment.names, criteria.scopes
            )
        if criteria.kinds is not None:
            yield from _mask_names(segment.kind, segment.kind_codes, KINDS, criteria.kinds)
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
    """Parts in the order they were made, and the cursor of the change feed they stand at.

    The first `sealed` parts are being folded together elsewhere: only who is alive changes in them.
    """

    segment_readers: tuple[SegmentReader, ...] = ()
    cursor: int = 0
    sealed: int = 0

    def __len__(self) -> int:
        return sum(segment_reader.live_count for segment_reader in self.segment_readers)

    def apply_changes(
        self,
        documents: Sequence[Document],
        gone: Sequence[str],
        *,
        cursor: int,
        dimensions: int,
    ) -> Reader:
        """Return the reader after `documents` were added or replaced and the ids `gone` removed."""
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
        return evolve(
            self, segment_readers=tuple(_balance(segment_readers, self.sealed)), cursor=cursor
        )

    def count_holding(self, name: str, criteria: Criteria) -> tuple[int, int]:
        """Count the documents that meet `criteria` and have each word of `name`, and all that meet.

        A word that the index leaves out, such as "will", is taken to be in all of them.
        """
        hashes = [hash_term(term) for term in terms(name)]
        holding = total = 0
        for segment_reader in self.segment_readers:
            doc_filter = segment_reader.eligible(criteria)
            total += len(doc_filter)
            if hashes:
                docs = reduce(
                    np.intersect1d, (segment_reader.segment.postings(term)[0] for term in hashes)
                )
                holding += int(np.count_nonzero(doc_filter.contains(docs)))
        return holding if hashes else total, total

    def compact(self) -> Reader:
        """Return the same documents in a single segment without the dead."""
        if len(self.segment_readers) < 2 and all(
            segment_reader.live_count == len(segment_reader.segment)
            for segment_reader in self.segment_readers
        ):
            return self
        return evolve(
            self,
            segment_readers=(_merge_parts(self.segment_readers),) if self.segment_readers else (),
            sealed=0,
        )

    def replace_folded(self, before: Reader, compact: Reader) -> Reader:
        """Return this reader with the segments of `before`, sealed since then, in compact form.

        What died meanwhile is dead in the result. Unchanged where this reader did not grow from
        `before`.
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
    """Yield which documents had begun to hold by `moment`, and nothing where all of them had."""
    if segment.last_beginning > moment:
        yield segment.held_from <= moment


def _mask_begun_or_stored(segment: Segment, moment: int) -> Iterator[Bools]:
    """Yield which documents had begun by `moment`, or when they were stored; see `_mask_begun`."""
    for begun in _mask_begun(segment, moment):
        yield begun | (segment.held_from <= segment.stored)


def _mask_unended(segment: Segment, moment: int) -> Iterator[Bools]:
    """Yield which documents had not ended by `moment`, and nothing where none of them had."""
    if segment.first_end <= moment:
        yield segment.held_to > moment


def _mask_names(
    codes: NDArray[np.integer],
    present: NDArray[np.intp],
    names: Sequence[str],
    wanted: Container[str],
) -> Iterator[Bools]:
    """Yield which documents have one of the wanted names, and nothing where all of them have.

    `codes` has a position in `names` for each document; `held` are those that it has.
    """
    chosen = [code for code in present.tolist() if names[code] in wanted]
    if len(chosen) == len(present):
        return
    if len(chosen) <= _COMPARED_ONE_BY_ONE:
        mask = np.zeros(len(codes), np.bool_)
        for code in chosen:
            mask |= codes == code
        yield mask
    else:
        table = np.zeros(len(names), np.bool_)
        table[chosen] = True
        yield table[codes]


def _delete_documents(
    segment_readers: Sequence[SegmentReader], ids: Sequence[str]
) -> Iterator[SegmentReader]:
    """Yield `segment_readers` with the documents about `ids` deleted."""
    hashes = np.array([hash_id(memory_id) for memory_id in ids], np.uint64)
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
    """Merge the youngest parts while one is no smaller than half its elder, and both are small.

    So each small change is copied a few times only, and a search that folds one in waits for some
    milliseconds at most. What grows over the limit is left to `Reader.compact`, in the background.
    """
    while len(segment_readers) - sealed > 1 and 2 * len(segment_readers[-1].segment) >= len(
        segment_readers[-2].segment
    ):
        if len(segment_readers[-1].segment) + len(segment_readers[-2].segment) > MERGED_AT_ONCE:
            break
        segment_readers[-2:] = [_merge_parts(segment_readers[-2:])]
    return segment_readers


def _merge_parts(segment_readers: Sequence[SegmentReader]) -> SegmentReader:
    segment = merge(
        [(segment_reader.segment, segment_reader.live_docs) for segment_reader in segment_readers]
    )
    return SegmentReader(segment=segment, live_docs=np.ones(len(segment), np.bool_))
