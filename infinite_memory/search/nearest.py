"""The memories nearest to a memory, or to a vector, by cosine alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.errors import NotFound
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.search.cosine import ABSENT, QueryVector, approximate_cosines, cosines
from infinite_memory.search.reader import Reader

_RESCORED = 1_000
# Differences in the seventh place come from the order of additions and must not decide a rank.
_PLACES = 6


def load_vectors(
    storage: Storage, to: str | NDArray[np.float32], model: str
) -> NDArray[np.float32]:
    """Return the vectors by `model` of the memory `to`, or `to` itself, shape (n, dimensions).

    A memory that is not embedded has none.

    Raises:
        NotFound: there is no memory with that id.
    """
    if not isinstance(to, str):
        return to[np.newaxis]
    record = storage.get([to], models=(model,)).get(to)
    if record is None:
        raise NotFound(f"there is no memory with the id {to!r}")
    embedding = record.embedding_by(model)
    return np.empty((0, 0), np.float32) if embedding is None else embedding.vectors


def find_nearest(
    reader: Reader,
    queries: Sequence[QueryVector],
    criteria: Criteria,
    *,
    limit: int,
    without: str | None = None,
) -> list[tuple[str, float]]:
    """Return the ids of the documents nearest to any of `queries`, with their cosines.

    The best 1,000 documents of every segment by their high planes are compared by both planes. The
    document of the memory `without` is left out.
    """
    if not queries:
        return []
    candidates: list[tuple[str, float]] = []
    for segment_reader in reader.segment_readers:
        segment, doc_filter = segment_reader.segment, segment_reader.eligible(criteria)
        coarse = reduce(
            np.maximum, (approximate_cosines(query, segment, doc_filter) for query in queries)
        )
        present, number = coarse > ABSENT, max(_RESCORED, 2 * limit)
        if number < len(coarse):  # with ties of the last
            present &= coarse >= np.partition(coarse, -number)[-number]
        docs = doc_filter.docs_at(np.flatnonzero(present))
        exact = reduce(np.maximum, (cosines(query, segment, docs) for query in queries))
        if limit < len(exact):  # to read an id takes longer than to compare vectors
            least = np.partition(exact, -limit - 1)[-limit - 1] - 2 * 10**-_PLACES
            docs, exact = docs[exact >= least], exact[exact >= least]
        candidates += zip(map(segment.id_of, docs.tolist()), exact.tolist(), strict=True)
    ranked = sorted(
        (
            (memory_id, round(cosine, _PLACES))
            for memory_id, cosine in candidates
            if memory_id != without
        ),
        key=lambda candidate: (-candidate[1], candidate[0]),
    )
    return ranked[:limit]
