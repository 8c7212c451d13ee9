"""Which memories say the same, and which groups of them are the best."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve

from infinite_memory.search.collapsing import (
    narrow_groups,
    select_best_docs,
    select_best_groups,
)
from infinite_memory.search.cosine import QueryVector, cosines
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.scoring import DEFAULT_WEIGHTS, SegmentScores, Weights, score_segment
from infinite_memory.search.segment import NEVER, sort_order
from tests.search.test_products import Floats, segment_with, unit_vectors
from tests.search.test_rescoring import DIMENSIONS, crowd

# Four say what hundreds say, of which some are over; most others speak for themselves.
_SHARES = np.array([0.3, 0.2, 0.15, 0.1])


def scores_of(
    query: QueryVector,
    parts: list[Floats],
    weights: Weights,
    *,
    seed: int,
    passages: int,
    background: float = 0.1,
    worded: float = 1.0,
    named: float = 0.5,
) -> list[SegmentScores]:
    made = []
    rng = np.random.default_rng(seed)
    for vectors in parts:
        documents = len(vectors) // passages
        segment = evolve(
            segment_with(vectors, passages=passages),
            id_bytes=np.frombuffer(b"".join(b"%09d" % i for i in range(documents)), np.uint8),
            id_start=np.arange(documents + 1, dtype=np.int64) * 9,
            is_question=(rng.random(documents) < 0.3).astype(np.int8),
            important=(rng.random(documents) < 0.3).astype(np.int8),
        )
        doc_filter = DocFilter.of(rng.random(documents) < 0.7)
        made.append(
            score_segment(
                segment,
                doc_filter,
                cosine=cosines(query, segment, doc_filter.docs),
                bm25=np.where(
                    rng.random(len(doc_filter)) < worded, rng.random(len(doc_filter)) * 0.01, 0
                ).astype(np.float32),
                ideal=1.0,
                named=rng.random(len(doc_filter)) < named,
                background=background,
                weights=weights,
            )
        )
    return made


def crowded(seed: int) -> list[SegmentScores]:
    query = QueryVector.of(unit_vectors(1, DIMENSIONS)[0])
    parts = [crowd(1_400, seed=seed), crowd(600, seed=seed + 1)]
    scores = scores_of(query, parts, DEFAULT_WEIGHTS, seed=seed, passages=1)
    rng = np.random.default_rng(seed)
    made = []
    for s in scores:
        size = len(s.segment)
        drawn = np.searchsorted(np.cumsum(_SHARES), rng.random(size)).astype(np.uint64)
        alone = drawn == len(_SHARES)
        drawn[alone] = rng.integers(10, 900, int(alone.sum()))
        segment = evolve(
            s.segment,
            canonical_hash=drawn,
            canonical_order=sort_order(drawn),
            status=(rng.random(size) < 0.1).astype(np.int8),
            held_to=np.where(rng.random(size) < 0.1, 5, NEVER),
            happened=rng.integers(0, 50, size),
            stored=rng.integers(0, 50, size),
        )
        s = evolve(s, segment=segment)
        # What hundreds say is the best answer.
        s.total[s.doc_filter.take(drawn) < len(_SHARES)] += 1
        made.append(s)
    return made


def named(s: SegmentScores, place: int) -> tuple[int, int, int]:
    doc = s.doc_filter.doc_at(place)
    return (
        int(s.segment.canonical_hash[doc]),
        int(s.segment.status[doc]),
        int(s.segment.held_to[doc]),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limit", [1, 5, 9, 60, 5_000])
@pytest.mark.parametrize("least", [0.0, 1.0])
def test_the_groups_are_those_of_a_look_at_everything(seed: int, limit: int, least: float) -> None:
    scores = crowded(seed)
    everything = select_best_docs(scores, 10_000, least)
    members: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    number = {id(s): part for part, s in enumerate(scores)}
    for s, place in everything:
        members.setdefault(named(s, place), []).append((number[id(s)], place))
    expected = list(members.items())[:limit]
    found = select_best_groups(scores, limit, least)
    assert [named(*group.lead) for group in found] == [twin for twin, _ in expected]
    for group, (_, places) in zip(found, expected, strict=True):
        together = [(number[id(s)], place) for s, place in (group.lead, *group.twins)]
        assert sorted(together) == sorted(places)
        part, place = places[0]
        assert group.total == scores[part].total[place]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("least", [0.3, 0.7, 1.0, 1.2, 9.0])
def test_groups_that_are_narrowed_are_those_that_were_selected_by_the_total(
    seed: int, least: float
) -> None:
    scores = crowded(seed)
    everything = select_best_groups(scores, 5_000, 0.0)
    assert narrow_groups(everything, least) == select_best_groups(scores, 5_000, least)
