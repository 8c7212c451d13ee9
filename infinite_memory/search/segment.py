"""A segment: the index of some memories as numpy arrays that never change.

Documents are numbered from 0 within a segment. Terms and tags are known by 64-bit hashes, sorted,
so that a segment needs no dictionary and can be mapped from a file as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from attrs import fields, frozen
from numpy.typing import NDArray

from infinite_memory.search.document import Document, hash_id

__all__ = ["ARRAYS", "Segment", "build", "merge"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@frozen(kw_only=True, eq=False)
class Segment:
    """The arrays of n documents with v passages, t terms, p postings.

    Columns of shape (n,): `id_hash` uint64; `scope`, `speaker` and `conversation` int32, codes into
    `names`; `kind` and `status` int8, positions in the enumerations; `happened` and `stored` int64,
    microseconds since the epoch; `length` int32, terms counted with repetition.

    `id_bytes` uint8 holds the ids one after the other, cut at `id_start` int64 (n + 1).
    `id_order` int32 (n,) sorts `id_hash`.
    `term_hash` uint64 (t,) is sorted; the postings of term i are `posting_doc` int32 and
    `posting_count` int32 from `term_start`[i] to `term_start`[i + 1] (int64, t + 1), by document.
    `passage_start` int64 (n + 1) cuts `vectors` float32 (v, dimensions), unit rows, and `spans`
    int32 (v, 2) by document.
    """

    names: tuple[str, ...]
    id_hash: NDArray[np.uint64]
    id_order: NDArray[np.int32]
    id_bytes: NDArray[np.uint8]
    id_start: Ints
    scope: NDArray[np.int32]
    speaker: NDArray[np.int32]
    conversation: NDArray[np.int32]
    kind: NDArray[np.int8]
    status: NDArray[np.int8]
    happened: Ints
    stored: Ints
    length: NDArray[np.int32]
    term_hash: NDArray[np.uint64]
    term_start: Ints
    posting_doc: NDArray[np.int32]
    posting_count: NDArray[np.int32]
    passage_start: Ints
    vectors: NDArray[np.float32]
    spans: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.id_hash)

    def id_of(self, doc: int) -> str:
        """Return the id of the memory that document `doc` is about."""
        return self.id_bytes[self.id_start[doc] : self.id_start[doc + 1]].tobytes().decode()

    def find(self, memory_id: str) -> int | None:
        """Return the number of the document about that memory, or None."""
        wanted = np.uint64(hash_id(memory_id))
        place = int(np.searchsorted(self.id_hash, wanted, sorter=self.id_order))
        while place < len(self) and self.id_hash[self.id_order[place]] == wanted:
            doc = int(self.id_order[place])
            if self.id_of(doc) == memory_id:
                return doc
            place += 1
        return None

    def postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the documents with that term, ascending, and how often each has it."""
        wanted = np.uint64(term)
        place = int(np.searchsorted(self.term_hash, wanted))
        if place == len(self.term_hash) or self.term_hash[place] != wanted:
            return self.posting_doc[:0], self.posting_count[:0]
        cut = slice(int(self.term_start[place]), int(self.term_start[place + 1]))
        return self.posting_doc[cut], self.posting_count[cut]


ARRAYS = tuple(field.name for field in fields(Segment) if field.name != "names")
"""The names of the arrays of a segment."""


def build(documents: Sequence[Document], *, dimensions: int) -> Segment:
    """Return the segment of `documents`, numbered in their order."""
    names: dict[str, int] = {}
    code = [
        [names.setdefault(name, len(names)) for name in (d.scope, d.speaker, d.conversation)]
        for d in documents
    ]
    codes = np.array(code, np.int32).reshape(-1, 3)
    ids = [d.id.encode() for d in documents]
    id_hash = np.array([hash_id(d.id) for d in documents], np.uint64)
    return Segment(
        names=tuple(names),
        id_hash=id_hash,
        id_order=_order(id_hash),
        id_bytes=np.frombuffer(b"".join(ids), np.uint8),
        id_start=_starts([len(i) for i in ids]),
        scope=codes[:, 0].copy(),
        speaker=codes[:, 1].copy(),
        conversation=codes[:, 2].copy(),
        kind=np.array([d.kind for d in documents], np.int8),
        status=np.array([d.status for d in documents], np.int8),
        happened=np.array([d.happened for d in documents], np.int64),
        stored=np.array([d.stored for d in documents], np.int64),
        length=np.array([sum(d.terms.values()) for d in documents], np.int32),
        passage_start=_starts([len(d.vectors) for d in documents]),
        vectors=np.concatenate(
            [np.empty((0, dimensions), np.float32), *(d.vectors for d in documents)]
        ),
        spans=np.concatenate([np.empty((0, 2), np.int32), *(d.spans for d in documents)]),
        **_invert(
            np.array([h for d in documents for h in (*d.terms, *d.labels)], np.uint64),
            np.repeat(
                np.arange(len(documents), dtype=np.int32),
                [len(d.terms) + len(d.labels) for d in documents],
            ),
            np.array([count for d in documents for count in _counts(d)], np.int32),
        ),
    )


def merge(parts: Sequence[tuple[Segment, Bools]]) -> Segment:
    """Return one segment with the documents of `parts` that are alive, in order.

    `parts` are segments, each with a mask of shape (n,); at least one.
    """
    names: dict[str, int] = {}
    lookups = [
        np.array([names.setdefault(n, len(names)) for n in s.names], np.int32) for s, _ in parts
    ]
    named = {
        name: _joined(
            lookup[getattr(s, name)[alive]]
            for lookup, (s, alive) in zip(lookups, parts, strict=True)
        )
        for name in ("scope", "speaker", "conversation")
    }
    columns = {
        name: _joined(getattr(s, name)[alive] for s, alive in parts)
        for name in ("kind", "status", "happened", "stored", "length")
    }
    passages = [(s, np.repeat(alive, np.diff(s.passage_start))) for s, alive in parts]
    id_hash = _joined(s.id_hash[alive] for s, alive in parts)
    return Segment(
        names=tuple(names),
        id_hash=id_hash,
        id_order=_order(id_hash),
        id_bytes=_joined(s.id_bytes[np.repeat(alive, np.diff(s.id_start))] for s, alive in parts),
        id_start=_starts(_joined(np.diff(s.id_start)[alive] for s, alive in parts)),
        passage_start=_starts(_joined(np.diff(s.passage_start)[alive] for s, alive in parts)),
        vectors=_joined(s.vectors[kept] for s, kept in passages),
        spans=_joined(s.spans[kept] for s, kept in passages),
        **named,
        **columns,
        **_merged_postings(parts),
    )


def _merged_postings(parts: Sequence[tuple[Segment, Bools]]) -> dict[str, Any]:
    hashes, docs, counts, total = [], [], [], 0
    for segment, alive in parts:
        # The new number of each document, -1 for the dead.
        place = np.full(len(segment), -1, np.int32)
        living = int(np.count_nonzero(alive))
        place[alive] = np.arange(total, total + living, dtype=np.int32)
        total += living
        moved = place[segment.posting_doc]
        kept = moved >= 0
        hashes.append(np.repeat(segment.term_hash, np.diff(segment.term_start))[kept])
        docs.append(moved[kept])
        counts.append(segment.posting_count[kept])
    return _invert(np.concatenate(hashes), np.concatenate(docs), np.concatenate(counts))


def _counts(document: Document) -> Iterable[int]:
    yield from document.terms.values()
    # A tag is a posting like any other; its count is never read.
    yield from (1 for _ in document.labels)


def _joined(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(list(arrays))


def _order(hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
    return np.argsort(hashes, kind="stable").astype(np.int32)


def _starts(sizes: Sequence[int] | NDArray[np.integer]) -> Ints:
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def _invert(
    hashes: NDArray[np.uint64], docs: NDArray[np.int32], counts: NDArray[np.int32]
) -> dict[str, Any]:
    """Sort (term, document, count) triples into the arrays of postings.

    The triples come in the order of the documents, which a stable sort keeps within a term.
    """
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)])
    return {
        "term_hash": ordered[first],
        "term_start": np.append(first, len(ordered)).astype(np.int64),
        "posting_doc": docs[order],
        "posting_count": counts[order],
    }
