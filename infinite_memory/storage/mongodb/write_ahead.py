"""Commits on a server without transactions: written to a log first, then carried out.

1. One process at a time writes. It takes a lease: the document `writer` names it and an end, by the
   clock of the server. A lease that is over may be taken by anybody.
2. What the commit leaves behind goes into the log.
3. The document `writer` names the commit: from then on it counts.
4. It is carried out, the changes are counted, the log is emptied and the lease given back. The
   count is journaled, and with it everything before it: only then is the commit acknowledged.

Whoever takes a lease in which a commit is named carries that out first. So a process that ends
before the third step has changed nothing, and one that ends after it has changed everything. A
reader may meet the documents of a commit while it is carried out; the feed waits for it.

A process may be paused, and a request may be long under way. So each write says until when the
lease holds, and the server, which looks at its own clock, changes nothing after that.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from uuid import uuid4

import pymongo
from attrs import define
from pymongo import ReturnDocument
from pymongo.errors import (
    AutoReconnect,
    NetworkTimeout,
    PyMongoError,
    ServerSelectionTimeoutError,
)

from infinite_memory.errors import StorageUnavailable, StoreDamaged
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.leases import (
    LEASE_SECONDS,
    QUICK,
    Documents,
    Lease,
    LeaseOver,
    server_process,
)
from infinite_memory.storage.mongodb.planning import Plan
from infinite_memory.storage.mongodb.schema import METADATA, WRITER

__all__ = ["WriteAhead"]

_WAIT_SECONDS = 60.0
_LONGEST_PAUSE = 0.05


@define
class _Attempt:
    """What is known of a commit: how it was named last, under which lease, and its number."""

    name: str | None = None
    lease: int = 0
    sequence: int = 0


class WriteAhead:
    """The commits of one process on a standalone server. Thread-safe."""

    def __init__(self, connection: Connection, *, lease_seconds: float = LEASE_SECONDS) -> None:
        """Write with leases of so many seconds; after that others take one for dead."""
        self._place = connection.place
        self._connection = connection
        self._seconds = lease_seconds
        self._returned: str | None = None
        quick = connection.database.with_options(write_concern=QUICK)
        self._writer: Documents = quick.get_collection(METADATA)

    def recover(self) -> None:
        """Carry out what another process has left, if it ended in the middle of a commit."""
        named = {"_id": WRITER, "commit": {"$ne": None}}
        first = self._writer.find_one(named)
        pause = 0.002
        while first is not None:
            lease = self._try(str(uuid4()))
            if lease is not None:
                self._finish(lease)
                return
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            found = self._writer.find_one(named)
            if found is None or found["commit"]["name"] != first["commit"]["name"]:
                return

    def recover_abandoned(self) -> None:
        """Carry out what another process has left, if its lease is over."""
        over = {"commit": {"$ne": None}, "$expr": {"$lt": ["$until", "$$NOW"]}}
        if self._writer.find_one({"_id": WRITER, **over}, {"_id": 1}) is not None:
            lease = self._try(str(uuid4()))
            if lease is not None:
                self._finish(lease)

    def commit(self, planned: Callable[[], Plan]) -> int:
        """Carry out what `planned` returns once nobody else writes; return the last number.

        Where the connection is lost or the lease is over, it is tried again as long as it is known
        that nothing was stored.

        Raises:
            StorageUnavailable: the lease could not be had in time, or it cannot be known whether
                the commit took place.
        """
        deadline = time.monotonic() + _WAIT_SECONDS
        attempt = _Attempt()
        lost: Lease | None = None
        while True:
            lease = self._acquire(deadline, lost)
            try:
                sequence = self._attempt(attempt, lease, planned)
            except (AutoReconnect, LeaseOver) as error:
                if _waited(error) or time.monotonic() > deadline:
                    raise
                self._connection.revive()
                lost = lease
            except BaseException:
                # What was named counts, and is left to who comes next; the rest never was.
                with suppress(PyMongoError), pymongo.timeout(1):
                    lease.give_back(only_if={"commit": None})
                raise
            else:
                # It counts by now, so what goes wrong here only lets others wait.
                with suppress(PyMongoError):
                    lease.clear()
                    self._returned = lease.owner
                return sequence

    def _attempt(self, attempt: _Attempt, lease: Lease, planned: Callable[[], Plan]) -> int:
        lease.carry_out_named()
        if attempt.name is not None:
            if attempt.name in lease.recent:
                return attempt.sequence
            if lease.number > attempt.lease + 1:
                raise StorageUnavailable(
                    f"{self._place} was lost while it was written, and others have written since: "
                    "look for what you wanted to change before you try again"
                )
        plan = planned()
        if plan.operations:
            attempt.name, attempt.lease = str(uuid4()), lease.number
            attempt.sequence = plan.sequence
            lease.write(attempt.name, plan)
        return plan.sequence

    def _finish(self, lease: Lease) -> None:
        try:
            lease.carry_out_named()
        except LeaseOver:
            # Another process has taken over.
            return
        lease.clear()

    def _acquire(self, deadline: float, lost: Lease | None) -> Lease:
        owner = str(uuid4())
        pause = 0.002
        while True:
            try:
                lease = self._try(owner, lost)
            except AutoReconnect as error:
                # Nothing was written under it yet.
                if _waited(error) or time.monotonic() > deadline:
                    raise
                self._connection.revive()
                lease = None
            if lease is not None:
                return lease
            if time.monotonic() > deadline:
                raise StorageUnavailable(
                    f"{self._place} has been written by another process for "
                    f"{_WAIT_SECONDS:g} s: look for one that hangs, end it and try again; "
                    "nothing was stored"
                )
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _try(self, owner: str, lost: Lease | None = None) -> Lease | None:
        """Return a lease for `owner`, None while somebody else has one.

        One of our own that was `lost` with the server need not be waited for: of what was under way
        then, nothing can arrive any more. Nor need one that was given without our hearing of it, or
        that was given back and is there again after a crash of the server.
        """
        asked = time.monotonic()
        mine = [owner] if self._returned is None else [owner, self._returned]
        if lost is not None and lost.process != server_process(self._connection):
            mine.append(lost.owner)
        over = {"$expr": {"$lt": ["$until", "$$NOW"]}}
        until = {"$add": ["$$NOW", int(self._seconds * 1000)]}
        known = {"$ifNull": ["$turns", 0]}
        number = {"$cond": [{"$in": ["$owner", mine]}, known, {"$add": [known, 1]}]}
        writer = self._writer.find_one_and_update(
            {"_id": WRITER, "$or": [over, {"owner": {"$in": mine}}]},
            # What version 1 counted them with would be refused; see `METADATA_RULE`.
            [{"$set": {"owner": owner, "until": until, "turns": number}}, {"$unset": "leases"}],
            return_document=ReturnDocument.AFTER,
        )
        if writer is not None:
            return Lease(self._connection, writer, asked=asked, seconds=self._seconds)
        if self._writer.find_one({"_id": WRITER}, {"_id": 1}) is None:
            raise StoreDamaged(
                f"{self._place} has lost the document {WRITER!r} in {METADATA!r}, which says who "
                "may write: restore it from a backup; nothing was stored"
            )
        return None


def _waited(error: BaseException) -> bool:
    """Tell whether the driver has waited for the server already, as long as it may."""
    return isinstance(error, NetworkTimeout | ServerSelectionTimeoutError)
