"""Document writes: the deletions and the new documents of a transaction, by collection."""

from __future__ import annotations

from typing import Any

from attrs import define, field
from pymongo import DeleteMany, ReplaceOne
from pymongo.client_session import ClientSession
from pymongo.database import Database

from infinite_memory.storage.mongodb.documents import Document


@define
class DocumentWrites:
    """The deletions and the documents of a transaction, by collection.

    In each collection the deletions run first, so `delete` removes only documents from before the
    transaction. The order of collections does not matter, since all writes become visible at once.
    """

    _deletions: dict[str, list[Document]] = field(factory=dict)
    _documents: dict[str, dict[Any, Document]] = field(factory=dict)

    def put(self, collection: str, document: Document) -> None:
        """Put a document into a collection, replacing a document with the same `_id`."""
        self._documents.setdefault(collection, {})[document["_id"]] = document

    def delete(self, collection: str, where: Document) -> None:
        """Delete the earlier documents that match `where`, with every value under an operator."""
        self._deletions.setdefault(collection, []).append(where)

    def delete_id(self, collection: str, document_id: str) -> None:
        """Delete the document with this `_id` that was stored earlier, and drop one put here."""
        self._documents.get(collection, {}).pop(document_id, None)
        self.delete(collection, {"_id": {"$eq": document_id}})

    def carry_out(self, database: Database[dict[str, Any]], *, session: ClientSession) -> None:
        """Write everything in the transaction of `session`."""
        for name in dict.fromkeys([*self._deletions, *self._documents]):
            requests: list[DeleteMany | ReplaceOne[dict[str, Any]]] = [
                DeleteMany(where) for where in self._deletions.get(name, ())
            ]
            requests += [
                ReplaceOne({"_id": {"$eq": document_id}}, document, upsert=True)
                for document_id, document in self._documents.get(name, {}).items()
            ]
            if requests:
                database.get_collection(name).bulk_write(requests, ordered=True, session=session)
