"""Commits: read the state before a commit, plan the documents to write, and write them."""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pymongo
from attrs import frozen
from pymongo import WriteConcern
from pymongo.client_session import ClientSession
from pymongo.database import Database
from pymongo.errors import PyMongoError, ServerSelectionTimeoutError

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.commit import Commit, ExpectContent, ExpectKey
from infinite_memory.core.values.entry import JournalEnd
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.damage import DamageLog
from infinite_memory.storage.mongodb.access_keys import find_access_keys
from infinite_memory.storage.mongodb.brief_calls import BRIEF_SECONDS, is_brief
from infinite_memory.storage.mongodb.commit_plan import (
    Before,
    Plan,
    linked_ids,
    plan_commit,
    written_ids,
)
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.documents import decode_memory, revision_of
from infinite_memory.storage.mongodb.lease import lease_number_in
from infinite_memory.storage.mongodb.metadata import (
    HELD,
    encode_end,
    end_in,
    sequence_in,
    take_turn,
)
from infinite_memory.storage.mongodb.queries import has_content, holds_key
from infinite_memory.storage.mongodb.schema import ERASED, MEMORIES, METADATA, STORE, USAGE
from infinite_memory.storage.mongodb.scopes import ScopeReader
from infinite_memory.storage.mongodb.transactions import end_abandoned, in_transaction
from infinite_memory.storage.mongodb.usage import add_usage
from infinite_memory.storage.preconditions import Present, refuse_changes

_IDS_AT_ONCE = 1000
# A commit of all partitions takes its turns in some milliseconds, once the others wait.
_HELD_SECONDS = 2.0
_HELD_PAUSE_SECONDS = 0.02
_Document = dict[str, Any]
_MakePlan = Callable[[ClientSession, _Document], Plan]

Guard = Callable[[Commit, Before, ClientSession], None]
"""Refuses a commit, given the documents before it, by an exception."""


class CommitHeld(Exception):
    """A commit of all partitions asked this one to wait; `token` names that request."""

    def __init__(self, token: object) -> None:
        super().__init__(token)
        self.token = token


class Committer:
    """Carries out commits in a database, a transaction per commit. Thread-safe."""

    def __init__(
        self,
        connection: Connection,
        damage: DamageLog,
        scopes: ScopeReader,
        guard: Guard | None = None,
    ) -> None:
        """Commit to the database of `connection`, unless `guard` raises in the transaction."""
        self._connection = connection
        self._database = connection.database
        self._damage = damage
        self._scopes = scopes
        self._guard = guard
        self.refuse = damage.refuse_record
        self.held_seconds = _HELD_SECONDS
        self._commit_lock = threading.Lock()
        # When a commit last waited in vain for the server, and what the driver said.
        self._in_vain: tuple[float, str] | None = None

    def commit(self, commit: Commit) -> Plan:
        """Carry out all of `commit`, or nothing; see `Storage.commit`."""
        return self._carry_out(partial(self._prepare_commit, commit))

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Add the counts of `used`; see `Storage.count_usage`."""
        self._carry_out(partial(self._prepare_usage, used))

    def _carry_out(self, make_plan: _MakePlan) -> Plan:
        """Make a plan, write it in one transaction, and return it."""
        # One commit at a time in this process: parallel commits would only cause write conflicts.
        with self.hold_commit_lock():
            try:
                return self._carry_out_unheld(make_plan)
            except ServerSelectionTimeoutError as error:
                if not is_brief():
                    self._in_vain = time.monotonic(), str(error)
                raise

    def _carry_out_unheld(self, make_plan: _MakePlan) -> Plan:
        """Carry a plan out when no commit of all partitions waits, but for one that has died."""
        seen: object = None
        ignored: object = None
        until = 0.0
        while True:
            write = partial(self._write_plan, make_plan, ignored)
            try:
                return in_transaction(self._connection, write)
            except CommitHeld as error:
                if error.token != seen:
                    seen, until = error.token, time.monotonic() + self.held_seconds
                elif time.monotonic() > until:
                    ignored = seen
            time.sleep(random.uniform(0, _HELD_PAUSE_SECONDS))

    @contextmanager
    def hold_commit_lock(self) -> Iterator[None]:
        """Let no other thread of this process commit to the database."""
        began = time.monotonic()
        if not self._commit_lock.acquire(timeout=BRIEF_SECONDS if is_brief() else -1):
            raise StorageUnavailable(
                f"another commit of this process still waits for {self._connection.place}; "
                "nothing was stored"
            )
        try:
            if self._in_vain is not None and self._in_vain[0] >= began:
                # Commits that waited together give up together, and not each after another wait.
                raise ServerSelectionTimeoutError(self._in_vain[1])
            yield
        finally:
            self._commit_lock.release()

    def _write_plan(self, make_plan: _MakePlan, ignored: object, session: ClientSession) -> Plan:
        store = take_turn(self._database, self._connection.place, session)
        if store.get(HELD) not in (None, ignored):
            raise CommitHeld(store[HELD])
        plan = make_plan(session, store)
        self.write(plan, session)
        return plan

    def hold(self) -> str:
        """Ask the commits to wait until the next one of all partitions, for a moment at most.

        Return what `release` takes to end the wait earlier.
        """
        request = secrets.token_hex(8)
        self._change_store({"_id": STORE}, {"$set": {HELD: request}})
        return request

    def release(self, request: str) -> None:
        """Let the commits go on that wait for a request of `hold`; later they do so anyway."""
        with suppress(PyMongoError):
            self._change_store({"_id": STORE, HELD: {"$eq": request}}, {"$unset": {HELD: ""}})

    def _change_store(self, where: _Document, change: _Document) -> None:
        metadata = self._database.get_collection(METADATA, write_concern=WriteConcern(w=1))
        try:
            with pymongo.timeout(_HELD_SECONDS):
                metadata.update_one(where, change)
        except PyMongoError as error:
            if not error.timeout:
                raise
            # A transaction is open there, perhaps of a process that died: nobody else commits.
            end_abandoned(self._connection)

    def write(self, plan: Plan, session: ClientSession) -> None:
        """Write a plan in a transaction that has taken its turn."""
        plan.writes.carry_out(self._database, session=session)
        after = {"sequence": plan.sequence, "journal": encode_end(plan.journal)}
        if plan.active_model is not None:
            after["active_model"] = plan.active_model
        self._database.get_collection(METADATA).update_one(
            {"_id": STORE}, {"$set": after}, session=session
        )

    def _prepare_commit(self, commit: Commit, session: ClientSession, store: _Document) -> Plan:
        before, present = self.read_before(commit, session, store)
        if self._guard is not None:
            self._guard(commit, before, session)
        refuse_changes(commit, present)
        return plan_commit(commit, before, refuse=self.refuse)

    def read_before(
        self, commit: Commit, session: ClientSession, store: _Document
    ) -> tuple[Before, Present]:
        """Return the state of the database before a commit, whose turn found `store`."""
        place = self._connection.place
        found = self._look_up(commit, session)
        present = [i for i in written_ids(commit) if i in found[MEMORIES]]
        documents = {d["_id"]: d for d in self._find_documents(MEMORIES, present, session)}
        before = Before(
            documents=documents,
            erased=frozenset(found[ERASED]),
            ends=frozenset(found[MEMORIES]),
            sequence=sequence_in(store, place),
            journal=end_in(store, place),
        )
        reading = self._database, self._scopes, self._damage, documents, session
        return before, _CurrentState(before.journal, *reading, lease=lease_number_in(store))

    def _prepare_usage(
        self, used: Mapping[str, Usage], session: ClientSession, store: _Document
    ) -> Plan:
        place = self._connection.place
        existing = self._find_ids(MEMORIES, list(used), session)
        counts = {memory_id: usage for memory_id, usage in used.items() if memory_id in existing}
        known = self._find_documents(USAGE, list(counts), session)
        return Plan(
            writes=add_usage(counts, {document["_id"]: document for document in known}),
            sequence=sequence_in(store, place),
            journal=end_in(store, place),
        )

    def _look_up(self, commit: Commit, session: ClientSession) -> dict[str, set[str]]:
        """Return which memories there are, and which erased ids, that a commit depends on.

        They are looked up from the store document, so that one round trip finds both.
        """
        wanted = {
            MEMORIES: [*written_ids(commit), *linked_ids(commit)],
            ERASED: written_ids(commit),
        }
        found: dict[str, set[str]] = {name: set() for name in wanted}
        metadata = self._database.get_collection(METADATA)
        for start in range(0, len(wanted[MEMORIES]), _IDS_AT_ONCE):
            stages: list[_Document] = [{"$match": {"_id": STORE}}]
            for name, ids in wanted.items():
                match = {"$match": {"_id": {"$in": ids[start : start + _IDS_AT_ONCE]}}}
                lookup = {"pipeline": [match, {"$project": {"_id": 1}}], "as": name}
                collection = self._database.get_collection(name)
                stages.append({"$lookup": {"from": collection.name, **lookup}})
            for answer in metadata.aggregate(stages, session=session):
                for name, ids_found in found.items():
                    ids_found.update(document["_id"] for document in answer[name])
        return found

    def _find_documents(
        self,
        name: str,
        ids: Sequence[str],
        session: ClientSession,
        projection: Mapping[str, int] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Yield the documents whose id is in `ids`, in queries of at most 1,000 ids."""
        collection = self._database.get_collection(name)
        for start in range(0, len(ids), _IDS_AT_ONCE):
            batch = list(ids[start : start + _IDS_AT_ONCE])
            yield from collection.find({"_id": {"$in": batch}}, projection, session=session)

    def _find_ids(self, name: str, ids: Sequence[str], session: ClientSession) -> frozenset[str]:
        return frozenset(d["_id"] for d in self._find_documents(name, ids, session, {"_id": 1}))


@frozen
class _CurrentState:
    """The state of the database before a commit, read in the transaction of the commit."""

    journal_end: JournalEnd
    _database: Database[_Document]
    _scopes: ScopeReader
    _damage: DamageLog
    _documents: Mapping[str, _Document]
    _session: ClientSession
    _lease: int

    def lease_number(self) -> int:
        return self._lease

    def revision(self, memory_id: str) -> int:
        return revision_of(self._documents.get(memory_id))

    def scopes(self) -> Mapping[str, Scope]:
        return self._scopes.read(self._session)

    def access_keys(self) -> Mapping[str, AccessKey]:
        return find_access_keys(self._database, None, self._damage, session=self._session)

    def holds(self, scope: str, besides: Collection[str]) -> bool:
        where = {"scope": {"$eq": scope}, "status": {"$ne": Status.FORGOTTEN.value}}
        memories = self._database.get_collection(MEMORIES)
        documents = memories.find(where, {"_id": 1}, session=self._session)
        first = documents.limit(len(besides) + 1)
        return any(document["_id"] not in besides for document in first)

    def holders(self, expected: ExpectKey) -> list[str]:
        return self._find_undamaged_ids(holds_key(expected))

    def with_content(self, expected: ExpectContent) -> list[str]:
        return self._find_undamaged_ids(has_content(expected))

    def _find_undamaged_ids(self, where: Mapping[str, Any]) -> list[str]:
        """Return the ids of the undamaged memories that meet `where`."""
        documents = self._database.get_collection(MEMORIES).find(where, session=self._session)
        return [memory.id for memory in map(decode_memory, documents) if memory is not None]
