"""The contract of `Search` as tests: derive a test class and define `make_search` in it.

A search's own test file is a subclass::

    class TestMine(SearchContract):
        def make_search(self, storage: Storage, embedder: Embedder) -> Search:
            return MySearch(storage, embedder)
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from numpy.typing import NDArray

from infinite_memory.core.errors import EmbedderError, NotFound
from infinite_memory.core.protocols import Embedder, Search, Storage
from infinite_memory.core.values.commit import Commit, Erase, Put
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Memory, Origin, Status
from infinite_memory.core.values.question import Arm, Question
from infinite_memory.core.values.record import Embedding
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

__all__ = ["SearchContract", "put_text", "question"]

_NOW = datetime(2026, 6, 5, 12, 30, tzinfo=UTC)


def question(text: str, criteria: Criteria | None = None, **fields: Any) -> Question:
    """Return a question without a threshold, for ten candidates unless `fields` says otherwise."""
    values: dict[str, Any] = {"limit": 10, "threshold": 0.0, **fields}
    return Question(text=text, criteria=criteria or Criteria(), **values)


def put_text(
    storage: Storage,
    embedder: HashingEmbedder,
    memory_id: str,
    text: str,
    *,
    embedded: bool = True,
    **fields: Any,
) -> None:
    """Store a memory with its vectors, as the revision that `fields` gives, the first otherwise."""
    values = {"happened_at": _NOW, "stored_at": _NOW, **fields}
    memory = Memory(id=memory_id, text=text, **values)
    spans = embedder.spans(text)
    vectors = embedder.embed([text[start:end] for start, end in spans])
    embedding = Embedding(model=embedder.model, spans=spans, vectors=vectors)
    put = Put(
        memory=memory,
        expected=memory.revision - 1,
        embeddings=(embedding,) if embedded else (),
    )
    storage.commit(Commit(puts=[put]))


def _list_ids(search: Search, asked: Question) -> list[str]:
    return [candidate.id for candidate in search.search(asked).candidates]


class _BrokenEmbedder(HashingEmbedder):
    """Fails at every question, as a model does whose file is gone."""

    def embed_query(self, text: str) -> NDArray[np.float32]:  # noqa: ARG002 - part of the protocol
        raise EmbedderError("the model is gone")


class SearchContract:
    """Tests that hold for every implementation of `Search`."""

    def make_search(self, storage: Storage, embedder: Embedder) -> Search:
        """Make the search under test."""
        raise NotImplementedError("define make_search in the class that derives")

    @pytest.fixture
    def embedder(self) -> HashingEmbedder:
        """Return a quick embedder."""
        return HashingEmbedder()

    @pytest.fixture
    def storage(self, embedder: HashingEmbedder) -> Storage:
        """Return a store of four memories."""
        storage = InMemoryStorage()
        put_text(storage, embedder, "tea", "Alice likes green tea", kind=Kind.FACT)
        put_text(storage, embedder, "coffee", "Bob likes black coffee", scope="work")
        put_text(storage, embedder, "ship", "the ship leaves the harbour", tags=("sea",))
        put_text(storage, embedder, "late", "green lamps", embedded=False)
        return storage

    @pytest.fixture
    def search(self, storage: Storage, embedder: HashingEmbedder) -> Search:
        """Return the search of that store."""
        return self.make_search(storage, embedder)

    def test_the_memory_that_answers_comes_first(self, search: Search) -> None:
        ranking = search.search(question("who likes green tea"))
        assert ranking.candidates[0].id == "tea"
        scores = [candidate.score for candidate in ranking.candidates]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        assert ranking.best == scores[0]

    def test_an_empty_storage_gives_nothing(self, embedder: HashingEmbedder) -> None:
        search = self.make_search(InMemoryStorage(), embedder)
        ranking = search.search(question("tea"))
        assert (ranking.candidates, ranking.eligible, ranking.matches) == ((), 0, 0)
        assert search.nearest(embedder.embed_query("tea"), Criteria(), limit=3) == []

    def test_each_arm_alone_finds_what_it_can(self, search: Search) -> None:
        by_words = question("green", arms=frozenset({Arm.WORDS}))
        assert sorted(_list_ids(search, by_words)) == ["late", "tea"]
        by_meaning = question("green", arms=frozenset({Arm.MEANING}))
        assert "late" not in _list_ids(search, by_meaning)
        assert _list_ids(search, by_meaning)[0] == "tea"

    def test_a_memory_without_a_vector_is_found_by_its_words_and_counted(
        self, search: Search
    ) -> None:
        ranking = search.search(question("lamps"))
        assert ranking.candidates[0].id == "late"
        assert ranking.pending == 1

    @pytest.mark.parametrize(
        ("criteria", "expected"),
        [
            (Criteria(scopes=frozenset({"work"})), ["coffee"]),
            (Criteria(kinds=frozenset({Kind.FACT})), ["tea"]),
            (Criteria(statuses=frozenset({Status.SUPERSEDED})), []),
            (Criteria(tags=("sea",)), ["ship"]),
            (Criteria(since=_NOW + timedelta(seconds=1)), []),
        ],
    )
    def test_only_memories_that_meet_the_criteria_are_given_and_counted(
        self, search: Search, criteria: Criteria, expected: list[str]
    ) -> None:
        ranking = search.search(question("likes the green tea coffee ship", criteria))
        assert [candidate.id for candidate in ranking.candidates] == expected
        assert ranking.eligible == len(expected)

    def test_topic_summaries_are_left_out_without_changing_the_rest(
        self, search: Search, storage: Storage, embedder: HashingEmbedder
    ) -> None:
        without = Criteria(topic_summaries=False)
        asked = question("who likes green tea", without, explain=True)
        before = search.search(asked)
        topic: dict[str, Any] = {
            "kind": Kind.SUMMARY,
            "origin": Origin.DREAM,
            "context": {"dreamed": {"level": 1}},
        }
        put_text(storage, embedder, "topic", "who likes green tea", **topic)
        put_text(storage, embedder, "told", "Alice drinks tea", kind=Kind.SUMMARY)
        assert "told" in _list_ids(search, asked)
        storage.commit(Commit(erases=[Erase(id="told", expected=1)]))
        assert search.search(asked) == before
        everything = search.search(evolve(asked, criteria=Criteria()))
        assert everything.candidates[0].id == "topic"
        assert everything.eligible == before.eligible + 1
        summaries = Criteria(kinds=frozenset({Kind.SUMMARY}))
        assert _list_ids(search, question("tea", summaries)) == ["topic"]
        assert search.search(question("tea", without, about="topic")).place is None
        vector = embedder.embed_query("who likes green tea")
        assert "topic" in dict(search.nearest(vector, Criteria(), limit=9))
        assert "topic" not in dict(search.nearest(vector, without, limit=9))
        assert "topic" not in dict(search.nearest("tea", without, limit=9))

    def test_pages_are_the_stretches_of_one_list(self, search: Search) -> None:
        whole = search.search(question("the green likes ship")).candidates
        assert len(whole) > 2
        for offset in range(len(whole) + 1):
            page = search.search(question("the green likes ship", limit=2, offset=offset))
            assert page.candidates == whole[offset : offset + 2]
            assert page.further == (offset + 2 < len(whole))

    def test_a_threshold_leaves_out_and_counts(self, search: Search) -> None:
        whole = search.search(question("likes green tea"))
        middle = (whole.candidates[0].score + whole.candidates[1].score) / 2
        cut = search.search(question("likes green tea", threshold=middle))
        assert cut.candidates == whole.candidates[:1]
        assert (cut.matches, cut.below) == (1, whole.matches - 1)

    def test_a_threshold_spares_the_first_if_asked_to(self, search: Search) -> None:
        whole = search.search(question("likes green tea"))
        kept = search.search(question("likes green tea", threshold=1.0, spared=2))
        assert kept.candidates == whole.candidates[:2]
        assert (kept.matches, kept.below) == (2, whole.matches - 2)
        more = search.search(question("likes green tea", spared=1))
        assert more.candidates == whole.candidates

    def test_the_rank_of_a_memory_is_given_where_it_is_asked_for(self, search: Search) -> None:
        whole = search.search(question("likes green tea"))
        last = whole.candidates[-1]
        place = search.search(question("likes green tea", limit=1, about=last.id)).place
        assert place is not None
        assert (place[0], place[1].id) == (len(whole.candidates), last.id)
        assert place[1].score == last.score
        outside = Criteria(scopes=frozenset({"work"}))
        assert search.search(question("tea", outside, about="tea")).place is None

    def test_an_explanation_comes_where_it_is_asked_for(self, search: Search) -> None:
        assert search.search(question("tea")).candidates[0].explanation is None
        explained = search.search(question("tea", explain=True)).candidates[0].explanation
        assert explained is not None
        assert explained.total > 0

    def test_every_commit_before_a_call_is_seen_by_it(
        self, search: Search, storage: Storage, embedder: HashingEmbedder
    ) -> None:
        assert "new" not in _list_ids(search, question("a parrot"))
        put_text(storage, embedder, "new", "a parrot")
        assert _list_ids(search, question("a parrot"))[0] == "new"
        put_text(storage, embedder, "new", "an owl", revision=2)
        assert _list_ids(search, question("owl"))[0] == "new"
        assert _list_ids(search, question("parrot", arms=frozenset({Arm.WORDS}))) == []
        assert search.nearest(embedder.embed_query("an owl"), Criteria(), limit=1)[0][0] == "new"

    def test_what_was_erased_is_never_given(
        self, search: Search, storage: Storage, embedder: HashingEmbedder
    ) -> None:
        assert _list_ids(search, question("green tea"))[0] == "tea"
        storage.commit(Commit(erases=[Erase(id="tea", expected=1)]))
        assert "tea" not in _list_ids(search, question("green tea"))
        near = search.nearest(embedder.embed_query("green tea"), Criteria(), limit=10)
        assert "tea" not in dict(near)
        put_text(storage, embedder, "tea", "a kettle")
        assert _list_ids(search, question("kettle"))[0] == "tea"

    def test_a_new_search_of_the_same_storage_gives_the_same(
        self, search: Search, storage: Storage, embedder: HashingEmbedder
    ) -> None:
        for number in range(40):
            put_text(storage, embedder, f"m{number}", f"ship number {number % 7} in the harbour")
            search.search(question("ship"))
        asked = question("ship number 3", limit=30)
        assert self.make_search(storage, embedder).search(asked) == search.search(asked)

    def test_threads_see_the_same(self, search: Search) -> None:
        asked = question("likes green tea", explain=True)
        with ThreadPoolExecutor(4) as pool:
            rankings = list(pool.map(search.search, [asked] * 16))
        assert all(ranking == rankings[0] for ranking in rankings)

    def test_words_decide_where_the_embedder_fails(self, storage: Storage) -> None:
        ranking = self.make_search(storage, _BrokenEmbedder()).search(question("green tea"))
        assert ranking.candidates[0].id == "tea"
        assert ranking.note is not None
        assert "the model is gone" in ranking.note

    def test_the_nearest_of_a_vector_come_by_their_cosines(
        self, search: Search, storage: Storage, embedder: HashingEmbedder
    ) -> None:
        vector = embedder.embed_query("likes the green harbour")
        cosines = {
            memory_id: float((record.embeddings[0].vectors @ vector).max())
            for memory_id, record in storage.get(["tea", "coffee", "ship"]).items()
        }
        near = search.nearest(vector, Criteria(), limit=10)
        assert [memory_id for memory_id, _ in near] == sorted(
            cosines, key=lambda memory_id: (-round(cosines[memory_id], 4), memory_id)
        )
        assert [cosine for _, cosine in near] == pytest.approx(
            [cosines[memory_id] for memory_id, _ in near], abs=1e-3
        )
        assert search.nearest(vector, Criteria(), limit=2) == near[:2]
        inside = Criteria(scopes=frozenset({"work"}))
        assert [memory_id for memory_id, _ in search.nearest(vector, inside, limit=9)] == ["coffee"]

    def test_the_nearest_of_a_memory_leave_it_out(
        self, search: Search, storage: Storage, embedder: HashingEmbedder
    ) -> None:
        put_text(storage, embedder, "again", "Alice likes green tea")
        near = search.nearest("tea", Criteria(), limit=10)
        assert near[0][0] == "again"
        assert near[0][1] == pytest.approx(1, abs=1e-3)
        assert "tea" not in dict(near)
        assert search.nearest("late", Criteria(), limit=10) == []
        with pytest.raises(NotFound, match="'nobody'"):
            search.nearest("nobody", Criteria(), limit=1)

    def test_a_long_memory_is_as_near_as_its_nearest_passage(
        self, search: Search, storage: Storage, embedder: HashingEmbedder
    ) -> None:
        text = "Snow lies on the hills. " * 40 + "The parrot talks."
        put_text(storage, embedder, "long", text)
        assert len(embedder.spans(text)) > 1
        passage = text[slice(*embedder.spans(text)[-1])]
        ((nearest, cosine),) = search.nearest(embedder.embed_query(passage), Criteria(), limit=1)
        assert nearest == "long"
        assert cosine == pytest.approx(1, abs=1e-3)

    def test_the_depth_of_a_question_is_known(self, search: Search) -> None:
        asked = question("likes green tea")
        for depth in type(asked.depth):
            assert search.search(evolve(asked, depth=depth)).candidates[0].id == "tea"
