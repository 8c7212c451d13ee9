"""Records and their history, read from the collections and verified.

Nothing here needs a snapshot. The document of a memory names its own passages, so a memory that
changes while it is read is read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from pymongo.database import Database

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.codec import from_micros
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding, Record
from infinite_memory.storage.damage import DamageLog
from infinite_memory.storage.mongodb.documents import (
    Document,
    decode_memory,
    decode_revision,
    stored_of,
)
from infinite_memory.storage.mongodb.passages import decode_embedding
from infinite_memory.storage.mongodb.schema import ERASED, MEMORIES, PASSAGES, REVISIONS

_BATCH_IDS = 1000
_MAX_READS = 5
_PASSAGE_FIELDS = ("memory_id", "model", "stamp", "number", "start", "end", "embedding")

_Passages = dict[tuple[str, str, int], list[Document]]
"""Passages in their order, by the id of their memory, their model and their stamp."""

_NEVER = from_micros(0)

GONE = Record(memory=Memory(id="", text="", happened_at=_NEVER, stored_at=_NEVER))
"""Stands for a memory that was erased while it was read."""


class RecordReader:
    """Reads records from a database; damaged records are noted in `damage`."""

    def __init__(self, database: Database[dict[str, Any]], damage: DamageLog) -> None:
        self._memories = database.get_collection(MEMORIES)
        self._passages = database.get_collection(PASSAGES)
        self._revisions = database.get_collection(REVISIONS)
        self._erased = database.get_collection(ERASED)
        self._damage = damage

    def records(self, ids: Collection[str], models: Collection[str] | None) -> dict[str, Record]:
        """Return the records with these ids; see `Storage.get`."""
        wanted = list(dict.fromkeys(ids))
        records: dict[str, Record] = {}
        for batch in _split_batches(wanted):
            documents = list(self._memories.find({"_id": {"$in": batch}}))
            for document, record in self.with_embeddings(documents, models):
                if record is None:
                    raise self._damage.refuse_record(str(document["_id"]))
                if record is not GONE:
                    records[record.memory.id] = record
        return {memory_id: records[memory_id] for memory_id in wanted if memory_id in records}

    def history(self, memory_id: str) -> list[Memory]:
        """Return every revision, the current revision last; see `Storage.history`."""
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
                    " damaged, so the history is not returned; the memory itself still works. "
                    "Restore it from a backup"
                )
            earlier.append(revision)
        return [*earlier, memory]

    def erased(self, ids: Collection[str]) -> frozenset[str]:
        """Return the ids among `ids` that were erased."""
        return frozenset(
            mark["_id"]
            for batch in _split_batches(list(ids))
            for mark in self._erased.find({"_id": {"$in": batch}}, {"_id": 1})
        )

    def find_ids(self, endings: Collection[str]) -> dict[str, str]:
        """Return the ids that end with any of `endings`, with the scopes of their memories."""
        return {
            str(document["_id"]): str(document.get("scope"))
            for batch in _split_batches(list(endings))
            for document in self._memories.find({"ending": {"$in": batch}}, {"scope": 1})
        }

    def with_embeddings(
        self, documents: Sequence[Document], models: Collection[str] | None
    ) -> Iterator[tuple[Document, Record | None]]:
        """Yield every document with its record, None if the document is damaged.

        The record is `GONE` if the memory was erased since.
        """
        decoded = [(document, decode_memory(document)) for document in documents]
        intact = [document for document, memory in decoded if memory is not None]
        passages = self._find_passages(intact, models)
        for document, memory in decoded:
            if memory is None:
                yield document, None
            else:
                yield document, self._read_record(document, memory, passages, models)

    def _read_record(
        self,
        document: Document,
        memory: Memory,
        passages: _Passages,
        models: Collection[str] | None,
    ) -> Record | None:
        """Return the record of an undamaged document; see `with_embeddings`."""
        for _ in range(_MAX_READS):
            record, damaged = _assemble_record(document, memory, passages, models)
            if not damaged:
                return record
            # Some passages are missing: the memory changed meanwhile, or they are damaged.
            latest = self._memories.find_one({"_id": {"$eq": memory.id}})
            if latest is None:
                return GONE
            decoded = decode_memory(latest)
            if decoded is None:
                return None
            if latest == document:
                break
            document, memory = latest, decoded
            passages = self._find_passages([latest], models)
        record, damaged = _assemble_record(document, memory, passages, models)
        for model in damaged:
            self._damage.skip_embedding(memory.id, model)
        return record

    def _find_passages(
        self, documents: Iterable[Document], models: Collection[str] | None
    ) -> _Passages:
        ids = [document["_id"] for document in documents if document["embeddings"]]
        passages: _Passages = defaultdict(list)
        if not ids or (models is not None and not models):
            return passages
        where: dict[str, Any] = {"memory_id": {"$in": ids}}
        if models is not None:
            where["model"] = {"$in": list(models)}
        for passage in self._passages.find(where, dict.fromkeys(_PASSAGE_FIELDS, 1)):
            # A passage that another program altered counts as missing.
            stamp, number = passage.get("stamp"), passage.get("number")
            if isinstance(stamp, int) and isinstance(number, int):
                passages[passage["memory_id"], str(passage.get("model")), stamp].append(passage)
        for group in passages.values():
            group.sort(key=lambda passage: int(passage["number"]))
        return passages


def _assemble_record(
    document: Document,
    memory: Memory,
    passages: _Passages,
    models: Collection[str] | None,
) -> tuple[Record, list[str]]:
    """Return the record with its complete embeddings, and the models of damaged embeddings."""
    whole: list[Embedding] = []
    damaged: list[str] = []
    for stored in stored_of(document):
        if models is None or stored.model in models:
            stored_passages = passages.get((memory.id, stored.model, stored.stamp), [])
            embedding = decode_embedding(memory.id, memory.revision, stored, stored_passages)
            if embedding is None:
                damaged.append(stored.model)
            else:
                whole.append(embedding)
    return Record(memory=memory, embeddings=tuple(whole)), damaged


def _split_batches(ids: Sequence[str]) -> Iterator[list[str]]:
    """Yield `ids` in batches that fit into a query."""
    for start in range(0, len(ids), _BATCH_IDS):
        yield list(ids[start : start + _BATCH_IDS])
