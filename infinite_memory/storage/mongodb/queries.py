"""Queries for memories: pages by criteria, and the memories that wait for an embedding."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from pymongo.database import Database

from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.commit import ExpectContent, ExpectKey
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.record import Page
from infinite_memory.core.values.scope import fold_name
from infinite_memory.storage.damage import DamageLog
from infinite_memory.storage.mongodb.documents import decode_memory, sequence_of
from infinite_memory.storage.mongodb.schema import MEMORIES
from infinite_memory.storage.paging import Position, encode_cursor

_Condition = dict[str, Any]


class QueryReader:
    """Answers queries on a database; damaged records are noted in `damage`."""

    def __init__(self, database: Database[dict[str, Any]], damage: DamageLog) -> None:
        self._memories = database.get_collection(MEMORIES)
        self._damage = damage

    def page(self, criteria: Criteria, after: Position | None, *, limit: int) -> Page:
        """Return the page of at most `limit` memories that come after `after`."""
        memories: list[Memory] = []
        order = [("happened_at", -1), ("_id", -1)]
        where = _make_query(criteria, after)
        with self._memories.find(where, sort=order, allow_disk_use=True) as cursor:
            for document in cursor:
                memory = decode_memory(document)
                if memory is None:
                    self._damage.skip_record(str(document["_id"]))
                elif criteria.admit(memory):
                    if len(memories) == limit:
                        return Page(memories=tuple(memories), next=encode_cursor(memories[-1]))
                    memories.append(memory)
        return Page(memories=tuple(memories), next=None)

    def keys(self, scopes: Collection[str], *, limit: int) -> list[str]:
        """Return the first `limit` keys, by code point, of the current memories in `scopes`."""
        where = {
            "key": {"$type": "string"},
            "status": {"$eq": Status.CURRENT.value},
            "scope": {"$in": sorted(scopes)},
        }
        steps: list[dict[str, Any]] = [
            {"$match": where},
            {"$group": {"_id": "$key"}},
            {"$sort": {"_id": 1}},
            {"$limit": limit},
        ]
        with self._memories.aggregate(steps, allowDiskUse=True) as cursor:
            return [str(group["_id"]) for group in cursor]

    def pending(self, model: str, *, limit: int) -> list[str]:
        """Return ids of memories without an embedding by `model`, changed longest ago first."""
        ids = [memory_id for _, memory_id in self.find_waiting(model, limit=limit)]
        return list(dict.fromkeys([*self._damage.embeddings(model), *ids]))[:limit]

    def find_waiting(self, model: str, *, limit: int) -> list[tuple[int, str]]:
        """Return number and id of undamaged memories without an embedding, as `pending` does."""
        waiting: list[tuple[int, str]] = []
        statuses = [status.value for status in Status if status is not Status.FORGOTTEN]
        for models in self._find_model_sets():
            if models is not None and model in models.split("\n"):
                continue
            where = {"embedded_by": {"$eq": models}, "status": {"$in": statuses}}
            order = [("sequence", 1)]
            documents = self._memories.find(where, {"sequence": 1}, sort=order, limit=limit)
            waiting += [(sequence_of(document), str(document["_id"])) for document in documents]
        damaged = self._damage.records
        return [pair for pair in sorted(waiting) if pair[1] not in damaged][:limit]

    def _find_model_sets(self) -> Iterator[str | None]:
        """Yield every set of models that has embedded a memory, with one index look-up each."""
        last = ""
        yield None
        while True:
            # Strings only: a value of another type was not written by this package.
            document = self._memories.find_one(
                {"embedded_by": {"$gt": last}},
                {"embedded_by": 1, "_id": 0},
                sort=[("embedded_by", 1)],
            )
            if document is None:
                return
            last = document["embedded_by"]
            yield last


def is_text(value: str) -> _Condition:
    """Return the condition that a field is `value`, by an index of the texts in that field.

    Such a partial index is used only by a query that says that it looks for a text.
    """
    return {"$eq": value, "$type": "string"}


def holds_key(expected: ExpectKey) -> _Condition:
    """Return the condition that a memory holds the key of an expectation."""
    return {
        "key": is_text(expected.key),
        "scope": {"$eq": expected.scope},
        "status": {"$in": [status.value for status in expected.statuses]},
    }


def has_content(expected: ExpectContent) -> _Condition:
    """Return the condition that a memory is current and has a content of an expectation."""
    return {
        "content_hash": {"$in": sorted(expected.content_hashes)},
        "scope": {"$in": sorted(expected.scopes)},
        "status": {"$eq": Status.CURRENT.value},
    }


def _make_query(criteria: Criteria, after: Position | None) -> _Condition:
    """Return the condition on the documents; a value of a user always stands under an operator."""
    conditions = [*_list_field_conditions(criteria)]
    if criteria.as_of is not None:
        conditions += _list_validity_conditions(to_micros(criteria.as_of))
    if after is not None:
        moment, memory_id = after
        same_moment = {"happened_at": {"$eq": moment}, "_id": {"$lt": memory_id}}
        conditions.append({"$or": [{"happened_at": {"$lt": moment}}, same_moment]})
    return {"$and": conditions} if conditions else {}


def _list_field_conditions(criteria: Criteria) -> Iterator[_Condition]:
    for name, values in (
        ("scope", criteria.scopes),
        ("kind", criteria.kinds),
        ("status", criteria.statuses),
    ):
        if values is not None:
            yield {name: {"$in": sorted(str(value) for value in values)}}
    yield from ({"folded_tags": {"$eq": fold_name(tag)}} for tag in criteria.tags)
    if criteria.conversation_id is not None:
        yield {"conversation_id": is_text(criteria.conversation_id)}
    if criteria.since is not None:
        yield {"happened_at": {"$gte": to_micros(criteria.since)}}
    if criteria.until is not None:
        yield {"happened_at": {"$lt": to_micros(criteria.until)}}
    if criteria.key is not None:
        yield {"key": is_text(criteria.key)}
    if criteria.keyed:
        yield {"key": {"$type": "string"}}
    if criteria.content_hashes is not None:
        yield {"content_hash": {"$in": sorted(criteria.content_hashes)}}


def _list_validity_conditions(moment: int) -> list[_Condition]:
    """Return the conditions on a memory that had begun to hold at `moment` and had not ended."""
    from_the_start = {"valid_from": {"$eq": None}, "happened_at": {"$lte": moment}}
    return [
        {"$or": [{"valid_from": {"$lte": moment}}, from_the_start]},
        {"$or": [{"valid_to": {"$gt": moment}}, {"valid_to": {"$eq": None}}]},
    ]
