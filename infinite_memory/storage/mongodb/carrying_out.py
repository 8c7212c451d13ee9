"""The operations of a plan, carried out together where they are on the same collection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pymongo import DeleteMany, ReplaceOne
from pymongo.client_session import ClientSession
from pymongo.database import Database

from infinite_memory.storage.mongodb.planning import Operation

__all__ = ["carry_out"]


def carry_out(
    database: Database[dict[str, Any]], operations: Sequence[Operation], *, session: ClientSession
) -> None:
    """Carry out `operations` in their order, in the transaction of `session`."""
    for collection, batch in _stretches(operations):
        requests = [
            DeleteMany(each.where)
            if each.document is None
            else ReplaceOne({"_id": {"$eq": each.document["_id"]}}, each.document, upsert=True)
            for each in batch
        ]
        database.get_collection(collection).bulk_write(requests, ordered=True, session=session)


def _stretches(operations: Sequence[Operation]) -> Iterator[tuple[str, list[Operation]]]:
    """Yield the operations in their order, those on the same collection together."""
    batch: list[Operation] = []
    for each in operations:
        if batch and batch[0].collection != each.collection:
            yield batch[0].collection, batch
            batch = []
        batch.append(each)
    if batch:
        yield batch[0].collection, batch
