"""The feed of changes, read without a snapshot.

The feed ends at the number of the last change when the reading began. A memory that changes
meanwhile appears in its latest state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
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
        numbered = self._make_changes(documents, erased, models)
        # If an id was erased and reused during the reading, its later state counts.
        latest = {memory_id: number for number, memory_id, _ in numbered}
        changes = [each for each in numbered if each[0] == latest[each[1]]][:limit]
        cursor = changes[-1][0] if changes else after
        is_complete = len(erased) < limit and len(documents) < limit and len(latest) <= limit
        return Changes(
            items=tuple(change for _, _, change in changes if change is not None),
            cursor=end if is_complete else min(cursor, end),
        )

    def read_between(
        self, after: int, until: int, *, limit: int, models: Collection[str] | None
    ) -> list[tuple[int, Change | None]]:
        """Return at most `limit` changes with their numbers, which are over `after`, to `until`.

        A change is None where its record is damaged. The database is read as of one moment.
        """
        where = {"sequence": {"$gt": after, "$lte": until}}
        order = [("sequence", 1)]
        documents = list(self._memories.find(where, sort=order, limit=limit))
        erased = list(self._erased.find(where, sort=order, limit=limit))
        changes = self._make_changes(documents, erased, models)
        return [(number, change) for number, _, change in changes[:limit]]

    def _make_changes(
        self,
        documents: Sequence[Document],
        erased: Iterable[Document],
        models: Collection[str] | None,
    ) -> list[tuple[int, str, Change | None]]:
        """Return the number, the id and the change of each document, None for a damaged record.

        They come in the order of the numbers.
        """
        made: list[tuple[int, str, Change | None]] = [
            (sequence_of(mark), mark["_id"], Change(id=mark["_id"], record=None)) for mark in erased
        ]
        for document, record in self._records.with_embeddings(documents, models):
            change = None
            if record is None:
                self._damage.skip_record(str(document["_id"]))
            elif record is not GONE:
                change = Change(id=record.memory.id, record=record)
            made.append((sequence_of(document), document["_id"], change))
        return sorted(made, key=itemgetter(0))

    def changes_in(
        self, scope: str, after: int, *, limit: int, models: Collection[str] | None
    ) -> tuple[Changes, int]:
        """Return the changes in a scope and its size; see `SupportsScopeFeed.changes_in`.

        The database is read as of one moment.
        """
        end = self.position()
        found, held = self.read_in(scope, after, end, limit=limit, models=models)
        items = tuple(change for _, change in found if change is not None)
        cursor = found[-1][0] if len(found) == limit else end
        return Changes(items=items, cursor=min(cursor, end)), held

    def read_in(
        self, scope: str, after: int, end: int, *, limit: int, models: Collection[str] | None
    ) -> tuple[list[tuple[int, Change | None]], int]:
        """Return the changes in a scope as `read_between` does, and the size of the scope.

        `end` is the number of the last change of the database.
        """
        here = {"scope": {"$eq": scope}}
        held = self._memories.count_documents(here, hint="by_scope")
        # The index that reads fewer documents: all that changed since, or all of this scope.
        documents = list(
            self._memories.find(
                {**here, "sequence": {"$gt": after}},
                sort=[("sequence", 1)],
                limit=limit,
                hint="by_sequence" if end - after <= held else "by_scope",
            )
        )
        made = self._make_changes(documents, (), models)
        return [(number, change) for number, _, change in made], held

    def ids_in(self, scope: str) -> tuple[frozenset[str], int]:
        """Return the ids in a scope, and the end; see `SupportsScopeFeed.ids_in`.

        The database is read as of one moment.
        """
        found = self._memories.find({"scope": {"$eq": scope}}, {"_id": 1})
        return frozenset(str(document["_id"]) for document in found), self.position()

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
