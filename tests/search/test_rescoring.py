"""The best 1,000 of a search are compared again by whole vectors."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.question import Question
from infinite_memory.core.values.record import Embedding, Record
from infinite_memory.search.collapsing import select_best_docs
from infinite_memory.search.cosine import QueryVector, approximate_cosines, cosines
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.document import Document, describe
from infinite_memory.search.ranking import rank, rescore_best
from infinite_memory.search.reader import Reader
from infinite_memory.search.scoring import DEFAULT_WEIGHTS, score_segment
from infinite_memory.search.segment import build
from tests.search.test_index import MAY
from tests.search.test_products import Floats, unit_vectors

DIMENSIONS = 384


def crowd(count: int, *, seed: int = 0, width: float = 0.02) -> Floats:
    """Return vectors that lie so near to each other that bytes put them in another order."""
    vectors = unit_vectors(1, DIMENSIONS) + width * unit_vectors(count, DIMENSIONS, seed=seed)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def described(number: int, vector: Floats, **fields: object) -> Document:
    memory = Memory(
        id=f"m{number:05d}",
        happened_at=MAY + timedelta(minutes=number),
        stored_at=MAY,
        **{"text": f"text {number}", **fields},
    )
    spans = np.array([[0, 2]], np.int32)
    embedding = Embedding(model="one", spans=spans, vectors=vector[None])
    record = Record(memory=memory, embeddings=(embedding,))
    return describe(record, model="one", dimensions=DIMENSIONS)


def reader_of(vectors: Floats, *, cuts: int = 1) -> Reader:
    documents = [described(number, vector) for number, vector in enumerate(vectors)]
    reader = Reader()
    size = -(-len(documents) // cuts)
    for start in range(0, len(documents), size):
        some = documents[start : start + size]
        reader = reader.apply_changes(some, [], cursor=start + 1, dimensions=DIMENSIONS)
    return reader


def ten_best(reader: Reader, query: Floats, **fields: object) -> list[str]:
    question = Question(text="z", criteria=Criteria(), limit=10, threshold=0.0, **fields)
    return [c.id for c in rank(reader, question, lambda _: query, background=0.0).candidates]


def ten_nearest(vectors: Floats, query: Floats) -> list[str]:
    products = vectors.astype(np.float64) @ query.astype(np.float64)
    return [f"m{number:05d}" for number in np.argsort(-products)[:10]]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cuts", [1, 3])
def test_the_ten_best_are_those_of_exact_cosines(seed: int, cuts: int) -> None:
    vectors = unit_vectors(5_000, DIMENSIONS, seed=seed)
    reader = reader_of(vectors, cuts=cuts)
    for query in unit_vectors(20, DIMENSIONS, seed=100 + seed):
        assert ten_best(reader, query) == ten_nearest(vectors, query)


def test_rescoring_finds_the_ten_best_among_vectors_that_the_high_bytes_cannot_order() -> None:
    query = unit_vectors(1, DIMENSIONS, seed=99)[0] + unit_vectors(1, DIMENSIONS)[0]
    query = (query / np.linalg.norm(query)).astype(np.float32)
    by_high_bytes = by_search = 0
    for seed in range(1, 6):
        vectors = crowd(3_000, seed=seed)
        reader = reader_of(vectors)
        (segment_reader,) = reader.segment_readers
        coarse = approximate_cosines(
            QueryVector.of(query), segment_reader.segment, DocFilter(size=3_000)
        )
        nearest = set(ten_nearest(vectors, query))
        by_high_bytes += len(nearest & {f"m{number:05d}" for number in np.argsort(-coarse)[:10]})
        by_search += len(nearest & set(ten_best(reader, query)))
    assert by_search >= 48
    assert by_high_bytes < 40


def test_rescoring_looks_at_as_many_as_it_is_told_and_changes_no_other() -> None:
    vectors = crowd(400)
    (segment_reader,) = reader_of(vectors).segment_readers
    query = QueryVector.of(unit_vectors(1, DIMENSIONS)[0])
    segment, doc_filter = segment_reader.segment, DocFilter(size=400)
    coarse = approximate_cosines(query, segment, doc_filter)
    exact = cosines(query, segment, np.arange(400, dtype=np.int32))
    scores = score_segment(
        segment,
        doc_filter,
        cosine=coarse.copy(),
        bm25=np.zeros(400, np.float32),
        ideal=0.0,
        named=None,
        background=0.0,
        weights=DEFAULT_WEIGHTS,
    )
    first = {place for _, place in select_best_docs([scores], 50, 0.0)}
    rescore_best([scores], query, DEFAULT_WEIGHTS, number=50)
    changed = np.isin(np.arange(400), sorted(first))
    assert (scores.cosine[changed] == exact[changed]).all()
    assert (scores.cosine[~changed] == coarse[~changed]).all()


def test_the_ranking_does_not_depend_on_how_the_memories_lie_in_segments() -> None:
    vectors = crowd(900, width=0.2)
    documents = [
        describe(
            Record(
                memory=Memory(
                    id=f"m{number}",
                    text=f"memory {number}",
                    conversation_id=f"c{number % 90}" if number % 3 else None,
                    happened_at=MAY + timedelta(minutes=number),
                    stored_at=MAY,
                ),
                embeddings=(
                    Embedding(
                        model="one", spans=np.array([[0, 6]], np.int32), vectors=vectors[[number]]
                    ),
                ),
            ),
            model="one",
            dimensions=DIMENSIONS,
        )
        for number in range(900)
    ]
    assert len(build(documents, dimensions=DIMENSIONS)) == 900
    rankings = []
    for size in (900, 400, 37):
        reader = Reader()
        for start in range(0, 900, size):
            some = documents[start : start + size]
            reader = reader.apply_changes(some, [], cursor=start, dimensions=DIMENSIONS)
        question = Question(text="memory", criteria=Criteria(), limit=700, threshold=0.0)
        ranking = rank(reader, question, lambda _: unit_vectors(1, DIMENSIONS)[0], background=0.1)
        rankings.append(
            ([(c.id, c.score) for c in ranking.candidates], ranking.matches, ranking.below)
        )
    assert len(rankings[0][0]) == 700
    assert rankings[0] == rankings[1] == rankings[2]
