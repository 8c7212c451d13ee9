"""A segment: an immutable inverted index of some memories, as numpy arrays.

Documents are numbered from 0 within a segment. Terms and tags are stored as sorted 64-bit hashes
instead of a dictionary, so that a segment can be mapped from a file without decoding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from attrs import fields, frozen
from numpy.typing import NDArray

from infinite_memory.core.values.scope import fold_name
from infinite_memory.search.document import NEVER, Document, hash_id
from infinite_memory.search.quantization import RowsInFile, quantize

Ints = NDArray[np.int64]
Codes = NDArray[np.intp]
_MOST = np.iinfo(np.uint16).max
TELLING_DIMENSIONS = 32
"""Of a vector that the first of two models knows, some of the first 32 numbers are not 0."""
_hash_id = lru_cache(maxsize=10_000)(hash_id)
_Scalar = TypeVar("_Scalar", bound=np.generic)


def sort_distinct(values: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return the values of shape (n,), each once and ascending: (k,).

    For that alone `numpy.unique` imports `numpy.ma`, which takes longer than many a search.
    """
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


@frozen(kw_only=True, eq=False)
class Segment:
    """The arrays of n documents with v passages, t terms and p postings.

    Columns of shape (n,):

    - `id_hash` uint64;
    - `scope`, `speaker` and `conversation` int32, positions in `names`;
    - `kind` and `status` int8, positions in `KINDS` and `STATUSES`;
    - `happened`, `stored`, `held_from` and `held_to` int64, microseconds since the epoch, `NEVER`
      for a validity without an end;
    - `is_question` int8, 0 or 1; `important` int8, also -1 for a statement found in a session;
    - `canonical_hash` uint64, equal for memories with the same canonical text (see `Document`);
    - `length` int32, the number of terms with repetition.

    `id_bytes` uint8 has the ids, concatenated; id i begins at `id_start`[i], int64 (n + 1).
    `id_order`, `canonical_order` and `conversation_order`, int32 (n,), are the stable sort orders
    of `id_hash`, `canonical_hash` and `conversation`.

    `term_hash` uint64 (t,) is sorted. The postings of term i are `posting_doc` int32, ascending,
    and `posting_count` uint16, from `term_start`[i] to `term_start`[i + 1], int64 (t + 1). A count
    is at most 65,535.

    The passages of document i are the rows from `passage_start`[i] to `passage_start`[i + 1], int64
    (n + 1): `spans` int32 (v, 2), and the unit vectors as in `quantization`, `high` and `low` int8
    (v, dimensions) and `scale` float32 (v,). `low_in_file` reads rows of `low` that are not mapped.
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
    held_from: Ints
    held_to: Ints
    is_question: NDArray[np.int8]
    important: NDArray[np.int8]
    canonical_hash: NDArray[np.uint64]
    canonical_order: NDArray[np.int32]
    conversation_order: NDArray[np.int32]
    length: NDArray[np.int32]
    term_hash: NDArray[np.uint64]
    term_start: Ints
    posting_doc: NDArray[np.int32]
    posting_count: NDArray[np.uint16]
    passage_start: Ints
    high: NDArray[np.int8]
    low: NDArray[np.int8]
    scale: NDArray[np.float32]
    spans: NDArray[np.int32]
    low_in_file: RowsInFile | None = None

    def __len__(self) -> int:
        return len(self.id_hash)

    def id_of(self, doc: int) -> str:
        """Return the id of the memory of document `doc`."""
        return self.id_bytes[self.id_start[doc] : self.id_start[doc + 1]].tobytes().decode()

    def find(self, memory_id: str) -> int | None:
        """Return the document number of a memory, None if the segment does not have the memory."""
        wanted = np.uint64(_hash_id(memory_id))
        position = int(self.id_hash.searchsorted(wanted, sorter=self.id_order))
        while position < len(self) and self.id_hash[self.id_order[position]] == wanted:
            doc = int(self.id_order[position])
            if self.id_of(doc) == memory_id:
                return doc
            position += 1
        return None

    def may_hold(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return for every hash of an id whether a document has it: bool, of the same shape."""
        if not len(self):
            return np.zeros(len(hashes), np.bool_)
        positions = self.id_hash.searchsorted(hashes, sorter=self.id_order)
        positions[positions == len(self)] = 0
        held: NDArray[np.bool_] = self.id_hash[self.id_order[positions]] == hashes
        return held

    def find_by_canonical_hash(self, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the documents with any of these values of `canonical_hash`, without repetition."""
        return _documents_with(hashes, self.canonical_hash, self.canonical_order)

    def find_in_conversations(self, conversations: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the documents of the conversations with these codes, without repetition."""
        return _documents_with(conversations, self.conversation, self.conversation_order)

    def postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """Return the documents with the hash `term`, ascending, and the counts of the term."""
        wanted = np.uint64(term)
        position = int(np.searchsorted(self.term_hash, wanted))
        if position == len(self.term_hash) or self.term_hash[position] != wanted:
            return self.posting_doc[:0], self.posting_count[:0]
        cut = slice(int(self.term_start[position]), int(self.term_start[position + 1]))
        return self.posting_doc[cut], self.posting_count[cut]

    def postings_of(self, terms: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Return each pair of one of the hashes `terms`, by its number, and a document with it."""
        terms = terms if len(self.term_hash) else terms[:0]
        places = self.term_hash[:-1].searchsorted(terms)
        known = (self.term_hash[places] == terms).nonzero()[0]
        starts = self.term_start[places[known]]
        sizes = self.term_start[places[known] + 1] - starts
        offsets = (starts - sizes.cumsum() + sizes).repeat(sizes)
        return known.repeat(sizes), self.posting_doc[offsets + np.arange(len(offsets))]

    def low_of(self, rows: NDArray[np.integer]) -> NDArray[np.int8]:
        """Return rows of `low`, from the file if `low` is not mapped."""
        return self.low[rows] if self.low_in_file is None else self.low_in_file.take(rows)

    @cached_property
    def size_bytes(self) -> int:
        """The bytes of all arrays."""
        return sum(getattr(self, name).nbytes for name in ARRAYS)

    @cached_property
    def code_of(self) -> Mapping[str, int]:
        """The position of every name in `names`."""
        return {name: code for code, name in enumerate(self.names)}

    @cached_property
    def scope_codes(self) -> Codes:
        """The codes of the scopes of all documents, ascending."""
        return _distinct_codes(self.scope)

    @cached_property
    def codes_of_scopes(self) -> Mapping[str, list[int]]:
        """The codes of the scopes of all documents, by their names as `fold_name` returns them."""
        codes: dict[str, list[int]] = {}
        for code in self.scope_codes.tolist():
            codes.setdefault(fold_name(self.names[code]), []).append(code)
        return codes

    @cached_property
    def speaker_codes(self) -> Codes:
        """The codes of the speakers of all documents, ascending."""
        return _distinct_codes(self.speaker)

    @cached_property
    def kind_codes(self) -> Codes:
        """The positions of the kinds of all documents, ascending."""
        return _distinct_codes(self.kind)

    @cached_property
    def status_codes(self) -> Codes:
        """The positions of the statuses of all documents, ascending."""
        return _distinct_codes(self.status)

    @cached_property
    def last_beginning(self) -> int:
        """The latest `held_from` of all documents."""
        return int(self.held_from.max(initial=-NEVER))

    @cached_property
    def first_end(self) -> int:
        """The earliest `held_to` of all documents, `NEVER` if no validity ends."""
        return int(self.held_to.min(initial=NEVER))

    @cached_property
    def total_length(self) -> int:
        """The sum of the lengths of all documents."""
        return int(self.length.sum(dtype=np.int64))

    @cached_property
    def longest(self) -> int:
        """The length of the longest document."""
        return int(self.length.max(initial=0))

    @cached_property
    def embedded_docs(self) -> Codes:
        """The documents that have a vector, ascending."""
        return np.flatnonzero(np.diff(self.passage_start))

    @cached_property
    def one_passage_each(self) -> bool:
        """Whether every document has a single passage, so that row i belongs to document i."""
        return len(self.high) == len(self) and not len(self.unembedded_docs)

    @cached_property
    def unembedded_docs(self) -> Codes:
        """The documents that have no vector, ascending."""
        return np.asarray(self.passage_start[1:] == self.passage_start[:-1]).nonzero()[0]

    @cached_property
    def second_alone(self) -> NDArray[np.bool_]:
        """Which passages have only zeros in their first 32 dimensions: bool, (v,)."""
        return are_second_alone(self.high)


ARRAYS = tuple(f.name for f in fields(Segment) if f.name not in ("names", "low_in_file"))
"""The names of the arrays of `Segment`."""


def build(documents: Sequence[Document], *, dimensions: int) -> Segment:
    """Return the segment of `documents`, numbered in their order."""
    names: dict[str, int] = {}
    code = [
        [names.setdefault(name, len(names)) for name in (d.scope, d.speaker, d.conversation)]
        for d in documents
    ]
    codes = np.array(code, np.int32).reshape(-1, 3)
    conversation = codes[:, 2].copy()
    canonical_hash = np.array([d.canonical_hash for d in documents], np.uint64)
    ids = [d.id.encode() for d in documents]
    id_hash = np.array([_hash_id(d.id) for d in documents], np.uint64)
    no_vectors = np.empty((0, dimensions), np.float32)
    high, low, scale = quantize(np.concatenate([no_vectors, *(d.vectors for d in documents)]))
    return Segment(
        names=tuple(names),
        id_hash=id_hash,
        id_order=sort_order(id_hash),
        id_bytes=np.frombuffer(b"".join(ids), np.uint8),
        id_start=cumulate_sizes([len(i) for i in ids]),
        scope=codes[:, 0].copy(),
        speaker=codes[:, 1].copy(),
        conversation=conversation,
        conversation_order=sort_order(conversation),
        kind=np.array([d.kind for d in documents], np.int8),
        status=np.array([d.status for d in documents], np.int8),
        happened=np.array([d.happened for d in documents], np.int64),
        stored=np.array([d.stored for d in documents], np.int64),
        held_from=np.array([d.held_from for d in documents], np.int64),
        held_to=np.array([d.held_to for d in documents], np.int64),
        is_question=np.array([d.is_question for d in documents], np.int8),
        important=np.array([d.important for d in documents], np.int8),
        canonical_hash=canonical_hash,
        canonical_order=sort_order(canonical_hash),
        length=np.array([sum(d.terms.values()) for d in documents], np.int32),
        passage_start=cumulate_sizes([len(d.vectors) for d in documents]),
        high=high,
        low=low,
        scale=scale,
        spans=np.concatenate([np.empty((0, 2), np.int32), *(d.spans for d in documents)]),
        **_invert(
            np.array([h for d in documents for h in (*d.terms, *d.labels)], np.uint64),
            np.repeat(
                np.arange(len(documents), dtype=np.int32),
                [len(d.terms) + len(d.labels) for d in documents],
            ),
            np.minimum([c for d in documents for c in _posting_counts(d)], _MOST).astype(np.uint16),
        ),
    )


def are_second_alone(
    high: NDArray[np.int8], rows: NDArray[np.integer] | slice = slice(None)
) -> NDArray[np.bool_]:
    """Return which of the rows are vectors of the second of two models alone: bool, (rows,).

    They have zeros in place of the first part. Of any other vector some of 32 numbers are not 0.
    """
    return np.asarray(~high[:, :TELLING_DIMENSIONS][rows].any(axis=1), np.bool_)


def _posting_counts(document: Document) -> list[int]:
    # A tag is a posting, too; its count is never read.
    return [*document.terms.values(), *[1] * len(document.labels)]


def _distinct_codes(codes: NDArray[np.integer]) -> Codes:
    return np.bincount(codes).nonzero()[0]


def _documents_with(
    values: NDArray[Any], column: NDArray[Any], order: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the documents with any of `values` in `column`, where `order` sorts `column`."""
    starts = np.searchsorted(column, values, "left", sorter=order)
    ends = np.searchsorted(column, values, "right", sorter=order)
    sizes = ends - starts
    rows = (starts - sizes.cumsum() + sizes).repeat(sizes)
    rows += np.arange(len(rows))
    docs: NDArray[np.int32] = order[rows]
    return docs


def sort_order(values: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the stable sort order of `values`, int32."""
    return values.argsort(kind="stable").astype(np.int32)


def cumulate_sizes(sizes: Sequence[int] | NDArray[np.integer]) -> Ints:
    """Return the start of every slice of these sizes in an array, and the end of the last."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.asarray(sizes).cumsum(out=starts[1:])
    return starts


def _invert(
    hashes: NDArray[np.uint64], docs: NDArray[np.int32], counts: NDArray[np.uint16]
) -> dict[str, Any]:
    """Sort (term, document, count) triples into the arrays of postings.

    The triples are in the order of the documents, and the stable sort keeps it within a term.
    """
    order = hashes.argsort(kind="stable")
    ordered = hashes[order]
    is_first = np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]
    first = is_first.nonzero()[0]
    return {
        "term_hash": ordered[first],
        "term_start": np.concatenate((first, [len(ordered)])).astype(np.int64),
        "posting_doc": docs[order],
        "posting_count": counts[order],
    }
