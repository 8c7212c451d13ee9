"""The push-down of vector search: documents as values, and servers that do not offer it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bson
import numpy as np
import pytest
from attrs import evolve
from mongo_servers import Deployment

from infinite_memory import InvalidInput, Kind, Memory, StorageUnavailable, SupportsVectorSearch
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.memory import Status
from infinite_memory.model.record import Embedding
from infinite_memory.storage.mongodb import MongoStorage
from infinite_memory.storage.mongodb.connection import connect
from infinite_memory.storage.mongodb.documents import encode_memory
from infinite_memory.storage.mongodb.passages import passage_documents, stored_as
from infinite_memory.storage.mongodb.vector_search import (
    best_of,
    create_index,
    index_definition,
    offered,
    pipeline,
    to_cosine,
)

NOW = datetime(2026, 6, 5, tzinfo=UTC)
QUERY = np.array([1, 0, 0, -0.5], np.float32)
EVERY = Criteria(
    scopes=frozenset({"work", '{"$ne": 1}'}),
    tags=("Straße", "$where"),
    kinds=frozenset({Kind.NOTE}),
    statuses=frozenset({Status.CURRENT}),
    conversation_id="c-1",
    since=datetime(1970, 1, 2, tzinfo=UTC),
    until=datetime(1970, 1, 3, tzinfo=UTC),
    key="$ne",
    as_of=datetime(1970, 1, 4, tzinfo=UTC),
)


@pytest.fixture(params=["standalone", "single", "triple"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    servers: Deployment = request.getfixturevalue(request.param)
    yield servers.address_of(tmp_path)
    servers.drop(tmp_path)


def test_servers_without_the_stage_are_told_apart_and_the_error_says_so(address: str) -> None:
    with closing(MongoStorage.open(address)) as storage:
        assert isinstance(storage, SupportsVectorSearch)
        with pytest.raises(StorageUnavailable, match=r"does not offer \$vectorSearch"):
            storage.vector_search(QUERY, Criteria(), model="m", limit=3)
    connection = connect(address)
    assert not offered(connection)
    connection.client.close()


def test_the_index_is_defined_as_documented() -> None:
    filters = (
        *("model", "scope", "kind", "status", "folded_tags", "conversation_id", "happened_at"),
        *("key", "held_from", "held_until"),
    )
    definition = {
        "fields": [
            {"type": "vector", "path": "embedding", "numDimensions": 384, "similarity": "cosine"},
            *({"type": "filter", "path": path} for path in filters),
        ]
    }
    assert index_definition(384) == definition
    assert create_index(384) == {
        "createSearchIndexes": "passages",
        "indexes": [{"name": "by_vector_384", "type": "vectorSearch", "definition": definition}],
    }


def test_every_field_of_the_index_is_in_a_passage() -> None:
    (passage,) = passage_documents(memory("m"), embedding(), stamp=7)
    assert {field["path"] for field in index_definition(4)["fields"]} <= passage.keys()


def test_the_stage_has_the_query_as_a_binary_vector_and_the_criteria_as_a_filter() -> None:
    stage, project = pipeline(QUERY, EVERY, model="m/1", limit=10)

    search = stage["$vectorSearch"]
    vector = search.pop("queryVector")
    assert vector.subtype == 9
    assert bytes(vector) == b"\x27\x00" + QUERY.tobytes()
    assert search == {
        "index": "by_vector_4",
        "path": "embedding",
        "limit": 40,
        "numCandidates": 800,
        "filter": {
            "$and": [
                {"model": {"$eq": "m/1"}},
                {"scope": {"$in": ["work", '{"$ne": 1}']}},
                {"kind": {"$in": ["note"]}},
                {"status": {"$in": ["current"]}},
                {"folded_tags": {"$eq": "strasse"}},
                {"folded_tags": {"$eq": "$where"}},
                {"conversation_id": {"$eq": "c-1"}},
                {"happened_at": {"$gte": 86_400_000_000}},
                {"happened_at": {"$lt": 172_800_000_000}},
                {"key": {"$eq": "$ne"}},
                {"held_from": {"$lte": 259_200_000_000}},
                {"held_until": {"$gt": 259_200_000_000}},
            ]
        },
    }
    assert project["$project"]["score"] == {"$meta": "vectorSearchScore"}
    assert bson.encode({"pipeline": [stage, project]})


def test_an_exact_search_has_no_candidates() -> None:
    search = pipeline(QUERY, Criteria(), model="m", limit=1, exact=True)[0]["$vectorSearch"]
    assert search["exact"] is True
    assert "numCandidates" not in search
    assert search["filter"] == {"$and": [{"model": {"$eq": "m"}}]}


@pytest.mark.parametrize("limit", [1, 10, 125, 2500])
def test_the_candidates_stay_within_what_the_server_takes(limit: int) -> None:
    search = pipeline(QUERY, Criteria(), model="m", limit=limit)[0]["$vectorSearch"]
    assert search["limit"] <= search["numCandidates"] <= 10_000


@pytest.mark.parametrize("limit", [0, -1, 2501])
def test_a_limit_that_it_does_not_take_is_refused(limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        pipeline(QUERY, Criteria(), model="m", limit=limit)


@pytest.mark.parametrize("query", [np.ones((1, 4)), np.ones(0), np.array([np.nan])])
def test_what_is_no_vector_is_refused(query: Any) -> None:
    with pytest.raises(InvalidInput, match="no vector"):
        pipeline(query.astype(np.float32), Criteria(), model="m", limit=1)


def memory(memory_id: str, **fields: Any) -> Memory:
    made = Memory(id=memory_id, text="Some text.", happened_at=NOW, stored_at=NOW)
    return evolve(made, **fields)


def embedding() -> Embedding:
    return Embedding(model="m", spans=np.array([[0, 4]], np.int32), vectors=QUERY[None])


def document(made: Memory, stamp: int) -> dict[str, Any]:
    stored = stored_as(made.id, made.revision, embedding(), stamp=stamp)
    return encode_memory(made, sequence=stamp, stored=[stored])


def test_a_score_is_a_cosine_again() -> None:
    assert [to_cosine(score) for score in (0.0, 0.5, 1.0)] == [-1.0, 0.0, 1.0]


def test_the_best_passage_counts_and_stale_damaged_or_unwanted_ones_do_not() -> None:
    damaged = document(memory("damaged"), 1) | {"text": "Spoilt."}
    documents = [
        document(memory("a"), 3),
        document(memory("b"), 4),
        document(memory("c"), 5),
        document(memory("stale"), 9),
        document(memory("forgotten", status=Status.FORGOTTEN), 6),
        damaged,
    ]
    found = [
        {"memory_id": memory_id, "stamp": stamp, "score": score}
        for memory_id, stamp, score in [
            ("stale", 8, 1.0),
            ("gone", 1, 1.0),
            ("damaged", 1, 1.0),
            ("forgotten", 6, 1.0),
            ("b", 4, 0.75),
            ("a", 3, 0.5),
            ("a", 3, 0.75),
            ("c", 5, 0.5),
        ]
    ]
    wanted = Criteria(statuses=frozenset({Status.CURRENT}))
    best = best_of(found, documents, wanted, model="m", limit=10)
    assert best == [("a", 0.5), ("b", 0.5), ("c", 0.0)]
    assert best_of(found, documents, wanted, model="m", limit=1) == [("a", 0.5)]
    assert best_of(found, documents, wanted, model="other", limit=1) == []
