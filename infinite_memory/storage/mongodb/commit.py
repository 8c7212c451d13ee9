"""Commits: read the state before a commit, plan the documents to write, and write them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from pymongo.client_session import ClientSession
from pymongo.database import Database
from pymongo.errors import ServerSelectionTimeoutError

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.commit import Commit, ExpectContent, ExpectKey
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.record import Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.awaited import note_change
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
    encode_end,
    end_in,
    sequence_in,
    take_turn,
)
from infinite_memory.storage.mongodb.schema import ERASED, MEMORIES, METADATA, STORE, USAGE
from infinite_memory.storage.mongodb.scopes import ScopeReader
from infinite_memory.storage.mongodb.transactions import in_transaction
from infinite_memory.storage.mongodb.usage import add_usage
from infinite_memory.storage.preconditions import refuse_changes

_IDS_AT_ONCE = 1000
_Document = dict[str, Any]
_MakePlan = Callable[[ClientSession, _Document], Plan]


class Committer:
    """Carries out commits in a database, a transaction per commit. Thread-safe."""

    def __init__(
        self,
        connection: Connection,
        damage: DamageLog,
        scopes: ScopeReader,
    ) -> None:
        self._connection = connection
        self._database = connection.database
        self._damage = damage
        self._scopes = scopes
        self._commit_lock = threading.Lock()
        # When a commit last waited in vain for the server, and what the driver said.
        self._in_vain: tuple[float, str] | None = None

    def commit(self, commit: Commit) -> int:
        """Carry out all of `commit`, or nothing; see `Storage.commit`."""
        position = self._carry_out(partial(self._prepare_commit, commit))
        note_change(commit)
        return position

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Add the counts of `used`; see `Storage.count_usage`."""
        self._carry_out(partial(self._prepare_usage, used))

    def _carry_out(self, make_plan: _MakePlan) -> int:
        """Make a plan and write it in one transaction; return the number of the last change."""
        # One commit at a time in this process: parallel commits would only cause write conflicts.
        with self._hold_commit_lock():
            try:
                return in_transaction(
                    self._connection, lambda session: self._write_plan(make_plan, session)
                )
            except ServerSelectionTimeoutError as error:
                if not is_brief():
                    self._in_vain = time.monotonic(), str(error)
                raise

    @contextmanager
    def _hold_commit_lock(self) -> Iterator[None]:
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

    def _write_plan(self, make_plan: _MakePlan, session: ClientSession) -> int:
        plan = make_plan(session, take_turn(self._database, self._connection.place, session))
        plan.writes.carry_out(self._database, session=session)
        after = {"sequence": plan.sequence, "journal": encode_end(plan.journal)}
        if plan.active_model is not None:
            after["active_model"] = plan.active_model
        self._database.get_collection(METADATA).update_one(
            {"_id": STORE}, {"$set": after}, session=session
        )
        return plan.sequence

    def _prepare_commit(self, commit: Commit, session: ClientSession, store: _Document) -> Plan:
        place = self._connection.place
        found = self._look_up(commit, session)
        memories = self._find_documents(MEMORIES, found[MEMORIES], session)
        before = Before(
            documents={document["_id"]: document for document in memories},
            erased=frozenset(found[ERASED]),
            ends=frozenset(found["ends"]),
            sequence=sequence_in(store, place),
            journal=end_in(store, place),
        )
        state = _CurrentState(
            self._database,
            self._scopes,
            self._damage,
            before,
            session,
            lease=lease_number_in(store),
            has_content=bool(found["contents"]),
        )
        refuse_changes(commit, state)
        return plan_commit(commit, before, refuse=self._damage.refuse_record)

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

    def _look_up(self, commit: Commit, session: ClientSession) -> dict[str, list[str]]:
        """Return which ids there are of those that a commit depends on, by what they are.

        A round trip takes as long as ten writes, so all are looked up in one: the memories and the
        erased ids that it writes, the ends of its links, and some memory with a content that it
        expects.
        """
        written, linked = written_ids(commit), linked_ids(commit)
        alike = [_where_content(expected) for expected in commit.expect.contents]
        found: dict[str, list[str]] = {MEMORIES: [], ERASED: [], "ends": [], "contents": []}
        for start in range(0, max(len(written), len(linked), 1), _IDS_AT_ONCE):
            ids, ends = (each[start : start + _IDS_AT_ONCE] for each in (written, linked))
            stages: list[_Document] = [
                {"$match": {"_id": STORE}},
                {"$project": {"_id": 1}},
                self._look_up_in(MEMORIES, MEMORIES, {"_id": {"$in": ids}}),
                self._look_up_in(ERASED, ERASED, {"_id": {"$in": ids}}),
                self._look_up_in("ends", MEMORIES, {"_id": {"$in": ends}}),
            ]
            if alike and not start:
                stages.append(self._look_up_in("contents", MEMORIES, {"$or": alike}, limit=1))
            metadata = self._database.get_collection(METADATA)
            for answer in metadata.aggregate(stages, session=session):
                for name, documents in answer.items():
                    if name in found:
                        found[name] += [document["_id"] for document in documents]
        return found

    def _look_up_in(
        self, name: str, collection: str, where: _Document, limit: int = 2 * _IDS_AT_ONCE
    ) -> _Document:
        """Return the stage that adds the ids of the documents under `where` as the field `name`."""
        stages = [{"$match": where}, {"$limit": limit}, {"$project": {"_id": 1}}]
        source = self._database.get_collection(collection).name
        return {"$lookup": {"from": source, "pipeline": stages, "as": name}}

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


class _CurrentState:
    """The state of the database before a commit, read in the transaction of the commit."""

    def __init__(
        self,
        database: Database[_Document],
        scopes: ScopeReader,
        damage: DamageLog,
        before: Before,
        session: ClientSession,
        *,
        lease: int,
        has_content: bool,
    ) -> None:
        self.journal_end = before.journal
        self._lease = lease
        self._has_content = has_content
        self._database = database
        self._damage = damage
        self._memories = database.get_collection(MEMORIES)
        self._scopes = scopes
        self._documents = before.documents
        self._session = session

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
        documents = self._memories.find(where, {"_id": 1}, session=self._session)
        first = documents.limit(len(besides) + 1)
        return any(document["_id"] not in besides for document in first)

    def holders(self, expected: ExpectKey) -> list[str]:
        return self._find_undamaged_ids(
            {
                "key": {"$eq": expected.key},
                "scope": {"$eq": expected.scope},
                "status": {"$in": [status.value for status in expected.statuses]},
            }
        )

    def with_content(self, expected: ExpectContent) -> list[str]:
        return self._find_undamaged_ids(_where_content(expected)) if self._has_content else []

    def _find_undamaged_ids(self, where: Mapping[str, Any]) -> list[str]:
        """Return the ids of the undamaged memories that meet `where`."""
        documents = self._memories.find(where, session=self._session)
        return [memory.id for memory in map(decode_memory, documents) if memory is not None]


def _where_content(expected: ExpectContent) -> _Document:
    return {
        "content_hash": {"$in": sorted(expected.content_hashes)},
        "scope": {"$in": sorted(expected.scopes)},
        "status": {"$eq": Status.CURRENT.value},
    }
