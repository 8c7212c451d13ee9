"""A search of candidates ranks as the index does, wherever the newest changes are."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_memory import times
from infinite_memory.core.protocols import Embedder, Search, Storage
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.core.values.criteria import Criteria, Depth
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.question import Arm, Question, Ranking
from infinite_memory.search.candidates.built_in import BuiltInCandidates
from infinite_memory.search.candidates.search import CandidateSearch
from infinite_memory.search.index import SearchIndex
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.search_contract import SearchContract, put_text, question
from tests.search.test_search_contract import EMBEDDER, START, TEXTS, assert_alike, changes


def make_search(storage: Storage, embedder: Embedder) -> CandidateSearch:
    engine = BuiltInCandidates(embedder.dimensions)
    return CandidateSearch(storage, embedder, engine, SearchIndex(storage, embedder))


class TestTail(SearchContract):
    """Nothing is in the engine: the newest changes are searched in the process."""

    def make_search(self, storage: Storage, embedder: Embedder) -> Search:
        return make_search(storage, embedder)


class _FedFirst(CandidateSearch):
    """The engine takes in every change before each question."""

    def search(self, question: Question) -> Ranking:
        self.warm_up()
        return super().search(question)


class TestEngine(SearchContract):
    """The engine has everything: nothing is searched in the process."""

    def make_search(self, storage: Storage, embedder: Embedder) -> Search:
        engine = BuiltInCandidates(embedder.dimensions)
        return _FedFirst(storage, embedder, engine, SearchIndex(storage, embedder))


@settings(max_examples=15, deadline=None)
@given(
    made=changes(),
    fed=st.sets(st.integers(0, 40)),
    text=TEXTS,
    depth=st.sampled_from(Depth),
    arms=st.frozensets(st.sampled_from(Arm), min_size=1),
    scopes=st.sampled_from([None, frozenset({"work"})]),
    topics=st.booleans(),
)
def test_candidates_are_ranked_as_the_index_ranks_all(
    made: list[tuple[str, str | None, dict[str, object]]],
    fed: set[int],
    text: str,
    depth: Depth,
    arms: frozenset[Arm],
    scopes: frozenset[str] | None,
    topics: bool,
) -> None:
    storage = InMemoryStorage()
    index, search = SearchIndex(storage, EMBEDDER), make_search(storage, EMBEDDER)
    criteria = Criteria(scopes=scopes, topic_summaries=topics, statuses=frozenset({Status.CURRENT}))
    asked = question(text, criteria, depth=depth, arms=arms, limit=5, about="m1", explain=True)
    revisions: dict[str, int] = {}
    for number, (memory_id, new_text, fields) in enumerate(made):
        revision = revisions.pop(memory_id, 0)
        if new_text is None:
            storage.commit(Commit(erases=[Erase(id=memory_id)]))
        else:
            revisions[memory_id] = revision + 1
            put_text(storage, EMBEDDER, memory_id, new_text, revision=revision + 1, **fields)
        if number in fed:
            search.warm_up()
    found, expected = search.search(asked), index.search(asked)
    assert_alike(found, expected)
    assert (found.matches, found.below, found.more) == (
        expected.matches,
        expected.below,
        expected.more,
    )
    assert (found.place is None) == (expected.place is None)
    if found.place and expected.place:
        assert found.place[0] == expected.place[0]
        steps = [place[1].explanation for place in (found.place, expected.place)]
        assert steps[0] is not None
        assert steps[1] is not None
        assert steps[0].total == pytest.approx(steps[1].total, abs=2e-4)
        assert steps[0].around == pytest.approx(steps[1].around, abs=2e-4)
    near = search.nearest(EMBEDDER.embed_query(text), criteria, limit=5)
    assert near == index.nearest(EMBEDDER.embed_query(text), criteria, limit=5)


@pytest.mark.parametrize("fed", [False, True])
def test_a_time_in_the_question_counts_where_something_happened_then(fed: bool) -> None:
    storage, now = InMemoryStorage(), START + timedelta(days=400)
    index, search = SearchIndex(storage, EMBEDDER), make_search(storage, EMBEDDER)
    text = "did Alice drink tea last week?"
    asked = question(text, explain=True, time=times.find_range(text, now=now, zone="UTC"))
    for then in (START, now - timedelta(days=7)):
        put_text(storage, EMBEDDER, str(then), f"Alice likes tea of {then.day}", happened_at=then)
        if fed:
            search.warm_up()
        found, expected = search.search(asked), index.search(asked)
        assert_alike(found, expected)
        assert (found.time, found.empty_time) == (expected.time, expected.empty_time)
