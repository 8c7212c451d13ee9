"""The feed of changes, read without a snapshot.

The feed ends at the number of the last change when the reading began. A memory that changes
meanwhile appears in its latest state.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pymongo.database import Database

from infinite_memory.core.values.record import Change, Changes
from infinite_memory.storage.damage import DamageLog
from infinite_memory.storage.mongodb.documents import Document, sequence_of
from infinite_memory.storage.mongodb.metadata import position
from infinite_memory.storage.mongodb.records import GONE, RecordReader
from infinite_memory.storage.mongodb.schema import ERASED, MEMORIES


class FeedReader:
    """Reads the feed of a database; damaged records are noted in `damage`."""

    def __init__(
        self,
        database: Database[dict[str, Any]],
        records: RecordReader,
        damage: DamageLog,
        place: str,
    ) -> None:
        self._database = database
        self._memories = database.get_collection(MEMORIES)
        self._erased = database.get_collection(ERASED)
        self._records = records
        self._damage = damage
        self._place = place

    def position(self) -> int:
        """Return the number of the last change."""
        return position(self._database, self._place)

    def changes(self, after: int, *, limit: int, models: Collection[str] | None) -> Changes:
        """Return the changes after the number `after`; see `Storage.changes`."""
        end, erased, documents = self._read_page(after, limit)
        if after >= end:
            return Changes(items=(), cursor=end)
        records = {
            document["_id"]: record
            for document, record in self._records.with_embeddings(documents, models)
        }
        # If an id was erased and reused during the reading, its later state counts.
        latest = {
            document["_id"]: document for document in sorted((*erased, *documents), key=sequence_of)
        }
        changed = sorted(latest.values(), key=sequence_of)
        items: list[Change] = []
        cursor = after
        for document in changed[:limit]:
            memory_id, cursor = document["_id"], sequence_of(document)
            record = records.get(memory_id)
            if memory_id not in records:
                items.append(Change(id=memory_id, record=None))
            elif record is None:
                self._damage.skip_record(str(memory_id))
            elif record is not GONE:
                items.append(Change(id=memory_id, record=record))
        is_complete = len(erased) < limit and len(documents) < limit and len(changed) <= limit
        return Changes(items=tuple(items), cursor=end if is_complete else min(cursor, end))

    def changes_in(
        self, scope: str, after: int, *, limit: int, models: Collection[str] | None
    ) -> tuple[Changes, int]:
        """Return the changes in a scope and its size; see `SupportsScopeFeed.changes_in`."""
        here = {"scope": {"$eq": scope}}
        with self._database.client.start_session(snapshot=True) as session:
            end = position(self._database, self._place, session)
            held = self._memories.count_documents(here, session=session, hint="by_scope")
            # The index that reads fewer documents: all that changed since, or all of this scope.
            documents = list(
                self._memories.find(
                    {**here, "sequence": {"$gt": after}},
                    sort=[("sequence", 1)],
                    limit=limit,
                    session=session,
                    hint="by_sequence" if end - after <= held else "by_scope",
                )
            )
        items: list[Change] = []
        for document, record in self._records.with_embeddings(documents, models):
            if record is None:
                self._damage.skip_record(str(document["_id"]))
            elif record is not GONE and record.memory.scope == scope:
                items.append(Change(id=record.memory.id, record=record))
        cursor = sequence_of(documents[-1]) if len(documents) == limit else end
        return Changes(items=tuple(items), cursor=min(cursor, end)), held

    def ids_in(self, scope: str) -> tuple[frozenset[str], int]:
        """Return the ids in a scope, and the end; see `SupportsScopeFeed.ids_in`."""
        with self._database.client.start_session(snapshot=True) as session:
            found = self._memories.find({"scope": {"$eq": scope}}, {"_id": 1}, session=session)
            ids = frozenset(str(document["_id"]) for document in found)
            return ids, position(self._database, self._place, session)

    def _read_page(self, after: int, limit: int) -> tuple[int, list[Document], list[Document]]:
        """Return the end of the feed, and the next marks of erased ids and documents of memories.

        A memory that changes during the reading gets a number after the end. It is returned as
        well: a reader that reads up to the end must have seen it in its old or its new state.
        """
        order = [("sequence", 1)]
        previous: list[Document] | None = None
        while True:
            end = self.position()
            if after >= end:
                return end, [], []
            until_end = {"sequence": {"$gt": after, "$lte": end}}
            erased = list(self._erased.find(until_end, sort=order, limit=limit))
            after_cursor = {"sequence": {"$gt": after}}
            documents = list(self._memories.find(after_cursor, sort=order, limit=limit))
            if not documents or sequence_of(documents[-1]) <= end:
                return end, erased, documents
            # If the limit cut the documents off, more memories may have such a number. A second
            # reading with the same result shows that a number is damaged, not being changed.
            if len(documents) < limit or documents == previous:
                return end, erased, documents
            previous = documents
