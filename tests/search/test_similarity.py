"""Nearest memories of a stored one: which are named, in which order, and from what they follow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.dream.neighbor import Neighbor
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.record import Embedding, Record
from infinite_memory.search.document import Document, describe
from infinite_memory.search.reader import Reader
from infinite_memory.search.similarity import LEAST_SCORE, find_neighbors, find_similar

_DAY = datetime(2026, 5, 1, tzinfo=UTC)
_DIMENSIONS = 8
_HERE = Criteria(scopes=frozenset({"Global"}), statuses=frozenset({Status.CURRENT}))


def document(
    memory_id: str,
    text: str,
    *directions: float,
    scope: str = "Global",
    status: Status = Status.CURRENT,
) -> Document:
    """Return a memory; its vector has these components, and it has none without any."""
    memory = Memory(
        id=memory_id,
        text=text,
        scope=scope,
        status=status,
        happened_at=_DAY,
        stored_at=_DAY,
    )
    vectors = np.zeros((1 if directions else 0, _DIMENSIONS), np.float32)
    if directions:
        vectors[0, : len(directions)] = directions
        vectors /= np.linalg.norm(vectors)
    spans = np.array([[0, len(text)]] * len(vectors), np.int32).reshape(-1, 2)
    embedding = Embedding(model="a", spans=spans, vectors=vectors)
    record = Record(memory=memory, embeddings=(embedding,) if directions else ())
    return describe(record, model="a", dimensions=_DIMENSIONS)


def reader_of(*documents: Document) -> Reader:
    """Return a reader over the documents, each in a segment of its own where they do not merge."""
    reader = Reader()
    for number, added in enumerate(documents, 1):
        reader = reader.apply_changes([added], [], cursor=number, dimensions=_DIMENSIONS)
    return reader


def nearest(
    reader: Reader, memory_id: str, text: str, **options: object
) -> list[tuple[str, float]]:
    return find_similar(
        reader,
        memory_id,
        text,
        _HERE,
        background=0.0,
        **{"limit": 3, **options},  # type: ignore[arg-type]
    )


def test_the_nearest_comes_first_and_neither_the_memory_itself_nor_an_unrelated_one_comes() -> None:
    reader = reader_of(
        document("far", "glaciers melt", 0, 0, 1),
        document("near", "alpha", 1, 0.5),
        document("nearer", "beta", 1, 0.4),
        document("new", "gamma", 1, 0.1),
    )
    assert [memory_id for memory_id, _ in nearest(reader, "new", "gamma")] == ["nearer", "near"]


def test_only_what_meets_the_criteria_is_named_and_moves_no_score() -> None:
    seen = [document("near", "alpha", 1, 0.5), document("new", "gamma alpha", 1, 0.1)]
    unseen = [
        document(f"hidden-{number}", "gamma alpha", 1, 0.1, scope="private") for number in range(9)
    ] + [document("old", "gamma alpha", 1, 0.1, status=Status.SUPERSEDED)]
    alone = nearest(reader_of(*seen), "new", "gamma alpha")
    assert [memory_id for memory_id, _ in alone] == ["near"]
    assert nearest(reader_of(*unseen, *seen), "new", "gamma alpha") == alone


def test_without_a_vector_words_alone_name_it() -> None:
    pending = document("new", "The standup has been moved to 10:30")
    others = [document(f"other-{number}", f"topic{number} word{number}") for number in range(9)]
    reader = reader_of(document("standup", "The standup is at 9:00"), *others, pending)
    names = [
        memory_id for memory_id, _ in nearest(reader, "new", "The standup has been moved to 10:30")
    ]
    assert names == ["standup"]


def test_a_memory_that_waits_for_its_vector_is_compared_by_words() -> None:
    reader = reader_of(
        document("pending", "standup nine"),
        document("far", "glaciers melt", 0, 0, 1),
        document("new", "standup ten", 1, 0.1),
    )
    assert [memory_id for memory_id, _ in nearest(reader, "new", "standup ten")] == ["pending"]


def test_what_lies_far_behind_the_nearest_one_is_left_out() -> None:
    reader = reader_of(
        document("behind", "alpha", 1, 0.9),
        document("same", "beta", 1, 0),
        document("new", "gamma", 1, 0),
    )
    assert [memory_id for memory_id, _ in nearest(reader, "new", "gamma")] == ["same"]


def test_in_a_store_of_one_topic_the_topic_alone_names_nothing() -> None:
    turned = np.eye(_DIMENSIONS)
    turned[:, 0] = 3
    # All of them have the cosine 0.9 with each other.
    crowd = [document(f"m{i}", f"word{i}", *turned[2 + i % 6]) for i in range(60)]
    new = document("new", "other", *turned[1])
    assert nearest(reader_of(*crowd, new), "new", "other") == []
    assert [memory_id for memory_id, _ in nearest(reader_of(crowd[0], new), "new", "other")] == [
        "m0"
    ]


def test_at_most_so_many_are_named_and_equals_are_ordered_by_their_date_then_by_id() -> None:
    same = [document(f"m{number}", "standup at nine", 1) for number in range(5)]
    reader = reader_of(*same, document("new", "standup at ten", 1))
    assert [memory_id for memory_id, _ in nearest(reader, "new", "standup at ten", limit=2)] == [
        "m4",
        "m3",
    ]


def test_ignored_memories_are_not_named() -> None:
    reader = reader_of(document("source", "standup", 1), document("new", "standup", 1))
    assert nearest(reader, "new", "standup", ignored=["source", "nowhere"]) == []


def test_a_memory_that_is_gone_from_the_index_is_compared_by_its_words() -> None:
    reader = reader_of(document("standup", "standup at nine"))
    assert [memory_id for memory_id, _ in nearest(reader, "gone", "standup at nine")] == ["standup"]


def test_nothing_is_near_in_an_empty_store_or_to_a_text_without_words() -> None:
    assert nearest(Reader(), "new", "standup") == []
    reader = reader_of(document("a", "standup"), document("new", "!?"))
    assert nearest(reader, "new", "!?") == []


@pytest.mark.parametrize("size", [1, 10_000, 1_000_000])
def test_a_text_of_any_length_is_compared(size: int) -> None:
    text = "standup at nine " * (size // 16 + 1)
    reader = reader_of(document("standup", "standup at nine", 1), document("new", text, 1))
    start = datetime.now(tz=UTC)
    neighbors = nearest(reader, "new", text)
    assert datetime.now(tz=UTC) - start < timedelta(seconds=10)
    assert [memory_id for memory_id, _ in neighbors] == ["standup"]
    assert all(LEAST_SCORE <= score <= 1 for _, score in neighbors)


def test_neighbors_are_the_nearest_by_meaning_and_the_nearest_by_words() -> None:
    reader = reader_of(
        document("meaning", "alpha", 1, 0.2),
        document("words", "glaciers melt slowly", 0, 0, 1),
        document("both", "glaciers beta", 1, 0.3),
        document("neither", "delta", 0, 1),
        document("pending", "glaciers melt"),
        document("new", "glaciers melt", 1, 0.1),
    )
    near = {limit: neighbors(reader, "new", "glaciers melt", limit) for limit in (1, 2, 9)}
    assert set(near[1]) == {"meaning", "pending"}
    assert set(near[2]) == {"meaning", "both", "pending", "words"}
    assert set(near[9]) == {"meaning", "both", "pending", "words", "neither"}
    pending, meaning = near[9]["pending"], near[9]["meaning"]
    assert pending.cosine is None
    assert pending.words > near[9]["words"].words > near[9]["both"].words > meaning.words == 0
    assert meaning.cosine == pytest.approx(0.995, abs=0.01)
    assert list(near[9]) == sorted(near[9], key=lambda i: -near[9][i].score)


def test_the_score_of_a_neighbor_is_that_of_a_receipt() -> None:
    reader = reader_of(
        document("near", "alpha", 1, 0.5),
        document("nearer", "beta gamma", 1, 0.4),
        document("far", "glaciers melt", 0, 0, 1),
        document("new", "gamma", 1, 0.1),
    )
    scores = dict(nearest(reader, "new", "gamma", limit=9))
    found = neighbors(reader, "new", "gamma", 9)
    assert {i: found[i].score for i in scores} == scores
    assert found["far"].score == 0


def neighbors(reader: Reader, memory_id: str, text: str, limit: int) -> dict[str, Neighbor]:
    found = find_neighbors(reader, memory_id, text, _HERE, background=0.0, limit=limit)
    return {neighbor.id: neighbor for neighbor in found}
