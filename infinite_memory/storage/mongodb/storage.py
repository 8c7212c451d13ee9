"""`Storage` on MongoDB: a replica set, which may have one member, or a sharded cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, TypeVar

from pymongo.errors import (
    ConnectionFailure,
    NetworkTimeout,
    OperationFailure,
    ServerSelectionTimeoutError,
)

from infinite_memory.core.clock import current_deadline
from infinite_memory.core.errors import StorageUnavailable, StoreClosed
from infinite_memory.core.protocols import Replacement, Storage
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.archive.copying import CopyMark
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Entry, JournalEnd
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Changes, Page, Record, Size, Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.verification import Finding
from infinite_memory.storage.awaited import note_change
from infinite_memory.storage.damage import USAGE, DamageLog
from infinite_memory.storage.forks import crossed_fork
from infinite_memory.storage.mongodb import lease
from infinite_memory.storage.mongodb.access_keys import find_access_keys
from infinite_memory.storage.mongodb.brief_calls import (
    close_client,
    has_answering_member,
    is_brief,
    limit_if_brief,
    limit_to_brief_calls,
    note_no_answer,
)
from infinite_memory.storage.mongodb.commit import Committer, Guard
from infinite_memory.storage.mongodb.commit_plan import Plan
from infinite_memory.storage.mongodb.connection import Connection, revive_server
from infinite_memory.storage.mongodb.creation import ensure_store
from infinite_memory.storage.mongodb.errors import translate_errors
from infinite_memory.storage.mongodb.feed import FeedReader
from infinite_memory.storage.mongodb.journal import JournalReader
from infinite_memory.storage.mongodb.lease import MongoLease
from infinite_memory.storage.mongodb.links import links_of
from infinite_memory.storage.mongodb.metadata import SwapUnfinished, active_model
from infinite_memory.storage.mongodb.migrations import migrate
from infinite_memory.storage.mongodb.queries import QueryReader
from infinite_memory.storage.mongodb.records import RecordReader
from infinite_memory.storage.mongodb.schema import COPY, METADATA
from infinite_memory.storage.mongodb.scopes import ScopeReader
from infinite_memory.storage.mongodb.size import measure
from infinite_memory.storage.mongodb.usage import usage_of
from infinite_memory.storage.mongodb.views.replacement import finish_swap, prepare_beside
from infinite_memory.storage.mongodb.views.snapshot import pin_connections
from infinite_memory.storage.paging import check_limit, decode_cursor
from infinite_memory.storage.preconditions import check_commit
from infinite_memory.storage.read_only import ReadOnlyStorage

_Result = TypeVar("_Result")

_RETRY_SECONDS = 60.0
_ELECTION_PAUSE_SECONDS = 0.1
# How often a call finishes the replacement of the content before it gives up.
_MOST_SWAPS = 5
_SNAPSHOT_UNAVAILABLE = 246


class MongoStorage:
    """The storage in a database of a MongoDB deployment."""

    def __init__(
        self,
        connection: Connection,
        identity: str | None = None,
        *,
        damage: DamageLog | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Work on `connection`, whose client is closed at the end. Use `open_mongodb`.

        With an `identity` the store exists, in the present schema. `damage` is the log of an object
        on the same store; `guard` may refuse commits, see `Committer`.
        """
        self._connection = connection
        self._database = connection.database
        self._process = os.getpid()
        self._closed = False
        self._damage = damage or DamageLog(connection.place)
        self._scopes = ScopeReader(connection.database, self._damage)
        self._queries = QueryReader(connection.database, self._damage)
        self._records = RecordReader(connection.database, self._damage)
        self._feed = FeedReader(connection.database, self._records, self._damage, connection.place)
        self._journal = JournalReader(connection.database, connection.place)
        self._committer = Committer(connection, self._damage, self._scopes, guard)
        self._finish_swap: Callable[[], None] = partial(finish_swap, connection)
        if identity is not None:
            self._identity = identity
            return
        with translate_errors(connection.place):
            self._identity = ensure_store(connection)
            migrate(connection)
            self._finish_swap()

    @property
    def identity(self) -> str:
        """The UUID of this store."""
        return self._identity

    def damage(self) -> tuple[Finding, ...]:
        """Return the damage that was found so far; see `SupportsDamage.damage`."""
        return self._damage.findings()

    def copy_mark(self) -> CopyMark | None:
        """Return the mark of the store of which this store is a copy; see `SupportsCopyMark`."""
        metadata = self._database.get_collection(METADATA)
        document = self._run_work(lambda: metadata.find_one({"_id": COPY}))
        return None if document is None else CopyMark.of(str(document.get("mark")))

    def mark_copy(self, mark: CopyMark) -> None:
        """Mark this store as a copy of another store; see `SupportsCopyMark`."""
        metadata = self._database.get_collection(METADATA)
        document = {"_id": COPY, "mark": mark.to_text()}
        self._run_work(lambda: metadata.replace_one({"_id": COPY}, document, upsert=True))

    def commit(self, commit: Commit) -> int:
        """Carry out all of `commit`, or nothing; see `Storage.commit`."""
        check_commit(commit)
        if commit.is_empty:
            return self.position()
        plan = self._commit(commit)
        note_change(commit, plan.journal.number)
        return plan.sequence

    def _commit(self, commit: Commit) -> Plan:
        plan = self._run_work(lambda: self._committer.commit(commit), retry=False)
        self._damage.note_commit(commit)
        return plan

    def get(
        self, ids: Collection[str], *, models: Collection[str] | None = None
    ) -> dict[str, Record]:
        """Return the records with these ids; see `Storage.get`."""
        return self._run_work(lambda: self._records.records(ids, models))

    def find(self, criteria: Criteria, *, limit: int, after: str | None = None) -> Page:
        """Return a page of memories, newest first; see `Storage.find`."""
        check_limit(limit)
        bound = None if after is None else decode_cursor(after)
        return self._run_work(lambda: self._queries.page(criteria, bound, limit=limit))

    def history(self, memory_id: str) -> list[Memory]:
        """Return every revision of a memory; see `Storage.history`."""
        return self._run_work(lambda: self._records.history(memory_id))

    def erased(self, ids: Collection[str]) -> frozenset[str]:
        """Return the ids among `ids` that were erased; see `Storage.erased`."""
        return self._run_work(lambda: self._records.erased(ids))

    def find_ids(self, endings: Collection[str]) -> dict[str, str]:
        """Return the ids that end with any of `endings`; see `Storage.find_ids`."""
        return self._run_work(lambda: self._records.find_ids(endings))

    def keys(self, scopes: Collection[str], *, limit: int) -> list[str]:
        """Return the first keys of the current memories in `scopes`; see `SupportsKeys.keys`."""
        check_limit(limit)
        return self._run_work(lambda: self._queries.keys(scopes, limit=limit))

    def changes(self, after: int, *, limit: int, models: Collection[str] | None = None) -> Changes:
        """Return the changes after the cursor `after`; see `Storage.changes`."""
        check_limit(limit)
        return self._run_work(lambda: self._feed.changes(after, limit=limit, models=models))

    def changes_in(
        self, scope: str, after: int, *, limit: int, models: Collection[str] | None = None
    ) -> tuple[Changes, int]:
        """Return the changes in a scope and its size; see `SupportsScopeFeed.changes_in`."""
        check_limit(limit)

        def read() -> tuple[Changes, int]:
            with self._pin(self._damage) as pinned:
                return pinned._feed.changes_in(scope, after, limit=limit, models=models)

        return self._run_work(read)

    def ids_in(self, scope: str) -> tuple[frozenset[str], int]:
        """Return the ids in a scope, and the cursor; see `SupportsScopeFeed.ids_in`."""

        def read() -> tuple[frozenset[str], int]:
            with self._pin(self._damage) as pinned:
                return pinned._feed.ids_in(scope)

        return self._run_work(read)

    @contextmanager
    def _pin(self, damage: DamageLog | None = None) -> Iterator[MongoStorage]:
        """Give a storage with the records of the moment at which it is first read.

        It notes damage in `damage`, or in a log of its own.
        """
        with pin_connections(self._connection) as (pinned,):
            yield MongoStorage(pinned, self._identity, damage=damage)

    def position(self) -> int:
        """Return the cursor after the last change."""
        return self._run_work(self._feed.position)

    def active_model(self) -> str | None:
        """Return the model that answers, None before the first; see `Storage.active_model`."""
        return self._run_work(
            lambda: active_model(self._connection.database, self._connection.place)
        )

    def pending(self, model: str, *, limit: int) -> list[str]:
        """Return ids of memories without an embedding by `model`; see `Storage.pending`."""
        check_limit(limit)
        return self._run_work(lambda: self._queries.pending(model, limit=limit))

    def scopes(self) -> Mapping[str, Scope]:
        """Return every scope by name; `Global` is always among them."""
        return self._run_work(self._scopes.read)

    def access_keys(self, ids: Collection[str] | None = None) -> dict[str, AccessKey]:
        """Return the access keys `ids` by id, None for all; see `Storage.access_keys`."""
        return self._run_work(lambda: find_access_keys(self._database, ids, self._damage))

    def links(self, ids: Collection[str]) -> list[Link]:
        """Return every link from or to the memories with `ids`; see `Storage.links`."""
        return self._run_work(lambda: links_of(self._database, ids, self._damage))

    def journal(
        self, *, before: int | None = None, limit: int, memory_id: str | None = None
    ) -> list[Entry]:
        """Return entries of the journal, newest first; see `Storage.journal`."""
        check_limit(limit)
        return self._run_work(
            lambda: self._journal.entries(before, limit=limit, memory_id=memory_id)
        )

    def journal_end(self) -> JournalEnd:
        """Return the number and the digest of the last entry; see `Storage.journal_end`."""
        return self._run_work(self._journal.end)

    def usage(self, ids: Collection[str]) -> dict[str, Usage]:
        """Return how often the memories with `ids` were used; see `Storage.usage`."""
        return self._run_work(lambda: usage_of(self._database, ids, self._damage))

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Add the counts of `used`; see `Storage.count_usage`."""
        counts = {memory_id: usage for memory_id, usage in used.items() if not usage.is_empty}
        if counts:
            self._run_work(lambda: self._committer.count_usage(counts), retry=False)
            for memory_id in counts:
                self._damage.discard_record(USAGE + memory_id)

    def measure(self) -> Size:
        """Count the stored records."""
        return self._run_work(lambda: measure(self._connection))

    def scrub(self) -> bool:
        """Do nothing: a client cannot remove the traces of deleted documents from a server.

        MongoDB overwrites the space in its files when it reuses the space, its journal after some
        minutes, and the log of a replica set when the log reaches its size limit.
        """
        self._check_usable()
        return True

    def try_lease(self, holder: str) -> MongoLease | None:
        """Return the lease if nobody holds it; see `SupportsLease`."""
        # Not retried: a lost answer would look like a lease of somebody else for some seconds.
        number = self._run_work(lambda: lease.take_lease(self._database, holder), retry=False)
        return None if number is None else MongoLease(number, self._set_lease_expiry)

    def _set_lease_expiry(self, number: int, expires: Any) -> bool:
        return self._run_work(lambda: lease.set_expiry(self._database, number, expires))

    def lease_holder(self) -> str | None:
        """Return who holds the lease; see `SupportsLease`."""
        return self._run_work(lambda: lease.find_holder(self._database))

    def upkeep_notes(self) -> dict[str, str]:
        """Return the notes of the jobs; see `SupportsLease`."""
        return self._run_work(lambda: lease.read_notes(self._database))

    def note_upkeep(self, notes: Mapping[str, str]) -> None:
        """Add notes; see `SupportsLease`."""
        self._run_work(lambda: lease.write_notes(self._database, notes))

    @contextmanager
    def snapshot(self) -> Iterator[Storage]:
        """Give a storage with the records of this moment; see `SupportsSnapshot`."""
        self.position()
        with self._pin() as storage:
            # The first read sets the moment.
            storage.position()
            yield ReadOnlyStorage(storage)

    @contextmanager
    def replacement(self) -> Iterator[Replacement]:
        """Give an empty storage that can take the place of this one; see `SupportsReplacement`."""
        self.position()
        with prepare_beside(
            self._connection, self._identity, lambda beside: MongoStorage(beside, self._identity)
        ) as replacement:
            yield replacement
        self._damage.clear()

    def close(self) -> None:
        """Close the client without waiting for the server, which continues.

        A second call, and a call in a forked child, does nothing.
        """
        if not self._closed and self._process == os.getpid():
            self._closed = True
            close_client(self._connection.client)

    def brief_calls(self) -> AbstractContextManager[None]:
        """Let no call of this thread wait for the server; see `SupportsBriefCalls`."""
        return limit_to_brief_calls()

    def _run_work(self, work: Callable[[], _Result], *, retry: bool = True) -> _Result:
        """Run `work`; if `retry`, repeat it after a lost connection.

        A managed server that is gone is started, and `work` is retried for up to a minute. While a
        replica set elects a primary, `work` is retried for the seconds of the setting. Otherwise,
        `work` is retried once, unless the driver has already waited for the server.
        """
        self._check_usable()
        current_deadline().check()
        began = time.monotonic()
        tries = 0
        while True:
            tries += 1
            try:
                with translate_errors(self._connection.place), limit_if_brief():
                    return work()
            except StorageUnavailable as error:
                self._check_usable(error)
                if isinstance(error, SwapUnfinished) and tries < _MOST_SWAPS:
                    with translate_errors(self._connection.place):
                        self._finish_swap()
                    continue
                cause = error.__cause__
                if isinstance(cause, ConnectionFailure):
                    note_no_answer()
                is_revived = revive_server(self._connection, cause)
                seconds = time.monotonic() - began
                if not (is_revived or self._is_retry_useful(cause, tries, seconds)):
                    raise
                if not retry or is_brief() or seconds > _RETRY_SECONDS:
                    raise

    def _is_retry_useful(self, cause: BaseException | None, tries: int, seconds: float) -> bool:
        if isinstance(cause, OperationFailure) and cause.code == _SNAPSHOT_UNAVAILABLE:
            # A restore has renamed a collection in the middle of the reading.
            return tries <= _MOST_SWAPS
        if not isinstance(cause, ConnectionFailure) or isinstance(cause, NetworkTimeout):
            return False
        client = self._connection.client
        # In an election a member closes its connections when it changes its role, more than once.
        if seconds < self._connection.seconds_without_primary() and has_answering_member(client):
            if tries > 1:
                time.sleep(_ELECTION_PAUSE_SECONDS)
            return True
        # The driver may report a lost connection after it has looked in vain for a server; do not
        # repeat that wait.
        has_waited = seconds >= client.options.server_selection_timeout
        is_lost = not isinstance(cause, ServerSelectionTimeoutError)
        return is_lost and tries == 1 and not has_waited

    def _check_usable(self, error: StorageUnavailable | None = None) -> None:
        place = self._connection.place
        if self._process != os.getpid():
            raise StoreClosed(crossed_fork(f"the store {place}"))
        if self._closed and error is None:
            raise StoreClosed(f"the store {place} was closed: open it again")
        if self._closed:
            raise StoreClosed(
                f"the store {place} was closed during this call: open it again, and check whether "
                "the change was made"
            ) from error
