"""Vectors compared by the server, where it offers `$vectorSearch`. Experimental.

The documents here are built from the documented format, see
https://www.mongodb.com/docs/vector-search/query/aggregation-stages/vector-search-stage/ and
https://www.mongodb.com/docs/vector-search/indexes/vector-search-type/. No server that offers the
stage was at hand: what was run is how the others are told apart.

Passages that version 1 of the collections stored do not say from when until when they hold. Where
that or a key is a condition, they are found once their memories have been embedded anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymongo.errors import OperationFailure

from infinite_memory.errors import InvalidInput, StorageUnavailable
from infinite_memory.model.codec import to_micros
from infinite_memory.model.criteria import Criteria
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.documents import decode_memory, stored_of
from infinite_memory.storage.mongodb.filters import conditions_of
from infinite_memory.storage.mongodb.passages import encode_vector
from infinite_memory.storage.mongodb.schema import MEMORIES, PASSAGES

__all__ = [
    "best_of",
    "create_index",
    "index_definition",
    "index_name",
    "offered",
    "pipeline",
    "search_vectors",
    "to_cosine",
]

# "Unrecognized pipeline stage name", and what a server without a search process answers.
_NO_STAGE = {40324, 31082, 6047401}
_NO_INDEXES = {59, 115, 31082}
_MOST_CANDIDATES = 10_000
# As the documentation recommends; and of several passages of a memory only one counts.
_CANDIDATES = 20
_PASSAGES = 4
_FILTERS = (
    *("model", "scope", "kind", "status", "folded_tags", "conversation_id", "happened_at"),
    *("key", "held_from", "held_until"),
)


def offered(connection: Connection) -> bool:
    """Ask the deployment whether it offers `$vectorSearch`.

    It does where it can list the search indexes of a collection. An error that says neither yes nor
    no, such as a network that is down, is raised as it is.
    """
    passages = connection.database.get_collection(PASSAGES)
    try:
        list(passages.aggregate([{"$listSearchIndexes": {}}]))
    except OperationFailure as error:
        if error.code in _NO_STAGE | _NO_INDEXES:
            return False
        raise
    return True


def index_name(dimensions: int) -> str:
    """Return the name of the index; vectors of another length need another one."""
    return f"by_vector_{dimensions}"


def index_definition(dimensions: int) -> dict[str, Any]:
    """Return the definition of the index over the collection of passages."""
    vector = {
        "type": "vector",
        "path": "embedding",
        "numDimensions": dimensions,
        "similarity": "cosine",
    }
    return {"fields": [vector, *({"type": "filter", "path": path} for path in _FILTERS)]}


def create_index(dimensions: int) -> dict[str, Any]:
    """Return the command that creates the index; the server builds it in the background."""
    return {
        "createSearchIndexes": PASSAGES,
        "indexes": [
            {
                "name": index_name(dimensions),
                "type": "vectorSearch",
                "definition": index_definition(dimensions),
            }
        ],
    }


def pipeline(
    query: NDArray[np.float32], criteria: Criteria, *, model: str, limit: int, exact: bool = False
) -> list[dict[str, Any]]:
    """Return the aggregation over the passages: the best passage of each memory, best first.

    `exact` compares every vector that meets the criteria, instead of those near by.

    Raises:
        InvalidInput: the query is no vector, or the limit cannot be kept.
    """
    wanted = _PASSAGES * limit
    if query.ndim != 1 or not query.size or not np.isfinite(query).all():
        raise InvalidInput(
            f"a query of shape {query.shape} is no vector: give one of one dimension"
        )
    if not 1 <= wanted <= _MOST_CANDIDATES:
        raise InvalidInput(
            f"limit {limit!r} cannot be used: give a whole number from 1 to "
            f"{_MOST_CANDIDATES // _PASSAGES:,}"
        )
    stage: dict[str, Any] = {
        "index": index_name(len(query)),
        "path": "embedding",
        "queryVector": encode_vector(query),
        "limit": wanted,
        "filter": {
            "$and": [{"model": {"$eq": model}}, *conditions_of(criteria), *_holding(criteria)]
        },
    }
    if exact:
        stage["exact"] = True
    else:
        stage["numCandidates"] = min(_MOST_CANDIDATES, _CANDIDATES * wanted)
    return [
        {"$vectorSearch": stage},
        {
            "$project": {
                "_id": 0,
                "memory_id": 1,
                "stamp": 1,
                "score": {"$meta": "vectorSearchScore"},
            }
        },
    ]


def to_cosine(score: float) -> float:
    """Return the cosine behind a score, which the server gives as (1 + cosine) / 2."""
    return 2 * score - 1


def search_vectors(
    connection: Connection,
    query: NDArray[np.float32],
    criteria: Criteria,
    *,
    model: str,
    limit: int,
) -> list[tuple[str, float]]:
    """Return the memories nearest to `query`; see `SupportsVectorSearch.vector_search`.

    The index of the server lags behind the collection, so each is looked up: a passage that its
    memory means no more does not count.

    Raises:
        StorageUnavailable: the deployment does not offer it.
    """
    stages = pipeline(query, criteria, model=model, limit=limit)
    if not offered(connection):
        raise StorageUnavailable(
            f"{connection.place} does not offer $vectorSearch, which needs Atlas or a server "
            "with a search process: the search of the store compares vectors in this process"
        )
    found = list(connection.database.get_collection(PASSAGES).aggregate(stages))
    ids = list({each["memory_id"] for each in found})
    memories = connection.database.get_collection(MEMORIES).find({"_id": {"$in": ids}})
    return best_of(found, memories, criteria, model=model, limit=limit)


def best_of(
    found: Iterable[dict[str, Any]],
    documents: Iterable[dict[str, Any]],
    criteria: Criteria,
    *,
    model: str,
    limit: int,
) -> list[tuple[str, float]]:
    """Return the memories of the passages that were found, each with its best cosine.

    `documents` are those of the memories. What is damaged, or does not meet the criteria by now, is
    left out.
    """
    stamps: dict[str, int] = {}
    for document in documents:
        memory = decode_memory(document)
        if memory is not None and criteria.admit(memory):
            by_model = {stored.model: stored.stamp for stored in stored_of(document)}
            if model in by_model:
                stamps[memory.id] = by_model[model]
    best: dict[str, float] = {}
    for each in found:
        memory_id = each["memory_id"]
        if stamps.get(memory_id) == each["stamp"]:
            cosine = to_cosine(each["score"])
            best[memory_id] = max(cosine, best.get(memory_id, cosine))
    return sorted(best.items(), key=lambda pair: (-round(pair[1], 6), pair[0]))[:limit]


def _holding(criteria: Criteria) -> list[dict[str, Any]]:
    """Return the conditions on passages whose memory held at the moment asked for."""
    if criteria.as_of is None:
        return []
    moment = to_micros(criteria.as_of)
    return [{"held_from": {"$lte": moment}}, {"held_until": {"$gt": moment}}]
