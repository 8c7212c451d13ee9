"""A search of candidates, with the built-in index as its engine, ranks as the index does."""

from __future__ import annotations

from infinite_memory.core.protocols import Embedder, Search, Storage
from infinite_memory.search.candidates.built_in import BuiltInCandidates
from infinite_memory.search.candidates.search import CandidateSearch
from infinite_memory.search.index import SearchIndex
from infinite_memory.testing.search_contract import SearchContract


def make_search(storage: Storage, embedder: Embedder) -> CandidateSearch:
    engine = BuiltInCandidates(embedder.dimensions)
    return CandidateSearch(storage, embedder, engine, SearchIndex(storage, embedder))


class TestTail(SearchContract):
    """Nothing is in the engine: the newest changes are searched in the process."""

    def make_search(self, storage: Storage, embedder: Embedder) -> Search:
        return make_search(storage, embedder)


class TestEngine(SearchContract):
    """The engine has all that was stored when the search was made, and after each commit."""

    def make_search(self, storage: Storage, embedder: Embedder) -> Search:
        class Fed(CandidateSearch):
            def search(self, question):  # type: ignore[no-untyped-def]
                self._feed_engine()
                return super().search(question)

        engine = BuiltInCandidates(embedder.dimensions)
        return Fed(storage, embedder, engine, SearchIndex(storage, embedder))
