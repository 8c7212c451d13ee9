"""A selection counts the documents that a search may see, and finds their places."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Kind, Status
from infinite_memory.core.values.question import Question
from infinite_memory.search.bm25 import bm25
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import describe
from infinite_memory.search.index import SearchIndex
from infinite_memory.search.reader import Reader
from infinite_memory.search.text.analyzer import terms
from infinite_memory.storage.inmemory.storage import InMemoryStorage
from tests.search.test_index import EMBEDDER, record, segment_of


@given(st.lists(st.booleans(), max_size=80), st.data())
def test_a_place_is_where_a_document_stands_among_the_selected(
    chosen: list[bool], data: st.DataObject
) -> None:
    mask = np.array(chosen, bool)
    doc_filter = DocFilter.of(mask)
    docs = np.flatnonzero(mask).astype(np.int32)
    assert len(doc_filter) == len(docs)
    assert [doc_filter.doc_at(place) for place in range(len(docs))] == docs.tolist()
    column = np.arange(100, 100 + len(mask))
    assert doc_filter.take(column).tolist() == column[mask].tolist()
    kept = data.draw(st.lists(st.booleans(), min_size=len(docs), max_size=len(docs)))
    some = docs[np.array(kept, bool)]
    assert docs[doc_filter.positions_of(some)].tolist() == some.tolist()
    assert doc_filter.contains(np.arange(len(mask))).tolist() == chosen


@pytest.mark.parametrize("visible", [2, 40])
def test_a_common_word_scores_the_same_in_a_small_scope_as_alone(visible: int) -> None:
    records = [record(i, f"tea {'harbour ' * (i % 3)}") for i in range(400)]
    mask = np.zeros(400, bool)
    mask[np.linspace(3, 390, visible).astype(int)] = True
    (scores,), asked = bm25(terms("tea harbour"), [segment_of(*records)], [DocFilter.of(mask)])
    alone = segment_of(*(r for r, seen in zip(records, mask, strict=True) if seen))
    (expected,), again = bm25(terms("tea harbour"), [alone], [DocFilter(size=visible)])
    assert asked.ideal == pytest.approx(again.ideal)
    assert scores == pytest.approx(expected)


def test_conditions_choose_what_a_loop_would() -> None:
    kinds, statuses = list(Kind), list(Status)
    records = [
        record(
            i,
            "tea",
            scope=f"s{i % 12}",
            kind=kinds[i % len(kinds)],
            status=statuses[i % len(statuses)],
            conversation_id=f"c{i % 5}" if i % 2 else None,
            tags=("hot",) * (i % 3 == 0),
        )
        for i in range(300)
    ]
    documents = [describe(r, model=EMBEDDER.model, dimensions=EMBEDDER.dimensions) for r in records]
    reader = Reader().apply_changes(documents, [], cursor=300, dimensions=EMBEDDER.dimensions)
    (segment_reader,) = reader.apply_changes(
        [], ["m0", "m299"], cursor=302, dimensions=64
    ).segment_readers
    live_count = [r.memory for r in records[1:299]]
    for criteria in (
        Criteria(),
        Criteria(scopes=frozenset({"s3"})),
        Criteria(scopes=frozenset(f"s{i}" for i in range(12))),
        Criteria(scopes=frozenset(f"s{i}" for i in range(10))),
        Criteria(scopes=frozenset({"unknown"})),
        Criteria(kinds=frozenset({Kind.FACT, Kind.NOTE}), statuses=frozenset({Status.CURRENT})),
        Criteria(conversation_id="c3"),
        Criteria(conversation_id="unknown"),
        Criteria(tags=("HOT",), since=records[50].memory.happened_at),
        Criteria(until=records[50].memory.happened_at),
    ):
        doc_filter = segment_reader.eligible(criteria)
        ids = [
            segment_reader.segment.id_of(doc_filter.doc_at(place))
            for place in range(len(doc_filter))
        ]
        assert ids == [memory.id for memory in live_count if criteria.admit(memory)]
    assert Counter(m.scope for m in live_count)["s3"] == 25


@pytest.mark.parametrize("threshold", [0.0, 0.3])
def test_the_best_of_many_are_the_first_of_all(threshold: float) -> None:
    storage = InMemoryStorage()
    words = ["harbour", "lights", "tea", "rocket", "deadline", "night"]
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(6000)]
    storage.commit(
        Commit(
            puts=[Put(memory=record(i, text).memory, expected=0) for i, text in enumerate(texts)]
        )
    )
    index = SearchIndex(storage, EMBEDDER)
    question = Question(
        text="tea at night by the harbour", criteria=Criteria(), limit=60, threshold=threshold
    )
    every = index.search(question)
    few = index.search(evolve(question, limit=4))
    assert few.candidates == every.candidates[:4]
    shown, all_shown = (
        sum(1 + len(candidate.twins) for candidate in ranking.candidates)
        for ranking in (few, every)
    )
    assert few.more + shown == every.more + all_shown
    index.save()
