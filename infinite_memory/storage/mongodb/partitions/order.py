"""One order for the feeds and the journals of the partitions.

Each partition numbers its own changes and entries, so that a commit writes to no other. Whoever
needs the order of the whole store gives what is new the next numbers first: a run of changes of a
partition takes a document, and an entry another, with the digest of the chain over all of them. A
number once given stays, and what a partition numbered earlier has the lower number here too.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen
from bson.int64 import Int64
from pymongo.client_session import ClientSession

from infinite_memory.core.errors import StoreDamaged
from infinite_memory.core.values.entry import JournalEnd, entry_digest
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.metadata import encode_end, end_in, read_ends
from infinite_memory.storage.mongodb.schema import (
    FEED_ORDER,
    JOURNAL,
    JOURNAL_ORDER,
    METADATA,
    ORDER,
)

_Document = dict[str, Any]


@frozen
class Ends:
    """The numbers of the last change and of the last entry of a partition."""

    change: int
    entry: int


def min_ends(one: Ends, other: Ends) -> Ends:
    """Return the lower of both numbers."""
    return Ends(min(one.change, other.change), min(one.entry, other.entry))


@frozen(kw_only=True)
class Order:
    """How far the partitions are in order: `changes` and `journal` of all, `ends` of each.

    The changes up to `base` are those of a content that a restore has replaced.
    """

    changes: int
    journal: JournalEnd
    ends: tuple[Ends, ...]
    base: int = 0

    @classmethod
    def of(cls, document: Mapping[str, Any] | None, place: str) -> Order:
        """Return the order that `to_document` wrote.

        Raises:
            StoreDamaged: the document is missing, or another program changed it.
        """
        found = document or {}
        try:
            return cls(
                changes=int(found["changes"]),
                journal=end_in(found, place),
                ends=tuple(Ends(int(change), int(entry)) for change, entry in found["ends"]),
                base=int(found["base"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StoreDamaged(
                f"{place} has lost the order of its partitions, in the document {ORDER!r} of "
                f"{METADATA!r}: restore it from a backup; nothing was changed"
            ) from error

    def reaches(self, ends: Sequence[Ends]) -> bool:
        """Return whether everything up to `ends` is in order."""
        return all(
            known.change >= end.change and known.entry >= end.entry
            for known, end in zip(self.ends, ends, strict=True)
        )

    def to_document(self) -> _Document:
        """Return the fields of the document that keeps the order."""
        return {
            "changes": Int64(self.changes),
            "journal": encode_end(self.journal),
            "ends": [[Int64(each.change), Int64(each.entry)] for each in self.ends],
            "base": Int64(self.base),
        }


def read_order(connection: Connection, session: ClientSession | None = None) -> Order:
    """Return the order of a store; `connection` is that of its first partition."""
    within = {} if session is None else {"session": session}
    document = connection.database.get_collection(METADATA).find_one({"_id": ORDER}, **within)
    return Order.of(document, connection.place)


def read_partition_ends(
    connections: Sequence[Connection], session: ClientSession | None = None
) -> tuple[Ends, ...]:
    """Return where the feed and the journal of each partition end."""
    found = (read_ends(each.database, each.place, session) for each in connections)
    return tuple(Ends(change, journal.number) for change, journal in found)


def refuse_earlier_ends(order: Order, ends: Sequence[Ends], place: str) -> None:
    """Refuse a partition that ends before what is in order of it.

    Raises:
        StoreDamaged: another program has put it back to an earlier state.
    """
    for number, (known, end) in enumerate(zip(order.ends, ends, strict=True)):
        if end.change < known.change or end.entry < known.entry:
            raise StoreDamaged(
                f"partition {number} of {place} is older than the others, as from another backup: "
                "put all databases back to one moment; nothing was changed"
            )


class OrderWriter:
    """Gives the next numbers after an order, and writes them in a transaction."""

    def __init__(self, connection: Connection, order: Order) -> None:
        """Go on after `order`, which the partition of `connection` keeps."""
        self.order = self._before = order
        self._connection = connection
        self._runs: list[_Document] = []
        self._entries: list[_Document] = []

    def catch_up(
        self,
        connections: Sequence[Connection],
        ends: Sequence[Ends],
        session: ClientSession | None = None,
        *,
        most: int | None = None,
    ) -> None:
        """Order what the partitions have up to `ends`, at most `most` entries of each.

        The partitions are read by `connections` as of one moment.
        """
        refuse_earlier_ends(self.order, ends, self._connection.place)
        for number, (known, end) in enumerate(zip(self.order.ends, ends, strict=True)):
            self.add_changes(number, known.change + 1, end.change - known.change)
        streams = [
            _read_entries(connection, number, known.entry, end.entry, most, session)
            for number, (connection, known, end) in enumerate(
                zip(connections, self.order.ends, ends, strict=True)
            )
        ]
        for _, partition, _, text in heapq.merge(*streams):
            self.add_entry(partition, text)

    def add_changes(self, partition: int, first: int, count: int = 1) -> None:
        """Order the next `count` changes of a partition, whose own numbers begin at `first`."""
        if not count:
            return
        if self._runs and self._runs[-1]["partition"] == partition:
            self._runs[-1]["count"] = Int64(self._runs[-1]["count"] + count)
        else:
            self._runs.append(
                {
                    "_id": Int64(self.order.changes + 1),
                    "partition": partition,
                    "first": Int64(first),
                    "count": Int64(count),
                }
            )
        own = self.order.ends[partition]
        self._move(partition, evolve(own, change=own.change + count))
        self.order = evolve(self.order, changes=self.order.changes + count)

    def add_entry(self, partition: int, text: str) -> None:
        """Order the next entry of a partition, whose action is `text`."""
        number = self.order.journal.number + 1
        digest = entry_digest(self.order.journal.digest, number, text)
        own = self.order.ends[partition]
        own = evolve(own, entry=own.entry + 1)
        self._entries.append(
            {
                "_id": Int64(number),
                "partition": partition,
                "number": Int64(own.entry),
                "digest": digest,
            }
        )
        self._move(partition, own)
        self.order = evolve(self.order, journal=JournalEnd(number=number, digest=digest))

    def _move(self, partition: int, end: Ends) -> None:
        ends = [*self.order.ends]
        ends[partition] = end
        self.order = evolve(self.order, ends=tuple(ends))

    def write(self, session: ClientSession) -> bool:
        """Write the numbers, unless another writer gave them meanwhile; return whether it did."""
        database = self._connection.database
        metadata = database.get_collection(METADATA)
        turn = {"$inc": {"turns": 1}}
        found = metadata.find_one_and_update({"_id": ORDER}, turn, session=session)
        if Order.of(found, self._connection.place) != self._before:
            return False
        for name, documents in ((FEED_ORDER, self._runs), (JOURNAL_ORDER, self._entries)):
            if documents:
                database.get_collection(name).insert_many(documents, session=session)
        metadata.update_one({"_id": ORDER}, {"$set": self.order.to_document()}, session=session)
        return True


def _read_entries(
    connection: Connection,
    partition: int,
    after: int,
    end: int,
    most: int | None,
    session: ClientSession | None,
) -> Iterator[tuple[str, int, int, str]]:
    """Yield moment, partition, number and text of the entries after `after`, in their order.

    The moment never goes back. An entry that another program removed or changed has its number too,
    and whoever reads it is refused.
    """
    end = end if most is None else min(end, after + most)
    if end <= after:
        return
    where = {"_id": {"$gt": after, "$lte": end}}
    journal = connection.database.get_collection(JOURNAL)
    within = {} if session is None else {"session": session}
    found = {d["_id"]: d for d in journal.find(where, {"at": 1, "body": 1}, **within)}
    moment = ""
    for number in range(after + 1, end + 1):
        document = found.get(number, {})
        moment = max(moment, str(document.get("at", "")))
        yield moment, partition, number, str(document.get("body", ""))


@frozen
class Run:
    """Changes that follow each other in the order and in their partition, by their first ones."""

    position: int
    partition: int
    first: int
    count: int

    @classmethod
    def of(cls, document: _Document) -> Run:
        """Return the run in a document."""
        return cls(document["_id"], document["partition"], document["first"], document["count"])


class FeedOrder:
    """Reads the order of changes."""

    def __init__(self, connection: Connection) -> None:
        """Read what the first partition keeps, to which `connection` leads."""
        self._place = connection.place
        self._runs = connection.database.get_collection(FEED_ORDER)

    def runs_after(self, position: int, order: Order, *, limit: int) -> list[Run]:
        """Return the first runs with a change after a position, in their order.

        Raises:
            StoreDamaged: another program has removed a run.
        """
        before = self._runs.find_one({"_id": {"$lte": position + 1}}, sort=[("_id", -1)])
        following = order.base + 1 if before is None else before["_id"]
        found = self._runs.find({"_id": {"$gte": following}}, sort=[("_id", 1)], limit=limit)
        runs = [Run.of(document) for document in found]
        for run in runs:
            if run.position != following:
                break
            following += run.count
        else:
            if following == order.changes + 1 or len(runs) == limit:
                return runs
        raise StoreDamaged(
            f"{self._place} has lost a part of the order of its changes, in the collection"
            f" {FEED_ORDER!r}: restore it from a backup; nothing was changed"
        )

    def number_at(self, partition: int, position: int) -> int:
        """Return the number of the last change of a partition up to a position, 0 for none."""
        where = {"partition": {"$eq": partition}, "_id": {"$lte": position}}
        found = self._runs.find_one(where, sort=[("_id", -1)])
        if found is None:
            return 0
        run = Run.of(found)
        return run.first + min(run.count, position - run.position + 1) - 1

    def positions_of(self, partition: int, numbers: Sequence[int]) -> list[int]:
        """Return the positions of changes of a partition, given by their numbers in order."""
        if not numbers:
            return []
        here: _Document = {"partition": {"$eq": partition}}
        before = self._runs.find_one({**here, "first": {"$lte": numbers[0]}}, sort=[("first", -1)])
        least = numbers[0] if before is None else before["first"]
        where = {**here, "first": {"$gte": least, "$lte": numbers[-1]}}
        runs = [Run.of(document) for document in self._runs.find(where, sort=[("first", 1)])]
        return [place_in(runs, number) for number in numbers]


def place_in(runs: Sequence[Run], number: int) -> int:
    """Return the position of a change, by the runs of its partition in order; 0 for none."""
    place = bisect_right(runs, number, key=lambda run: run.first) - 1
    return 0 if place < 0 else runs[place].position + number - runs[place].first
