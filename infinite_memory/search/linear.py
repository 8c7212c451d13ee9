"""A search without an index, which reads the whole storage at every call.

It is the reference for tests of the index, a search for stores of some hundred memories, and an
example of an implementation of `Search`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.protocols import Embedder, Storage
from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.dream.neighbor import Neighbor
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.core.values.record import Record
from infinite_memory.search.document import describe
from infinite_memory.search.embedding import CheckedEmbedder
from infinite_memory.search.nearest import load_vectors
from infinite_memory.search.ranking import rank
from infinite_memory.search.reader import Reader
from infinite_memory.search.similarity import find_neighbors, find_similar

_BATCH = 1024


class LinearSearch:
    """Reads every memory at every call and caches nothing, so that no result is stale."""

    def __init__(self, storage: Storage, embedder: Embedder) -> None:
        """Search `storage` by words and by the vectors of `embedder`."""
        self._storage = storage
        self._embedder = CheckedEmbedder(embedder)

    def search(self, question: Question) -> Ranking:
        """Return the memories that answer `question` best."""
        embedder = self._embedder
        return rank(
            self._read_all(),
            question,
            embedder.embed_query if embedder.understands(question.text) else None,
            background=embedder.background,
            texts=self._read_texts,
            storage=self._storage,
        )

    def nearest(
        self, to: str | NDArray[np.float32], criteria: Criteria, *, limit: int
    ) -> list[tuple[str, float]]:
        """Return at most `limit` ids of memories nearest to a memory or to a vector, with cosines.

        Raises:
            NotFound: there is no memory with the id `to`.
        """
        model = self._embedder.model
        queries = load_vectors(self._storage, to, model)
        cosines: list[tuple[float, str]] = []
        for record in read_records(self._storage, (model,)):
            embedding = record.embedding_by(model)
            if embedding is None or not len(embedding.vectors) or not len(queries):
                continue
            is_itself = isinstance(to, str) and record.memory.id == to
            if not is_itself and criteria.admit(record.memory):
                cosine = float((embedding.vectors @ queries.T).max())
                cosines.append((-round(cosine, 6), record.memory.id))
        return [(memory_id, -cosine) for cosine, memory_id in sorted(cosines)[:limit]]

    def find_similar(
        self,
        memory_id: str,
        text: str,
        criteria: Criteria,
        *,
        ignored: Collection[str],
        limit: int,
    ) -> list[tuple[str, float]]:
        """Return at most `limit` ids of memories similar to a stored memory, with scores."""
        return find_similar(
            self._read_all(),
            memory_id,
            text,
            criteria,
            background=self._embedder.background,
            ignored=ignored,
            limit=limit,
        )

    def find_neighbors(
        self, memory_id: str, text: str, criteria: Criteria, *, limit: int
    ) -> list[Neighbor]:
        """Return the memories nearest to a stored memory, by meaning and by words."""
        return find_neighbors(
            self._read_all(),
            memory_id,
            text,
            criteria,
            background=self._embedder.background,
            limit=limit,
        )

    def _read_all(self) -> Reader:
        model, dimensions = self._embedder.model, self._embedder.dimensions
        documents = [
            describe(record, model=model, dimensions=dimensions)
            for record in read_records(self._storage, (model,))
            if record.memory.is_indexed
        ]
        return Reader().apply_changes(documents, [], cursor=0, dimensions=dimensions)

    def _read_texts(self, ids: Collection[str]) -> dict[str, str]:
        records = self._storage.get(ids, models=())
        return {memory_id: record.memory.text for memory_id, record in records.items()}


class LinearTimeline:
    """The memories of a storage that meet the criteria, ordered by time."""

    def __init__(self, storage: Storage, criteria: Criteria) -> None:
        """Read all memories of `storage`."""
        memories = (record.memory for record in read_records(storage, ()))
        self._memories = sorted(filter(criteria.admit, memories), key=_position_of)

    @property
    def moments(self) -> NDArray[np.int64]:
        """The moments of the memories, ascending, in microseconds since the epoch."""
        return np.array([_position_of(memory)[0] for memory in self._memories], np.int64)

    def page(
        self, after: tuple[int, str] | None, limit: int, *, newest_first: bool
    ) -> list[tuple[int, str]]:
        """Return the next `limit` pairs (moment, id) after `after`, None for the beginning."""
        positions = [_position_of(memory) for memory in self._memories]
        if newest_first:
            positions.reverse()
        if after is not None:
            positions = [p for p in positions if (p < after if newest_first else p > after)]
        return positions[:limit]

    def by_scope(self) -> dict[str, int]:
        """Return the number of memories by scope, largest first."""
        return _count(memory.scope for memory in self._memories)

    def by_kind(self) -> dict[str, int]:
        """Return the number of memories by kind, largest first."""
        return _count(str(memory.kind) for memory in self._memories)


def read_records(storage: Storage, models: Collection[str]) -> Iterator[Record]:
    """Yield the record of every memory, with its embeddings by `models`."""
    cursor, end = 0, storage.position()
    records: dict[str, Record | None] = {}
    while cursor < end:
        changes = storage.changes(cursor, limit=_BATCH, models=models)
        records.update((change.id, change.record) for change in changes.items)
        if changes.cursor <= cursor:
            break
        cursor = changes.cursor
    return iter([record for record in records.values() if record is not None])


def _position_of(memory: Memory) -> tuple[int, str]:
    return to_micros(memory.happened_at), memory.id


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
