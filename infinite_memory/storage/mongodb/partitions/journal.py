"""The journal of a partitioned store: the entries of the partitions in one order and one chain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from infinite_memory.core.values.entry import Entry, JournalEnd
from infinite_memory.storage.hash_chain import EntryDamaged, action_text, check_entry
from infinite_memory.storage.mongodb.partitions.order import Order
from infinite_memory.storage.mongodb.partitions.placement import partition_of
from infinite_memory.storage.mongodb.schema import JOURNAL_ORDER

if TYPE_CHECKING:
    from infinite_memory.storage.mongodb.storage import MongoStorage

_Document = dict[str, Any]


class OrderedJournal:
    """Reads entries up to the end of an order; a damaged entry is never returned."""

    def __init__(self, partitions: Sequence[MongoStorage], order: Order) -> None:
        """Read the journals of `partitions`, the first of which keeps the order of the entries."""
        self._partitions = partitions
        self._end = order.journal
        self._numbers = partitions[0]._database.get_collection(JOURNAL_ORDER)
        self._place = partitions[0]._connection.place

    def entries(self, before: int | None, *, limit: int, memory_id: str | None) -> list[Entry]:
        """Return entries, newest first; see `Storage.journal`."""
        last = self._end.number if before is None else min(before - 1, self._end.number)
        if memory_id is None:
            found = self._read_page(last, limit)
        else:
            found = self._read_entries_of(memory_id, last, limit)
        found.sort(key=lambda pair: -int(pair[0]["_id"]))
        chosen = found[:limit]
        digests = self._read_digests_before([document for document, _ in chosen])
        # Oldest first: if two entries do not match, the older one was altered.
        entries = [self._check(document, entry, digests) for document, entry in chosen[::-1]]
        return entries[::-1]

    def _read_page(self, last: int, limit: int) -> list[tuple[_Document, Entry]]:
        first = max(1, last - limit + 1)
        documents = list(self._numbers.find({"_id": {"$gte": first, "$lte": last}}))
        missing = set(range(first, last + 1)).difference(d["_id"] for d in documents)
        if missing:
            raise EntryDamaged(self._place, min(missing), "is missing")
        by_partition: defaultdict[int, list[int]] = defaultdict(list)
        for document in documents:
            if isinstance(number := document.get("number"), int):
                by_partition[document.get("partition", -1)].append(number)
        entries = {
            (partition, entry.number): entry
            for partition, numbers in by_partition.items()
            if partition in range(len(self._partitions))
            for entry in self._read(
                partition, max(numbers) + 1, max(numbers) - min(numbers) + 1, None
            )
        }
        found = []
        for document in documents:
            entry = entries.get((document.get("partition", -1), document.get("number", 0)))
            if entry is None:
                raise EntryDamaged(self._place, document["_id"], "is missing in its partition")
            found.append((document, entry))
        return found

    def _read_entries_of(
        self, memory_id: str, last: int, limit: int
    ) -> list[tuple[_Document, Entry]]:
        found: list[tuple[_Document, Entry]] = []
        for partition in {0, partition_of(memory_id, len(self._partitions))}:
            here: _Document = {"partition": {"$eq": partition}}
            newest = self._numbers.find_one({**here, "_id": {"$lte": last}}, sort=[("_id", -1)])
            if newest is None:
                continue
            entries = {
                entry.number: entry
                for entry in self._read(partition, newest["number"] + 1, limit, memory_id)
            }
            where = {**here, "number": {"$in": list(entries)}}
            found += [(d, entries[d["number"]]) for d in self._numbers.find(where)]
        return found

    def _read(self, partition: int, before: int, limit: int, memory_id: str | None) -> list[Entry]:
        try:
            return self._partitions[partition].journal(
                before=before, limit=limit, memory_id=memory_id
            )
        except EntryDamaged as error:
            number = self.number_of(partition, error.number)
            raise EntryDamaged(self._place, number, error.problem) from error

    def number_of(self, partition: int, number: int) -> int:
        """Return the number in the whole journal of an entry of a partition."""
        where = {"partition": {"$eq": partition}, "number": {"$eq": number}}
        return int((self._numbers.find_one(where) or {}).get("_id", 0))

    def _read_digests_before(self, documents: Iterable[_Document]) -> dict[int, bytes]:
        """Return the digests of the entries before those of `documents`, by number."""
        numbers = [document["_id"] - 1 for document in documents]
        found = self._numbers.find({"_id": {"$in": numbers}}, {"digest": 1})
        return {0: JournalEnd().digest} | {d["_id"]: d.get("digest", b"") for d in found}

    def _check(self, document: _Document, entry: Entry, digests: Mapping[int, bytes]) -> Entry:
        """Return `entry` with its number and digest in the order of all partitions."""
        number, digest = document["_id"], document.get("digest")
        if not isinstance(digest, bytes):
            raise EntryDamaged(self._place, number, "is damaged")
        text = action_text(entry.action).encode()
        previous = digests.get(number - 1)
        check_entry(self._place, number, text, digest, previous, self._end)
        return evolve(entry, number=number, digest=digest)
