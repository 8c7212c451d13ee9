"""The best of a search are those of exact cosines, although all are compared by bytes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest
from attrs import evolve

from infinite_memory.model.criteria import Criteria
from infinite_memory.model.memory import Kind, Memory
from infinite_memory.model.record import Embedding, Record
from infinite_memory.model.search_options import Depth
from infinite_memory.search.collapsing import best
from infinite_memory.search.cosine import QueryVector, approximate_cosines, cosines
from infinite_memory.search.doc_filter import Selection
from infinite_memory.search.document import Document, describe
from infinite_memory.search.query import Question
from infinite_memory.search.ranking import rank
from infinite_memory.search.reader import View
from infinite_memory.search.rescoring import Settling
from infinite_memory.search.scoring import Scored, scored
from infinite_memory.search.segment import Segment, build
from infinite_memory.search.weights import DEFAULT_WEIGHTS, Weights
from tests.search.test_index import MAY
from tests.search.test_products import Floats, segment_with, unit_vectors

DIMENSIONS = 384


def crowd(count: int, *, seed: int = 0, width: float = 0.02) -> Floats:
    """Return vectors that lie so near to each other that bytes put them in another order."""
    vectors = unit_vectors(1, DIMENSIONS) + width * unit_vectors(count, DIMENSIONS, seed=seed)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def scores_of(
    query: QueryVector,
    parts: list[Floats],
    weights: Weights,
    *,
    seed: int,
    passages: int,
    exact: bool,
    background: float = 0.1,
    worded: float = 1.0,
    named: float = 0.5,
) -> list[Scored]:
    made = []
    rng = np.random.default_rng(seed)
    for vectors in parts:
        documents = len(vectors) // passages
        segment = evolve(
            segment_with(vectors, passages=passages),
            id_bytes=np.frombuffer(b"".join(b"%09d" % i for i in range(documents)), np.uint8),
            id_start=np.arange(documents + 1, dtype=np.int64) * 9,
            asks=(rng.random(documents) < 0.3).astype(np.int8),
            important=(rng.random(documents) < 0.3).astype(np.int8),
        )
        selection = Selection.of(rng.random(documents) < 0.7)
        found = (
            cosines(query, segment, selection.docs)
            if exact
            else approximate_cosines(query, segment, selection)
        )
        made.append(
            scored(
                segment,
                selection,
                cosine=found,
                bm25=np.where(
                    rng.random(len(selection)) < worded, rng.random(len(selection)) * 0.01, 0
                ).astype(np.float32),
                ideal=1.0,
                named=rng.random(len(selection)) < named,
                background=background,
                weights=weights,
            )
        )
    return made


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("passages", [1, 3])
def test_the_best_are_those_of_exact_cosines(seed: int, passages: int) -> None:
    vector = unit_vectors(1, DIMENSIONS, seed=99)[0] + unit_vectors(1, DIMENSIONS)[0]
    query = QueryVector.of(vector / np.linalg.norm(vector))
    sizes = (1_500, 300, 600) if seed % 2 else (2_400,)
    parts = [crowd(size, seed=seed + 10 * number) for number, size in enumerate(sizes)]
    weights = DEFAULT_WEIGHTS if seed < 4 else evolve(DEFAULT_WEIGHTS, speaker=0.0, words=0.0)
    options = {"seed": seed, "passages": passages}
    mine = scores_of(query, parts, weights, exact=False, **options)
    exact = scores_of(query, parts, weights, exact=True, **options)
    before = [place for _, place in best(mine, 50, 0.0)]
    settling = Settling(mine, query, weights)
    settling.best(50)
    number = {id(s): part for scores in (mine, exact) for part, s in enumerate(scores)}
    found = [(number[id(s)], place, s.total[place]) for s, place in best(mine, 50, 0.0)]
    expected = [(number[id(s)], place, s.total[place]) for s, place in best(exact, 50, 0.0)]
    assert found == expected
    assert before != [place for _, place, _ in expected]
    settled = sum(map(len, settling._settled))
    assert 50 <= settled < sum(len(s.selection) for s in mine)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("more", [-50, 0, 50])
def test_who_is_related_to_the_question_is_decided_by_exact_cosines(seed: int, more: int) -> None:
    query = QueryVector.of(unit_vectors(1, DIMENSIONS)[0])
    vectors = unit_vectors(6_000, DIMENSIONS, seed=seed + 1)
    # Most are nearer to the question than unrelated texts are; who is named has said few of them.
    everything = np.arange(6_000, dtype=np.int32)
    background = float(np.sort(cosines(query, segment_with(vectors), everything))[-4_000])
    weights = DEFAULT_WEIGHTS if seed % 2 else evolve(DEFAULT_WEIGHTS, speaker=0.0)
    options = {"seed": seed, "passages": 1, "background": background, "worded": 0.01, "named": 0.1}
    mine = scores_of(query, [vectors], weights, exact=False, **options)
    exact = scores_of(query, [vectors], weights, exact=True, **options)
    assert ((mine[0].total > 0) != (exact[0].total > 0)).any()
    number = int(mine[0].spoken.sum()) + more
    settling = Settling(mine, query, weights)
    settling.best(number)
    found, expected = ([(p, s.total[p]) for s, p in best(o, number, 0.0)] for o in (mine, exact))
    assert found == expected
    assert len(settling._settled[0]) < 1_200


def test_fewer_than_are_wanted_are_all_settled() -> None:
    query = QueryVector.of(unit_vectors(1, DIMENSIONS)[0])
    options = {"seed": 1, "passages": 1}
    mine = scores_of(query, [crowd(60)], DEFAULT_WEIGHTS, exact=False, **options)
    exact = scores_of(query, [crowd(60)], DEFAULT_WEIGHTS, exact=True, **options)
    Settling(mine, query, DEFAULT_WEIGHTS).best(300)
    assert (mine[0].total == exact[0].total).all()
    assert (mine[0].cosine == exact[0].cosine).all()


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
        view = View()
        for start in range(0, 900, size):
            some = documents[start : start + size]
            view = view.changed(some, [], cursor=start, dimensions=DIMENSIONS)
        question = Question(text="memory", criteria=Criteria(), limit=700, threshold=0.0)
        ranking = rank(view, question, lambda _: unit_vectors(1, DIMENSIONS)[0], background=0.1)
        rankings.append(
            ([(c.id, c.score) for c in ranking.candidates], ranking.matches, ranking.below)
        )
    assert len(rankings[0][0]) == 700
    assert rankings[0] == rankings[1] == rankings[2]


def at(cosines_wanted: Floats, query: Floats, *, seed: int) -> Floats:
    """Return unit vectors with these cosines to the question."""
    aside = unit_vectors(len(cosines_wanted), DIMENSIONS, seed=seed)
    aside -= (aside @ query)[:, None] * query
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    wanted = cosines_wanted[:, None]
    return (wanted * query + np.sqrt(1 - wanted * wanted) * aside).astype(np.float32)


def described(number: int, vector: Floats, **fields: object) -> Document:
    memory = Memory(
        id=f"m{number:04d}",
        happened_at=MAY + timedelta(minutes=number),
        stored_at=MAY,
        **{"text": f"text {number}", **fields},
    )
    spans = np.array([[0, 2]], np.int32)
    embedding = Embedding(model="one", spans=spans, vectors=vector[None])
    record = Record(memory=memory, embeddings=(embedding,))
    return describe(record, model="one", dimensions=DIMENSIONS)


def three_hundred_that_say_the_same(query: Floats) -> list[Document]:
    vector = at(np.array([0.95]), query, seed=1)[0]
    return [described(number, vector, text="ok") for number in range(300)]


def three_hundred_that_lose_by_what_was_said_after_them(query: Floats) -> list[Document]:
    said, after = at(np.full(300, 0.95), query, seed=1), at(np.full(300, -0.3), query, seed=2)
    return [
        described(number, vectors[number // 2], conversation_id=f"c{number // 2}")
        for number in range(600)
        for vectors in [(said, after)[number % 2]]
    ]


@pytest.mark.parametrize("depth", Depth)
@pytest.mark.parametrize("limit", [1, 3, 40])
@pytest.mark.parametrize(
    "first",
    [three_hundred_that_say_the_same, three_hundred_that_lose_by_what_was_said_after_them],
)
def test_what_comes_before_the_best_by_themselves_is_compared_exactly_too(
    first: Callable[[Floats], list[Document]],
    limit: int,
    depth: Depth,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = unit_vectors(1, DIMENSIONS)[0]
    others = at(np.linspace(0.84, 0.86, 600), query, seed=3)
    kinds = (Kind.SUMMARY, Kind.NOTE)
    documents = [
        *first(query),
        *(described(1_000 + n, each, kind=kinds[n % 2]) for n, each in enumerate(others)),
    ]
    view = View().changed(documents, [], cursor=1, dimensions=DIMENSIONS)
    question = Question(text="z", criteria=Criteria(), limit=limit, depth=depth, threshold=0.0)
    found = rank(view, question, lambda _: query, background=0.1).candidates
    monkeypatch.setattr("infinite_memory.search.ranking.approximate_cosines", _exact_cosines)
    assert found == rank(view, question, lambda _: query, background=0.1).candidates
    assert len(found) == limit


def _exact_cosines(query: QueryVector, segment: Segment, selection: Selection) -> Floats:
    docs = selection.docs
    return cosines(
        query, segment, np.arange(len(segment), dtype=np.int32) if docs is None else docs
    )
