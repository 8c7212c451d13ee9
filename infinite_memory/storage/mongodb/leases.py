"""What a process does while it alone may write, where there are no transactions.

Nothing here changes anything once the lease is over, by the clock of the server.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import bson
import pymongo
from pymongo import DeleteMany, UpdateOne, WriteConcern
from pymongo.collection import Collection
from pymongo.errors import BulkWriteError

from infinite_memory.errors import StorageUnavailable, StoreDamaged
from infinite_memory.storage.mongodb.carrying_out import stretches
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.metadata import encode_end
from infinite_memory.storage.mongodb.planning import Operation, Plan
from infinite_memory.storage.mongodb.schema import LOGGED, METADATA, STORE, WRITER

__all__ = [
    "JOURNALED",
    "LEASE_SECONDS",
    "QUICK",
    "Documents",
    "Lease",
    "LeaseOver",
    "server_process",
]

LEASE_SECONDS = 10.0
QUICK = WriteConcern(w=1)
JOURNALED = WriteConcern(w=1, j=True)

# The part of a lease after which it is renewed before the next step.
_RENEWED_AFTER = 0.4
_LOG_BYTES = 8 << 20
_RECENT = 50
_LONG_AGO = datetime.fromtimestamp(0, UTC)
_CONVERSION_FAILURE = 241

Documents = Collection[dict[str, Any]]


class LeaseOver(StorageUnavailable):
    """Another process may be writing by now."""


class Lease:
    """The right to write, as it was given by the document `writer`."""

    def __init__(
        self, connection: Connection, writer: dict[str, Any], *, asked: float, seconds: float
    ) -> None:
        """Hold the lease that `writer` describes, for so many seconds from when it was `asked`."""
        self._place = connection.place
        self._database = connection.database.with_options(write_concern=QUICK)
        self._writer: Documents = self._database.get_collection(METADATA)
        self._log: Documents = self._database.get_collection(LOGGED)
        self.owner = writer["owner"]
        self.until: datetime = writer["until"]
        self._ends = asked + seconds
        self._seconds = seconds
        self._commit: dict[str, Any] | None = writer.get("commit")
        self.number = int(writer["turns"])
        self.recent = list(writer.get("recent", ()))
        # Asked after the lease was had: if the server was started again since, this is not it.
        self.process = server_process(connection)

    def carry_out_named(self) -> None:
        """Carry out a commit that counts already, from its log.

        Raises:
            StoreDamaged: its log is gone.
        """
        commit = self._commit
        if commit is None:
            return
        numbers = self._log.find({"commit": {"$eq": commit["name"]}}, {"part": 1})
        if len(list(numbers)) == commit["parts"]:
            for number in range(1, commit["parts"] + 1):
                part = self._log.find_one({"commit": {"$eq": commit["name"]}, "part": number})
                if part is None:
                    raise self._over()
                encoded = bson.decode(part["operations"])["operations"]
                self._carry_out([Operation(**each) for each in encoded])
            self._count(commit)
        elif not self._counted(commit):
            raise StoreDamaged(
                f"{self._place} has lost the log of a commit that was under way, in {LOGGED!r}: "
                "restore it from a backup; nothing more was written"
            )
        self.recent.insert(0, commit["name"])
        done = {"commit": None, "recent": self.recent[:_RECENT]}
        with self._step():
            cleared = self._writer.update_one(
                {"_id": WRITER, "owner": self.owner, **self._in_time()}, {"$set": done}
            )
        if not cleared.matched_count:
            raise self._over()
        self._commit = None

    def write(self, name: str, plan: Plan) -> None:
        """Write the log, name the commit, from when on it counts, and carry it out."""
        number = 0
        for number, (_, encoded) in enumerate(_parts(plan.operations), 1):
            with self._step():
                self._log.insert_one({"commit": name, "part": number, "operations": encoded})
        commit = {
            "name": name,
            "parts": number,
            "sequence": plan.sequence,
            "journal": encode_end(plan.journal),
        }
        with self._step():
            named = self._writer.update_one(
                {"_id": WRITER, "owner": self.owner, **self._in_time()},
                {"$set": {"commit": commit}},
            )
        if not named.matched_count:
            raise self._over()
        for part, _ in _parts(plan.operations):
            self._carry_out(part)
        self._count(commit)
        self.recent.insert(0, name)

    def clear(self) -> None:
        """Empty the log and give the lease back."""
        with self._step():
            self._log.delete_many(self._in_time())
            self.give_back()

    def give_back(self, *, only_if: dict[str, Any] | None = None) -> None:
        """Let the next one in at once; without this, it waits until the lease is over."""
        given = {"owner": None, "until": _LONG_AGO, "commit": None, "recent": self.recent[:_RECENT]}
        self._writer.update_one(
            {"_id": WRITER, "owner": self.owner, "until": self.until, **(only_if or {})},
            {"$set": given},
        )

    def _carry_out(self, operations: Sequence[Operation]) -> None:
        for collection, batch in stretches(operations):
            with self._step():
                requests = [self._request(each) for each in batch]
                try:
                    self._database.get_collection(collection).bulk_write(requests, ordered=True)
                except BulkWriteError as error:
                    if error.details["writeErrors"][:1] and (
                        error.details["writeErrors"][0]["code"] == _CONVERSION_FAILURE
                    ):
                        raise self._over() from error
                    raise

    def _request(self, operation: Operation) -> DeleteMany | UpdateOne:
        document = operation.document
        if document is None:
            return DeleteMany({**operation.where, **self._in_time()})
        # One that does not exist yet has nothing to compare: what is computed for it must fail.
        refusal = {"$toInt": {"$concat": ["the lease is over: ", {"$toString": "$_id"}]}}
        chosen = {"$cond": [self._in_time()["$expr"], {"$literal": document}, refusal]}
        return UpdateOne({"_id": {"$eq": document["_id"]}}, [{"$replaceWith": chosen}], upsert=True)

    def _count(self, commit: dict[str, Any]) -> None:
        """Count the changes, journaled: what came before it is on the disk by then as well."""
        # A commit that version 1 has left says nothing of the journal.
        ends = {name: commit[name] for name in ("sequence", "journal") if name in commit}
        later = {name: {"$max": [f"${name}", {"$literal": value}]} for name, value in ends.items()}
        with self._step():
            counted = self._writer.with_options(write_concern=JOURNALED).update_one(
                {"_id": STORE, **self._in_time()}, [{"$set": later}]
            )
        if not counted.matched_count:
            # If a deletion came too late, then so did this.
            raise self._over()

    def _counted(self, commit: dict[str, Any]) -> bool:
        where = {"_id": STORE, "sequence": {"$gte": commit["sequence"]}}
        if "journal" in commit:
            where["journal.number"] = {"$gte": commit["journal"]["number"]}
        return self._writer.find_one(where) is not None

    def _in_time(self) -> dict[str, Any]:
        return {"$expr": {"$lt": ["$$NOW", self.until]}}

    def _step(self) -> Any:
        """Return a context in which nothing takes longer than the lease; renew it if need be."""
        if self._ends - time.monotonic() < (1 - _RENEWED_AFTER) * self._seconds:
            self._renew()
        return pymongo.timeout(max(0.001, self._ends - time.monotonic()))

    def _renew(self) -> None:
        asked = time.monotonic()
        with pymongo.timeout(max(0.001, self._ends - asked)):
            writer = self._writer.find_one_and_update(
                {"_id": WRITER, "owner": self.owner, "until": self.until, **self._in_time()},
                [{"$set": {"until": {"$add": ["$$NOW", int(self._seconds * 1000)]}}}],
                return_document=pymongo.ReturnDocument.AFTER,
            )
        if writer is None:
            raise self._over()
        self.until, self._ends = writer["until"], asked + self._seconds

    def _over(self) -> LeaseOver:
        return LeaseOver(
            f"{self._place} took so long that another process may be writing by now: look for what "
            "you wanted to change before you try again"
        )


def server_process(connection: Connection) -> object:
    """Return what the running process of the server calls itself; another after each start."""
    hello = connection.client.admin.command("hello")
    return hello.get("topologyVersion", {}).get("processId")


def _parts(operations: Sequence[Operation]) -> Iterator[tuple[list[Operation], bytes]]:
    """Yield the operations, also as BSON, so many together as a document of the log may hold."""
    part: list[Operation] = []
    encoded: list[dict[str, Any]] = []
    size = 0
    for each in operations:
        fields = {"collection": each.collection, "where": each.where, "document": each.document}
        length = len(bson.encode(fields))
        if part and size + length > _LOG_BYTES:
            yield part, bson.encode({"operations": encoded})
            part, encoded, size = [], [], 0
        part.append(each)
        encoded.append(fields)
        size += length
    if part:
        yield part, bson.encode({"operations": encoded})
