"""Records, pages and the feed, read from the collections and verified.

Nothing here needs a snapshot. The feed leads up to the number that was counted first, and what
changes while it is read is in it as it is by then. A memory says which passages are its own, so
that one which changed meanwhile is read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection as Many
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pymongo.collection import Collection
from pymongo.database import Database

from infinite_memory.errors import StoreDamaged
from infinite_memory.model.codec import from_micros, to_micros
from infinite_memory.model.criteria import Criteria
from infinite_memory.model.memory import Memory, Status
from infinite_memory.model.record import Change, Changes, Embedding, Page, Record
from infinite_memory.storage.damage import DamageLog
from infinite_memory.storage.mongodb.documents import (
    Document,
    decode_memory,
    decode_revision,
    stored_of,
)
from infinite_memory.storage.mongodb.filters import conditions_of
from infinite_memory.storage.mongodb.metadata import position
from infinite_memory.storage.mongodb.passages import decode_embedding
from infinite_memory.storage.mongodb.schema import (
    ERASED,
    MEMORIES,
    PASSAGES,
    REVISIONS,
)
from infinite_memory.storage.paging import Position, encode_cursor

__all__ = ["Reader"]

_IDS_AT_ONCE = 1000
_LOOKS = 5

_Key = tuple[str, str, int]
Documents = Collection[dict[str, Any]]

_NEVER = from_micros(0)
_GONE = Record(memory=Memory(id="", text="", happened_at=_NEVER, stored_at=_NEVER))
"""Stands for a memory that was erased while it was read."""


class Reader:
    """Reads from one database; what is damaged is noted in `damage`."""

    def __init__(
        self,
        database: Database[dict[str, Any]],
        damage: DamageLog,
        place: str,
    ) -> None:
        self._memories: Documents = database.get_collection(MEMORIES)
        self._passages: Documents = database.get_collection(PASSAGES)
        self._revisions: Documents = database.get_collection(REVISIONS)
        self._erased: Documents = database.get_collection(ERASED)
        self._database = database
        self._damage = damage
        self._place = place

    def position(self) -> int:
        """Return the number of the last change."""
        return position(self._database, self._place)

    def records(self, ids: Many[str], models: Many[str] | None) -> dict[str, Record]:
        """Return the records with these ids; see `Storage.get`."""
        wanted = list(dict.fromkeys(ids))
        found: dict[str, Record] = {}
        for start in range(0, len(wanted), _IDS_AT_ONCE):
            part = wanted[start : start + _IDS_AT_ONCE]
            documents = list(self._memories.find({"_id": {"$in": part}}))
            for document, record in self._with_embeddings(documents, models):
                if record is None:
                    raise self._damage.refuse_record(str(document["_id"]))
                if record is not _GONE:
                    found[record.memory.id] = record
        return {memory_id: found[memory_id] for memory_id in wanted if memory_id in found}

    def history(self, memory_id: str) -> list[Memory]:
        """Return every revision, the current one last; see `Storage.history`."""
        current = self.records([memory_id], ())
        if not current:
            return []
        memory = current[memory_id].memory
        where = {"memory_id": {"$eq": memory_id}, "revision": {"$lt": memory.revision}}
        earlier = []
        for document in self._revisions.find(where, sort=[("revision", 1)]):
            revision = decode_revision(document)
            if revision is None:
                raise StoreDamaged(
                    f"revision {document.get('revision')} in the history of memory {memory_id!r} is"
                    " not as it was written, so the history is not returned; the memory itself "
                    "still works. Restore it from a backup"
                )
            earlier.append(revision)
        return [*earlier, memory]

    def erased(self, ids: Many[str]) -> frozenset[str]:
        """Return those of `ids` that were erased."""
        wanted = list(ids)
        found: set[str] = set()
        for start in range(0, len(wanted), _IDS_AT_ONCE):
            part = wanted[start : start + _IDS_AT_ONCE]
            found |= {each["_id"] for each in self._erased.find({"_id": {"$in": part}}, {"_id": 1})}
        return frozenset(found)

    def changes(self, after: int, *, limit: int, models: Many[str] | None) -> Changes:
        """Return a stretch of the feed; see `Storage.changes`."""
        end, erased, documents = self._stretch(after, limit)
        if after >= end:
            return Changes(items=(), cursor=end)
        records = {
            document["_id"]: record for document, record in self._with_embeddings(documents, models)
        }
        # Of an id that was erased and used again while this was read, the later state counts.
        latest = {each["_id"]: each for each in sorted((*erased, *documents), key=_number)}
        numbers = sorted(latest.values(), key=_number)
        items: list[Change] = []
        cursor = after
        for each in numbers[:limit]:
            cursor = _number(each)
            record = records.get(each["_id"])
            if each["_id"] not in records:
                items.append(Change(id=each["_id"], record=None))
            elif record is None:
                self._damage.skip_record(str(each["_id"]))
            elif record is not _GONE:
                items.append(Change(id=each["_id"], record=record))
        whole = len(erased) < limit and len(documents) < limit and len(numbers) <= limit
        return Changes(items=tuple(items), cursor=end if whole else min(cursor, end))

    def _stretch(self, after: int, limit: int) -> tuple[int, list[Document], list[Document]]:
        """Return the end of the feed, and the next documents of those erased and of memories.

        A memory that is changed while this is read gets a number behind the end. It is returned as
        well: who reads up to the end must have seen it in one state or the other.
        """
        order = [("sequence", 1)]
        before: list[Document] | None = None
        while True:
            end = self.position()
            if after >= end:
                return end, [], []
            counted = {"sequence": {"$gt": after, "$lte": end}}
            erased = list(self._erased.find(counted, sort=order, limit=limit))
            behind = {"sequence": {"$gt": after}}
            documents = list(self._memories.find(behind, sort=order, limit=limit))
            if not documents or _number(documents[-1]) <= end:
                return end, erased, documents
            # Where the limit cut them off, others may have got such a number too. What is the same
            # again is no change under way, but a number that is damaged.
            if len(documents) < limit or documents == before:
                return end, erased, documents
            before = documents

    def page(self, criteria: Criteria, after: Position | None, *, limit: int) -> Page:
        """Return the page of at most `limit` memories that come behind `after`."""
        memories: list[Memory] = []
        order = [("happened_at", -1), ("_id", -1)]
        where = _query(criteria, after)
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

    def pending(self, model: str, *, limit: int) -> list[str]:
        """Return ids of memories without an embedding by `model`, changed longest ago first."""
        waiting: list[tuple[int, str]] = []
        open_ones = [status.value for status in Status if status is not Status.FORGOTTEN]
        for names in self._combinations():
            if names is not None and model in names.split("\n"):
                continue
            where = {"embedded_by": {"$eq": names}, "status": {"$in": open_ones}}
            found = self._memories.find(where, {"sequence": 1}, sort=[("sequence", 1)], limit=limit)
            waiting.extend((_number(each), str(each["_id"])) for each in found)
        again = self._damage.embeddings(model)
        damaged = self._damage.records
        ids = [memory_id for _, memory_id in sorted(waiting) if memory_id not in damaged]
        return list(dict.fromkeys([*again, *ids]))[:limit]

    def _combinations(self) -> Iterator[str | None]:
        """Yield the sets of models that some memory was embedded by, each one look in the index."""
        last = ""
        yield None
        while True:
            # Texts alone: what is of another type there was not written by us.
            found = self._memories.find_one(
                {"embedded_by": {"$gt": last}},
                {"embedded_by": 1, "_id": 0},
                sort=[("embedded_by", 1)],
            )
            if found is None:
                return
            last = found["embedded_by"]
            yield last

    def _with_embeddings(
        self, documents: Sequence[Document], models: Many[str] | None
    ) -> Iterator[tuple[Document, Record | None]]:
        """Yield each document with its record, None where it is not as it was written.

        One that was erased since is `_GONE`.
        """
        decoded = [(document, decode_memory(document)) for document in documents]
        passages = self._passages_of([d for d, memory in decoded if memory is not None], models)
        for document, memory in decoded:
            if memory is None:
                yield document, None
            else:
                yield document, self._settled(document, memory, passages, models)

    def _settled(
        self,
        document: Document,
        memory: Memory,
        passages: dict[_Key, list[Document]],
        models: Many[str] | None,
    ) -> Record | None:
        """Return the record of a sound document; see `_with_embeddings`."""
        for _ in range(_LOOKS):
            record, damaged = self._record(document, memory, passages, models)
            if not damaged:
                return record
            # Its passages are not all there: it changed meanwhile, or they are damaged.
            again = self._memories.find_one({"_id": {"$eq": memory.id}})
            if again is None:
                return _GONE
            decoded = decode_memory(again)
            if decoded is None:
                return None
            if again == document:
                break
            document, memory, passages = again, decoded, self._passages_of([again], models)
        record, damaged = self._record(document, memory, passages, models)
        for model in damaged:
            self._damage.skip_embedding(memory.id, model)
        return record

    def _record(
        self,
        document: Document,
        memory: Memory,
        passages: dict[_Key, list[Document]],
        models: Many[str] | None,
    ) -> tuple[Record, list[str]]:
        """Return the record with its whole embeddings, and the models of those that are not."""
        whole: list[Embedding] = []
        damaged: list[str] = []
        for stored in stored_of(document):
            if models is None or stored.model in models:
                mine = passages.get((memory.id, stored.model, stored.stamp), [])
                embedding = decode_embedding(memory.id, memory.revision, stored, mine)
                if embedding is None:
                    damaged.append(stored.model)
                else:
                    whole.append(embedding)
        return Record(memory=memory, embeddings=tuple(whole)), damaged

    def _passages_of(
        self, documents: Iterable[Document], models: Many[str] | None
    ) -> dict[_Key, list[Document]]:
        """Return the passages of memories by id, model and stamp, in their order."""
        ids = [d["_id"] for d in documents if d["embeddings"]]
        found: dict[_Key, list[Document]] = defaultdict(list)
        if not ids or (models is not None and not models):
            return found
        where: dict[str, Any] = {"memory_id": {"$in": ids}}
        if models is not None:
            where["model"] = {"$in": list(models)}
        shown = dict.fromkeys(
            ("memory_id", "model", "stamp", "number", "start", "end", "embedding"), 1
        )
        for each in self._passages.find(where, shown):
            # One that was altered by others counts as missing.
            if isinstance(each.get("stamp"), int) and isinstance(each.get("number"), int):
                found[each["memory_id"], str(each.get("model")), each["stamp"]].append(each)
        for several in found.values():
            several.sort(key=lambda each: int(each["number"]))
        return found


def _number(document: Document) -> int:
    """Return the number of a change; 0 where others made something else of it."""
    number = document.get("sequence")
    return int(number) if isinstance(number, int | float) else 0


def _query(criteria: Criteria, after: Position | None) -> dict[str, Any]:
    where = conditions_of(criteria)
    if criteria.keyed:
        where.append({"key": {"$type": "string"}})
    if criteria.content_hashes is not None:
        where.append({"content_hash": {"$in": sorted(criteria.content_hashes)}})
    if criteria.as_of is not None:
        where += _holding(to_micros(criteria.as_of))
    if after is not None:
        moment, memory_id = after
        same = {"happened_at": {"$eq": moment}, "_id": {"$lt": memory_id}}
        where.append({"$or": [{"happened_at": {"$lt": moment}}, same]})
    return {"$and": where} if where else {}


def _holding(moment: int) -> list[dict[str, Any]]:
    """Return the conditions on what had begun to hold at a moment, and not ended."""
    at_once = {"valid_from": {"$eq": None}, "happened_at": {"$lte": moment}}
    return [
        {"$or": [{"valid_from": {"$lte": moment}}, at_once]},
        {"$or": [{"valid_to": {"$gt": moment}}, {"valid_to": {"$eq": None}}]},
    ]
