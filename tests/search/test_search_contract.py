"""The index and the linear search pass the contract, and rank alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_memory.core.protocols import Embedder, Search, Storage
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.core.values.criteria import Criteria, Depth
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.core.values.question import Arm, Ranking
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.linear import LinearSearch, LinearTimeline
from infinite_memory.search.snapshot import Snapshot
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.search_contract import SearchContract, put_text, question

START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = st.sampled_from(
    "tea harbour ship lamp green Alice Bob likes number ? 北京 read_text".split()
)
TEXTS = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
EMBEDDER = HashingEmbedder()


class TestSearchIndex(SearchContract):
    def make_search(self, storage: Storage, embedder: Embedder) -> Search:
        return SearchIndex(storage, embedder)


class TestSearchIndexWithSnapshots(SearchContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = tmp_path
        monkeypatch.setattr("infinite_memory.search.index._SNAPSHOT_CHANGES", 1)
        monkeypatch.setattr("infinite_memory.search.index._FOLD_CHANGES", 3)

    def make_search(self, storage: Storage, embedder: Embedder) -> Search:
        snapshot = Snapshot(
            self.folder,
            identity=storage.identity,
            model=embedder.model,
            dimensions=embedder.dimensions,
        )
        first = SearchIndex(storage, embedder, snapshot=snapshot)
        first.warm_up()
        first.save()
        return SearchIndex(storage, embedder, snapshot=snapshot)


class TestLinearSearch(SearchContract):
    def make_search(self, storage: Storage, embedder: Embedder) -> Search:
        return LinearSearch(storage, embedder)


def assert_alike(ranking: Ranking, reference: Ranking) -> None:
    """Compare two rankings; only candidates whose scores differ by rounding may change places."""
    scores = [candidate.score for candidate in ranking.candidates]
    assert scores == pytest.approx([c.score for c in reference.candidates], abs=2e-5)
    for candidate, expected in zip(ranking.candidates, reference.candidates, strict=True):
        if candidate.id != expected.id:
            near = [c.id for c in reference.candidates if abs(c.score - candidate.score) < 4e-5]
            assert candidate.id in near or candidate is ranking.candidates[-1]
    assert (ranking.eligible, ranking.pending, ranking.note) == (
        reference.eligible,
        reference.pending,
        reference.note,
    )


@st.composite
def changes(draw: st.DrawFn) -> list[tuple[str, str | None, dict[str, object]]]:
    """Draw memories that are stored, revised and erased: (id, text or None, fields)."""
    number = st.integers(0, 11)
    drawn = []
    for _ in range(draw(st.integers(1, 40))):
        text = draw(st.none() | TEXTS | TEXTS | TEXTS)
        fields = {
            "happened_at": START + timedelta(days=draw(number)),
            "kind": draw(st.sampled_from([Kind.NOTE, Kind.MESSAGE, Kind.SUMMARY])),
            "scope": draw(st.sampled_from(["Global", "work"])),
            "speaker": draw(st.sampled_from([None, "Alice", "Bob"])),
            "conversation_id": draw(st.sampled_from([None, "c1", "c2"])),
            "important": draw(st.booleans()),
            # A summary of the origin dream is a topic summary.
            "origin": draw(st.sampled_from([Origin.USER, Origin.DREAM])),
            "context": {"dreamed": {"level": 1}},
        }
        drawn.append((f"m{draw(number)}", text, fields))
    return drawn


@given(
    made=changes(),
    text=TEXTS,
    depth=st.sampled_from(Depth),
    arms=st.frozensets(st.sampled_from(Arm), min_size=1),
    scopes=st.sampled_from([None, frozenset({"work"})]),
    topics=st.booleans(),
    offset=st.integers(0, 3),
)
def _the_index_ranks_as_the_linear_search_after_every_change(
    made: list[tuple[str, str | None, dict[str, object]]],
    text: str,
    depth: Depth,
    arms: frozenset[Arm],
    scopes: frozenset[str] | None,
    topics: bool,
    offset: int,
) -> None:
    storage = InMemoryStorage()
    index, linear = SearchIndex(storage, EMBEDDER), LinearSearch(storage, EMBEDDER)
    criteria = Criteria(scopes=scopes, topic_summaries=topics)
    asked = question(text, criteria, depth=depth, arms=arms, offset=offset, limit=5)
    revisions: dict[str, int] = {}
    for memory_id, new_text, fields in made:
        revision = revisions.pop(memory_id, 0)
        if new_text is None:
            storage.commit(Commit(erases=[Erase(id=memory_id)]))
        else:
            revisions[memory_id] = revision + 1
            put_text(storage, EMBEDDER, memory_id, new_text, revision=revision + 1, **fields)
        index.search(asked)
    assert_alike(index.search(asked), linear.search(asked))
    near = index.nearest(EMBEDDER.embed_query(text), criteria, limit=5)
    expected = linear.nearest(EMBEDDER.embed_query(text), criteria, limit=5)
    assert [c for _, c in near] == pytest.approx([c for _, c in expected], abs=1e-3)


@pytest.mark.parametrize("examples", [15, pytest.param(120, marks=pytest.mark.slow("index-walks"))])
def test_the_index_ranks_as_the_linear_search_after_every_change(examples: int) -> None:
    settings(max_examples=examples, deadline=None)(
        _the_index_ranks_as_the_linear_search_after_every_change
    )()


@settings(max_examples=25, deadline=None)
@given(made=changes(), topics=st.booleans(), newest_first=st.booleans(), limit=st.integers(1, 7))
def test_the_timeline_of_the_index_is_that_of_the_storage(
    made: list[tuple[str, str | None, dict[str, object]]],
    topics: bool,
    newest_first: bool,
    limit: int,
) -> None:
    storage = InMemoryStorage()
    stored = {memory_id: (text, fields) for memory_id, text, fields in made if text is not None}
    for memory_id, (text, fields) in stored.items():
        put_text(storage, EMBEDDER, memory_id, text, **fields)
    criteria = Criteria(scopes=frozenset({"Global"}), topic_summaries=topics)
    timeline = SearchIndex(storage, EMBEDDER).timeline(criteria)
    linear = LinearTimeline(storage, criteria)
    assert np.array_equal(timeline.moments, linear.moments)
    assert (timeline.by_scope(), timeline.by_kind()) == (linear.by_scope(), linear.by_kind())
    after = None
    while page := linear.page(after, limit, newest_first=newest_first):
        assert timeline.page(after, limit, newest_first=newest_first) == page
        after = page[-1]
    assert timeline.page(after, limit, newest_first=newest_first) == []
