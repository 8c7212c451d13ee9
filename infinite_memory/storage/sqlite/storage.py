"""`Storage` in a SQLite database that any number of threads and processes share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from infinite_memory.core.clock import current_deadline
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.codec import from_micros
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Entry, JournalEnd
from infinite_memory.core.values.link import Link
from infinite_memory.core.values.memory import Memory, Status
from infinite_memory.core.values.record import Changes, Page, Record, Size, Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.verification import Finding, Verification, Walked
from infinite_memory.storage.awaited import note_change
from infinite_memory.storage.damage import USAGE, DamageLog, name_of
from infinite_memory.storage.paging import check_limit, decode_cursor
from infinite_memory.storage.preconditions import (
    check_commit,
    refuse_changes,
)
from infinite_memory.storage.sqlite.access_keys import read_access_keys
from infinite_memory.storage.sqlite.commit import CommitWriter, encode_commit
from infinite_memory.storage.sqlite.database import Database
from infinite_memory.storage.sqlite.feed import (
    find_erased,
    read_changes,
    read_changes_in,
    read_pending,
)
from infinite_memory.storage.sqlite.files.lease import Leases, SqliteLease
from infinite_memory.storage.sqlite.journal import read_journal
from infinite_memory.storage.sqlite.links import read_links
from infinite_memory.storage.sqlite.metadata import Ledger, read_ledger, update_ledger
from infinite_memory.storage.sqlite.queries import count_tags, find_ids, find_page, list_keys
from infinite_memory.storage.sqlite.readers import Snapshot
from infinite_memory.storage.sqlite.records import read_history, read_records, select_records
from infinite_memory.storage.sqlite.schema import COUNTED
from infinite_memory.storage.sqlite.scopes import ScopeReader
from infinite_memory.storage.sqlite.usage import count_usage, read_usage, read_usage_changes

if TYPE_CHECKING:
    import apsw

    from infinite_memory.core.protocols import Replacement
    from infinite_memory.core.values.archive.copying import CopyMark


# How long the end of a process may wait to store its last usage counts.
_USAGE_SECONDS = 2.0
# The range of a datetime in microseconds: a damaged column may hold any number.
_REAL_TIME = "happened_at BETWEEN -62135596800000000 AND 253402300799999999"


class SqliteStorage:
    """The embedded default. It never returns a damaged record, and leaves it out of every list.

    `damaged` names the damaged records that were found so far; requesting such a memory by its id
    raises `StoreDamaged`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._damage = DamageLog(str(database.path))
        self._scopes = ScopeReader(self._damage)

    @classmethod
    def open(
        cls, folder: Path, *, vfs: str | None = None, checkpoint_pages: int | None = None
    ) -> SqliteStorage:
        """Open the store in `folder`, or create a store in a folder without one.

        `vfs` names a virtual file system that was registered with apsw, to simulate faults. The
        log is copied into the database whenever it has grown to `checkpoint_pages`, 4 MiB if None.

        Raises:
            StoreDamaged: the files in the folder are suspect; nothing was changed.
            SchemaTooNew: a newer version wrote the store; nothing was changed.
            StorageUnavailable: the folder cannot be used.
        """
        return cls(Database(folder, vfs=vfs, checkpoint_pages=checkpoint_pages))

    @property
    def identity(self) -> str:
        """The UUID of this store."""
        return self._database.identity

    @property
    def damaged(self) -> frozenset[str]:
        """The names of the damaged records found so far; a memory is named by its id."""
        return self._damage.records

    def damage(self) -> tuple[Finding, ...]:
        """Return the damage found so far; see `SupportsDamage.damage`."""
        return self._damage.findings()

    def copy_mark(self) -> CopyMark | None:
        """Return the mark that this store is a copy; see `SupportsCopyMark`."""
        from infinite_memory.storage.sqlite.replacement import read_copy_mark

        return read_copy_mark(self._database.places.copy_mark)

    def mark_copy(self, mark: CopyMark) -> None:
        """Mark this store as a copy; see `SupportsCopyMark`."""
        from infinite_memory.storage.sqlite.replacement import write_copy_mark

        with self._database.alone():
            write_copy_mark(self._database.places.copy_mark, mark)

    def commit(self, commit: Commit) -> int:
        """Carry out all of `commit`, or nothing; see `Storage.commit`."""
        check_commit(commit)
        if commit.is_empty:
            return self.position()
        current_deadline().check()
        encoded = encode_commit(commit)
        steps = () if commit.entry is None else commit.entry.memories
        logged = frozenset(step.id for step in steps)
        path = self._database.path

        def work(connection: apsw.Connection, token: bytes) -> Ledger:
            ledger = read_ledger(connection, path)
            writer = CommitWriter(
                connection, ledger, path, self._damage, scopes=self._scopes, logged=logged
            )
            refuse_changes(commit, writer)
            writer.apply(encoded)
            after = evolve(
                ledger,
                token=token,
                sequence=writer.sequence,
                end=writer.journal_end,
                active_model=commit.active_model or ledger.active_model,
            )
            update_ledger(connection, after)
            return after

        after = self._database.transaction(
            work, forgetting=lambda: _only_removes(commit), erasing=bool(commit.erases)
        )
        self._damage.note_commit(commit)
        note_change(commit, after.end.number)
        return after.sequence

    def get(
        self, ids: Collection[str], *, models: Collection[str] | None = None
    ) -> dict[str, Record]:
        """Return the records of `ids`; see `Storage.get`."""
        with self._database.read() as snapshot:
            return read_records(snapshot, ids, self._damage, models)

    def find(self, criteria: Criteria, *, limit: int, after: str | None = None) -> Page:
        """Return a page of memories, newest first; see `Storage.find`."""
        check_limit(limit)
        bound = None if after is None else decode_cursor(after)
        with self._database.read() as snapshot:
            return find_page(snapshot, criteria, bound, limit=limit, damage=self._damage)

    def history(self, memory_id: str) -> list[Memory]:
        """Return every revision of a memory; see `Storage.history`."""
        with self._database.read() as snapshot:
            return read_history(snapshot, memory_id, self._damage)

    def erased(self, ids: Collection[str]) -> frozenset[str]:
        """Return the ids among `ids` that were erased; see `Storage.erased`."""
        with self._database.read() as snapshot:
            return find_erased(snapshot, ids, self._damage)

    def find_ids(self, endings: Collection[str]) -> dict[str, str]:
        """Return the ids that end with any of `endings`; see `Storage.find_ids`."""
        with self._database.read() as snapshot:
            return find_ids(snapshot, endings)

    def keys(self, scopes: Collection[str], *, limit: int) -> list[str]:
        """Return the first keys of the current memories in `scopes`; see `SupportsKeys.keys`."""
        check_limit(limit)
        with self._database.read() as snapshot:
            return list_keys(snapshot, frozenset(scopes), limit=limit)

    def count_tags(self, scopes: Collection[str] | None, at: datetime) -> dict[str, int]:
        """Count the tags; see `SupportsTagCounts.count_tags`."""
        with self._database.read() as snapshot:
            return count_tags(snapshot, scopes, at)

    def rebuild_counts(self) -> None:
        """Count the rows anew; see `SupportsKeptCounts.rebuild_counts`."""

        def work(connection: apsw.Connection, _token: bytes) -> None:
            for table, counted in COUNTED.items():
                connection.execute(f"DELETE FROM {table}; INSERT INTO {table} {counted}")

        self._database.transaction(work)

    def usage_changes(self, after: int, *, limit: int) -> tuple[list[str], int] | None:
        """Return what was used since; see `SupportsUsageChanges.usage_changes`."""
        check_limit(limit)
        with self._database.read() as snapshot:
            return read_usage_changes(snapshot, after, limit=limit)

    def changes(self, after: int, *, limit: int, models: Collection[str] | None = None) -> Changes:
        """Return the changes since the cursor `after`; see `Storage.changes`."""
        check_limit(limit)
        with self._database.read() as snapshot:
            return read_changes(
                snapshot,
                after,
                limit=limit,
                path=self._database.path,
                damage=self._damage,
                models=models,
            )

    def changes_in(
        self, scope: str, after: int, *, limit: int, models: Collection[str] | None = None
    ) -> tuple[Changes, int]:
        """Return the changes in a scope and its size; see `SupportsScopeFeed.changes_in`."""
        check_limit(limit)
        path, damage = self._database.path, self._damage
        with self._database.read() as snapshot:
            return read_changes_in(
                snapshot, scope, after, limit=limit, path=path, damage=damage, models=models
            )

    def ids_in(self, scope: str) -> tuple[frozenset[str], int]:
        """Return the ids in a scope, and the cursor; see `SupportsScopeFeed.ids_in`."""
        with self._database.read() as snapshot:
            rows = snapshot.rows("SELECT CAST(id AS BLOB) FROM memories WHERE scope = ?", (scope,))
            ids = frozenset(name_of(memory_id) for (memory_id,) in rows)
            return ids, read_ledger(snapshot.connection, self._database.path).sequence

    def position(self) -> int:
        """Return the cursor behind the last change."""
        with self._database.read() as snapshot:
            return read_ledger(snapshot.connection, self._database.path).sequence

    def active_model(self) -> str | None:
        """Return the model that answers, None before the first; see `Storage.active_model`."""
        with self._database.read() as snapshot:
            return read_ledger(snapshot.connection, self._database.path).active_model

    def pending(self, model: str, *, limit: int) -> list[str]:
        """Return ids of memories without an embedding by `model`; see `Storage.pending`."""
        check_limit(limit)
        with self._database.read() as snapshot:
            damaged = list(_find_damaged_embeddings(snapshot, model, self._damage))
            waiting = read_pending(snapshot, model, limit=limit, damage=self._damage)
        return list(dict.fromkeys([*damaged, *waiting]))[:limit]

    def scopes(self) -> Mapping[str, Scope]:
        """Return every scope by name; `Global` is always among them."""
        with self._database.read() as snapshot:
            return self._scopes.read(snapshot)

    def access_keys(self, ids: Collection[str] | None = None) -> dict[str, AccessKey]:
        """Return the access keys `ids` by id, None for all; see `Storage.access_keys`."""
        with self._database.read() as snapshot:
            return read_access_keys(snapshot, ids, self._damage)

    def links(self, ids: Collection[str]) -> list[Link]:
        """Return every link from or to a memory in `ids`; see `Storage.links`."""
        with self._database.read() as snapshot:
            return read_links(snapshot, ids, self._damage)

    def journal(
        self, *, before: int | None = None, limit: int, memory_id: str | None = None
    ) -> list[Entry]:
        """Return entries of the journal, newest first; see `Storage.journal`."""
        check_limit(limit)
        with self._database.read() as snapshot:
            return read_journal(
                snapshot, self._database.path, before=before, limit=limit, memory_id=memory_id
            )

    def journal_end(self) -> JournalEnd:
        """Return the number and the digest of the last entry; see `Storage.journal_end`."""
        with self._database.read() as snapshot:
            return read_ledger(snapshot.connection, self._database.path).end

    def usage(self, ids: Collection[str]) -> dict[str, Usage]:
        """Return how often the memories in `ids` were used; see `Storage.usage`."""
        with self._database.read() as snapshot:
            return read_usage(snapshot, ids, self._damage)

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Add the counts in `used`; see `Storage.count_usage`."""

        def work(connection: apsw.Connection, token: bytes) -> None:
            ledger = read_ledger(connection, self._database.path)
            count_usage(connection, added, self._damage)
            update_ledger(connection, evolve(ledger, token=token))

        added = {memory_id: usage for memory_id, usage in used.items() if not usage.is_empty}
        if added:
            self._database.transaction(work, wait_seconds=_USAGE_SECONDS)
            for memory_id in added:
                self._damage.discard_record(USAGE + memory_id)

    def measure(self) -> Size:
        """Return the size of the store; `size_bytes` is the database with its log."""
        with self._database.read() as snapshot:
            oldest, newest = _read_time_bounds(snapshot)
            totals = dict(snapshot.rows("SELECT part, count FROM totals"))
            return Size(
                memories=_count_memories(snapshot),
                revisions=totals["revisions"],
                links=totals["links"],
                entries=read_ledger(snapshot.connection, self._database.path).end.number,
                embedded=_count_embedded(snapshot),
                size_bytes=self._database.places.size_bytes,
                oldest=oldest,
                newest=newest,
            )

    def scrub(self) -> bool:
        """Empty the log into the database, whose erased bytes SQLite overwrites with zeros."""
        return self._database.scrub()

    @cached_property
    def _leases(self) -> Leases:
        return Leases(self._database.places, self._database.alone)

    def try_lease(self, holder: str) -> SqliteLease | None:
        """Return the lease if nobody holds it; see `SupportsLease`."""
        return self._leases.take(holder)

    def lease_holder(self) -> str | None:
        """Return who holds the lease; see `SupportsLease`."""
        return self._leases.holder()

    def upkeep_notes(self) -> dict[str, str]:
        """Return the notes of the jobs; see `SupportsLease`."""
        return self._leases.notes()

    def note_upkeep(self, notes: Mapping[str, str]) -> None:
        """Add notes; see `SupportsLease`."""
        self._leases.add_notes(notes)

    def verify(self, walked: Walked | None = None) -> Verification:
        """Check everything that is stored; see `SupportsVerify.verify`."""
        from infinite_memory.storage.sqlite.verify import verify_store

        return verify_store(self._database, self._damage, walked)

    @contextmanager
    def snapshot(self) -> Iterator[Storage]:
        """Give a storage with the records of this moment; see `SupportsSnapshot`."""
        from infinite_memory.storage.read_only import ReadOnlyStorage
        from infinite_memory.storage.sqlite.snapshot import pin_database

        with pin_database(self._database) as pinned:
            yield ReadOnlyStorage(SqliteStorage(pinned))

    @contextmanager
    def replacement(self) -> Iterator[Replacement]:
        """Give an empty storage that can take the place of this one; see `SupportsReplacement`."""
        from infinite_memory.storage.sqlite.replacement import (
            SqliteReplacement,
            prepare_beside,
        )

        with prepare_beside(self._database) as beside:
            with closing(SqliteStorage.open(beside.folder)) as storage:
                yield SqliteReplacement(self._database, storage, beside)
            self._damage.clear()

    def close(self) -> None:
        """Close every connection. Closing twice does nothing."""
        self._database.close()


def _only_removes(commit: Commit) -> bool:
    """Return whether a commit only removes, which a full disk must not prevent.

    Expectations need no space, and the journal entry of the commit needs little.
    """
    adds = commit.attaches or commit.links or commit.scopes or commit.access_keys
    hides = all(put.memory.status is Status.FORGOTTEN for put in commit.puts)
    return bool(commit.changes) and hides and not adds


def _find_damaged_embeddings(snapshot: Snapshot, model: str, damage: DamageLog) -> Iterator[str]:
    """Yield the ids of sound memories whose embedding by `model` is damaged."""
    for memory_id in damage.embeddings(model):
        rows = select_records(snapshot, damage, "WHERE m.id = ?", memory_id, models=(model,))
        for _, record in rows:
            if record is None or record.memory.status is Status.FORGOTTEN:
                continue
            if record.embedding_by(model) is None:
                yield memory_id


def _count_memories(snapshot: Snapshot) -> dict[tuple[str, str, str], int]:
    rows = snapshot.rows(
        "SELECT CAST(scope AS BLOB), CAST(kind AS BLOB), CAST(status AS BLOB), sum(count) "
        "FROM tallies GROUP BY scope, kind, status"
    )
    return {
        (
            name_of(scope),
            name_of(kind),
            name_of(status),
        ): n
        for scope, kind, status, n in rows
    }


def _count_embedded(snapshot: Snapshot) -> dict[str, int]:
    rows = snapshot.rows(
        "SELECT CAST(embedded_by AS BLOB), sum(count) FROM tallies "
        "WHERE embedded_by <> '' AND status <> 'forgotten' GROUP BY embedded_by"
    )
    counts: Counter[str] = Counter()
    for models, count in rows:
        counts.update(dict.fromkeys(name_of(models).split("\n"), count))
    return dict(counts)


def _read_time_bounds(snapshot: Snapshot) -> tuple[datetime | None, datetime | None]:
    bounds = (
        next(snapshot.rows(f"SELECT min(happened_at) FROM memories WHERE {_REAL_TIME}"))[0],
        next(snapshot.rows(f"SELECT max(happened_at) FROM memories WHERE {_REAL_TIME}"))[0],
    )
    oldest, newest = (None if bound is None else from_micros(bound) for bound in bounds)
    return oldest, newest
