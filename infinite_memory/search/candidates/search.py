"""A search whose candidates come from an engine outside of the process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from infinite_memory.core.errors import StorageError, StorageUnavailable, StoreClosed
from infinite_memory.core.protocols import (
    Embedder,
    Search,
    Storage,
    SupportsIndex,
    discard_erased,
)
from infinite_memory.core.protocols.candidates import CandidateEngine
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.question import Question, Ranking
from infinite_memory.search.candidates.ranking import Gatherer, rank_candidates
from infinite_memory.search.cosine import QueryVector
from infinite_memory.search.document import Document, describe
from infinite_memory.search.embedding import CheckedEmbedder
from infinite_memory.search.nearest import find_nearest, load_vectors
from infinite_memory.search.reader import Reader
from infinite_memory.search.segment import Segment

_log = logging.getLogger(__name__)
Engine = CandidateEngine[Segment, Document]

_FEED_BATCH = 2048
# From so many changes on, a thread hands the tail to the engine.
_LONG_TAIL = 256
# A search waits until the engine has taken in all but so many changes.
_LONGEST_TAIL = 8192
MOST_INSTEAD = 1_000_000
"""An index of more memories, made while the engine is away, would take this machine too much."""


@frozen(kw_only=True)
class _Tail:
    """The changes from `since` on, where the engine ends: their documents, and their ids."""

    since: int
    reader: Reader
    ids: frozenset[str] = frozenset()


class CandidateSearch:
    """Finds memories by an engine, and the newest changes by itself. Every method is thread-safe.

    The engine follows the feed of the storage: what it lacks is searched here, so that a search
    finds all that was acknowledged before it. While the engine is away, the index `instead` answers
    and says so.
    """

    def __init__(
        self, storage: Storage, embedder: Embedder, engine: Engine, instead: Search
    ) -> None:
        self._storage = storage
        self._embedder = CheckedEmbedder(embedder)
        self.engine = engine
        self._instead = instead
        self._lock = threading.Lock()
        self._tail: _Tail | None = None
        self._known_at: int | None = None
        self._feeding: threading.Thread | None = None

    def search(self, question: Question) -> Ranking:
        """Return the memories that answer `question` best, as of now."""
        question = evolve(question, criteria=self._confine(question.criteria))
        try:
            return rank_candidates(
                self._gather(question.text), question, background=self._embedder.background
            )
        except StorageUnavailable as error:
            ranking = self._answer_instead(error).search(question)
            return evolve(ranking, note=ranking.note or f"{error}: the built-in index answers")

    def nearest(
        self, to: str | NDArray[np.float32], criteria: Criteria, *, limit: int
    ) -> list[tuple[str, float]]:
        """Return the ids of the `limit` memories nearest to a memory or a vector, with cosines.

        Raises:
            NotFound: there is no memory with the id `to`.
        """
        criteria = self._confine(criteria)
        vectors = load_vectors(self._storage, to, self._embedder.model)
        if not len(vectors):
            return []
        try:
            gatherer = self._gather("")
            selection = gatherer.select(criteria)
            gatherer.read(gatherer.engine.nearest(vectors, selection, limit=limit + 1), criteria)
        except StorageUnavailable as error:
            return self._answer_instead(error).nearest(to, criteria, limit=limit)
        queries = [QueryVector.of(vector, self._embedder.second_length) for vector in vectors]
        without = to if isinstance(to, str) else None
        return find_nearest(gatherer.reader, queries, criteria, limit=limit, without=without)

    def warm_up(self) -> None:
        """Let the engine take in what it lacks; if it is away, it does so later."""
        with self._log_failure():
            self._feed_engine()

    def save(self) -> None:
        """Let the engine take in what it lacks; if it is away, it does so later."""
        with self._log_failure():
            self._feed_engine()
        self.engine.close()

    def discard(self) -> None:
        """Remove what was erased, see `discard_erased`."""
        self.discard_erased(())

    def discard_erased(self, ids: Collection[str]) -> None:
        """Let the files of the index and the engine have nothing of what was erased.

        Raises:
            StorageUnavailable: the engine is away.
        """
        # The files first: an engine that is away does not keep them.
        discard_erased(self._instead, ids)
        self._feed_engine()
        self.engine.scrub()

    def discard_others(self) -> None:
        """Remove what the index and the engine have by other models."""
        if isinstance(self._instead, SupportsIndex):
            self._instead.discard_others()
        self.engine.clear_others()

    def rebuild(self) -> None:
        """Empty the index and the engine, which then take in the store anew."""
        if isinstance(self._instead, SupportsIndex):
            self._instead.rebuild()
        self.engine.clear()

    def confine(
        self, storage: Storage, allows: Callable[[str], bool], instead: Search
    ) -> ConfinedCandidates:
        """Return a search of what `storage` shows, the scopes that `allows` names."""
        return ConfinedCandidates(self, storage, allows, instead)

    def _confine(self, criteria: Criteria) -> Criteria:
        return criteria

    def _gather(self, text: str) -> Gatherer:
        tail, embedder = self._refresh(), self._embedder
        return Gatherer(
            engine=self.engine,
            tail=tail.reader,
            hidden=tail.ids,
            embed=embedder.embed_query if embedder.understands(text) else None,
            storage=self._storage,
            texts=self._texts,
            second_length=embedder.second_length,
        )

    def _texts(self, ids: Collection[str]) -> dict[str, str]:
        return {i: record.memory.text for i, record in self._storage.get(ids).items()}

    def _answer_instead(self, error: StorageUnavailable) -> Search:
        if sum(self._storage.measure().memories.values()) > MOST_INSTEAD:
            raise error
        return self._instead

    def _refresh(self) -> _Tail:
        """Return every change committed before this call that the engine may lack."""
        # In this order: what another process hands on meanwhile is not ahead of the store.
        taken, position = self.engine.position(), self._storage.position()
        if taken > position:
            _log.warning(
                "the search engine had seen %d changes of %d: it is emptied", taken, position
            )
            self.engine.clear()
            taken = 0
        elif taken != self._known_at and not self._is_of_this_store():
            _log.warning("the search engine had taken in another copy of the store: it is emptied")
            self.engine.clear()
            taken = 0
        self._known_at = taken
        if position - taken > _LONGEST_TAIL:
            self._feed_engine()
            taken = self.engine.position()
        with self._lock:
            tail = self._tail
            if tail is None or tail.since != taken:
                tail = _Tail(since=taken, reader=Reader(cursor=taken))
            self._tail = tail = self._follow(tail, position)
        if len(tail.ids) >= _LONG_TAIL:
            self._start_feeding()
        return tail

    def _is_of_this_store(self) -> bool:
        """Return whether the entry up to which the engine has taken in is one of this store."""
        end = self.engine.end()
        entries = self._storage.journal(before=end.number + 1, limit=1) if end.number else []
        return not end.number or [entry.digest for entry in entries] == [end.digest]

    def _follow(self, tail: _Tail, position: int) -> _Tail:
        """Return `tail` with at least all changes up to `position`."""
        while tail.reader.cursor < position:
            documents, gone, cursor = self._read_changes(tail.reader.cursor)
            if cursor <= tail.reader.cursor:
                break
            reader = tail.reader.apply_changes(
                documents, gone, cursor=cursor, dimensions=self._embedder.dimensions
            )
            ids = tail.ids.union(gone, (document.id for document in documents))
            tail = evolve(tail, reader=reader, ids=ids)
        return tail

    def _read_changes(self, after: int) -> tuple[list[Document], list[str], int]:
        model, dimensions = self._embedder.model, self._embedder.dimensions
        changes = self._storage.changes(after, limit=_FEED_BATCH, models=(model,))
        documents = [
            describe(change.record, model=model, dimensions=dimensions)
            for change in changes.items
            if change.record is not None and change.record.memory.is_indexed
        ]
        present = {document.id for document in documents}
        return documents, [c.id for c in changes.items if c.id not in present], changes.cursor

    def _feed_engine(self) -> None:
        """Let the engine take in every change that is committed."""
        while (after := self.engine.position()) < self._storage.position():
            end = self._storage.journal_end()
            documents, gone, cursor = self._read_changes(after)
            if cursor <= after:
                return
            self.engine.take_in(documents, gone, after=after, position=cursor, end=end)

    def _start_feeding(self) -> None:
        with self._lock:
            if self._feeding is None or not self._feeding.is_alive():
                self._feeding = threading.Thread(
                    target=self._feed_quietly, name="infinite-memory-engine", daemon=True
                )
                self._feeding.start()

    def _feed_quietly(self) -> None:
        with self._log_failure():
            self._feed_engine()

    @contextmanager
    def _log_failure(self) -> Iterator[None]:
        try:
            yield
        except (StorageError, StoreClosed) as error:
            # The engine is derived: the next change, or the next process, will try again.
            _log.warning("the search engine has not taken in the newest changes yet: %s", error)


class ConfinedCandidates(CandidateSearch):
    """A search of some scopes alone, over the engine and the tail of the search of all."""

    def __init__(
        self,
        whole: CandidateSearch,
        storage: Storage,
        allows: Callable[[str], bool],
        instead: Search,
    ) -> None:
        """Show of `whole` what `storage` shows."""
        super().__init__(storage, whole._embedder, whole.engine, instead)
        # It may have measured the background of its model.
        self._embedder = whole._embedder
        self._whole = whole
        self._allows = allows

    def discard_erased(self, ids: Collection[str]) -> None:
        """Remove what was erased, see `CandidateSearch.discard_erased`."""
        self._whole.discard_erased(ids)

    def _confine(self, criteria: Criteria) -> Criteria:
        names = self._storage.scopes() if criteria.scopes is None else criteria.scopes
        return evolve(criteria, scopes=frozenset(filter(self._allows, names)))

    def _refresh(self) -> _Tail:
        return self._whole._refresh()

    def _feed_engine(self) -> None:
        self._whole._feed_engine()
