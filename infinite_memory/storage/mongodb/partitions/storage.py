"""`Storage` over the partitions of a store, each of which is a `MongoStorage` of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import TypeVar

from infinite_memory.core.clock import current_deadline
from infinite_memory.core.errors import InfiniteMemoryError, StorageUnavailable
from infinite_memory.core.protocols import Lease, Replacement, Storage
from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.archive.copying import CopyMark
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.core.values.entry import Entry, JournalEnd
from infinite_memory.core.values.link import Link, LinkKey
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Changes, Page, Record, Size, Usage
from infinite_memory.core.values.scope import Scope
from infinite_memory.core.values.verification import Finding
from infinite_memory.storage.awaited import note_change
from infinite_memory.storage.mongodb.commit_plan import Plan
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.links import links_of
from infinite_memory.storage.mongodb.partitions.commit import (
    CommonCommitter,
    StrayGuard,
    TakesAllPartitions,
)
from infinite_memory.storage.mongodb.partitions.journal import OrderedJournal
from infinite_memory.storage.mongodb.partitions.order import (
    Ends,
    Order,
    OrderWriter,
    min_ends,
    read_order,
    read_partition_ends,
    refuse_earlier_ends,
)
from infinite_memory.storage.mongodb.partitions.placement import (
    find_only_partition,
    partition_of,
    partition_of_scope,
)
from infinite_memory.storage.mongodb.partitions.replacement import prepare_partitions_beside
from infinite_memory.storage.mongodb.partitions.view import (
    View,
    find_partitions_of,
    read_changes,
    read_changes_in,
)
from infinite_memory.storage.mongodb.schema import FAR_LINKS
from infinite_memory.storage.mongodb.storage import MongoStorage
from infinite_memory.storage.mongodb.transactions import in_transaction
from infinite_memory.storage.mongodb.views.replacement import finish_swap
from infinite_memory.storage.mongodb.views.snapshot import pin_connections
from infinite_memory.storage.paging import check_limit, encode_cursor, position_of
from infinite_memory.storage.preconditions import check_commit
from infinite_memory.storage.read_only import ReadOnlyStorage

_Result = TypeVar("_Result")

# As many new entries of a partition are put in order in one transaction.
_MOST_ENTRIES = 200
# How often a snapshot is taken anew, so that no commit is between it and the order. From the
# second try on, the commits of single partitions wait until it is taken.
_TRIES = 20
# Partitions are asked one after another: a commit that is to wait does so longer for each.
_HELD_SECONDS_EACH = 0.1


class PartitionedStorage:
    """The storage in several databases of a MongoDB deployment, see `placement`."""

    def __init__(
        self, connections: Sequence[Connection], identity: str, *, view: View | None = None
    ) -> None:
        """Work on the databases of `connections`, which have one client. Use `open_mongodb`.

        With a `view` the storage shows the moment of it, and must not be written to.
        """
        self._identity = identity
        self._view = view
        self._connections = list(connections)
        self._partitions = self._open_partitions() if view is None else view.partitions
        self._first = self._partitions[0]
        committers = [partition._committer for partition in self._partitions]
        self._committer = CommonCommitter(self._connections, committers)

    def _open_partitions(self) -> list[MongoStorage]:
        partitions = []
        for connection in self._connections:
            guard = StrayGuard(connection)
            partition = MongoStorage(connection, self._identity, guard=guard)
            partition._finish_swap = self._finish_swaps
            partition._committer.held_seconds += _HELD_SECONDS_EACH * len(self._connections)
            partitions.append(partition)
        return partitions

    def _finish_swaps(self) -> None:
        for connection in self._connections:
            finish_swap(connection)

    @property
    def identity(self) -> str:
        """The UUID of this store."""
        return self._identity

    def keeps_together(self, memory_id: str, scope: str) -> bool:
        """Return whether an id lies in the partition of a scope; see `SupportsPartitions`."""
        count = len(self._partitions)
        return partition_of(memory_id, count) == partition_of_scope(scope, count)

    def commit(self, commit: Commit) -> int:
        """Carry out all of `commit`, or nothing; see `Storage.commit`."""
        check_commit(commit)
        if commit.is_empty:
            return self.position()
        only = find_only_partition(commit, len(self._partitions))
        if only is not None:
            try:
                plan = self._partitions[only]._commit(commit)
            except TakesAllPartitions:
                pass
            else:
                self._note_alone(commit, only, plan)
                return 0
        # What is not in order yet is put in order beforehand, and not in the transaction.
        self.position()
        position, entry = self._first._run_work(lambda: self._committer.commit(commit), retry=False)
        note_change(commit, entry)
        for partition in self._partitions:
            partition._damage.note_commit(commit)
        return position

    def _note_alone(self, commit: Commit, partition: int, plan: Plan) -> None:
        """Note a commit of one partition by the number of its entry in the whole journal.

        It is durable whether or not that number can be read: then the number 0 stands for it.
        """
        if not current_deadline().is_awaited or commit.entry is None:
            return
        note_change(commit, 0)
        with suppress(InfiniteMemoryError):
            journal = OrderedJournal(self._partitions, self._read_order())
            number = self._first._run_work(
                lambda: journal.number_of(partition, plan.journal.number)
            )
            del current_deadline().changes[0]
            note_change(commit, number)

    # The order of all partitions.

    @contextmanager
    def _read_view(self) -> Iterator[View]:
        """Give the partitions as of one moment after this call began."""
        if self._view is not None:
            yield self._view
            return
        # Read one by one first: every answer tells the driver the time of its shard, and the moment
        # that is then read is not before any of these.
        awaited = read_partition_ends(self._connections)
        while True:
            with pin_connections(*self._connections) as pinned:
                view = self._see_partitions(pinned)
                if view.order.reaches(awaited):
                    yield view
                    return
            awaited = tuple(map(min_ends, awaited, self._order_up_to(awaited).ends))

    def _see_partitions(self, pinned: Sequence[Connection]) -> View:
        order, ends = read_order(pinned[0]), read_partition_ends(pinned)
        refuse_earlier_ends(order, ends, self._connections[0].place)
        logs = [partition._damage for partition in self._partitions]
        return View(pinned, self._identity, order, ends, logs)

    def _order_up_to(self, awaited: tuple[Ends, ...]) -> Order:
        """Give numbers to what is in no order yet; return the order, which reaches `awaited`."""
        first = self._connections[0]
        while True:
            with pin_connections(*self._connections) as pinned:
                view = self._see_partitions(pinned)
                if view.order.reaches(awaited):
                    return view.order
                writer = OrderWriter(first, view.order)
                writer.catch_up(pinned, view.ends, most=_MOST_ENTRIES)
            # In the first partition alone; if another process was earlier, its order counts.
            has_moved = writer.order != view.order
            if has_moved and in_transaction(first, writer.write) and writer.order.reaches(awaited):
                return writer.order
            # A restore may have put other ends in their place.
            present = read_partition_ends(self._connections)
            awaited = tuple(map(min_ends, awaited, present))

    def _read(self, read: Callable[[View], _Result]) -> _Result:
        """Return what `read` finds as of one moment, with the retries of the first partition."""

        def work() -> _Result:
            with self._read_view() as view:
                return read(view)

        return self._first._run_work(work)

    def position(self) -> int:
        """Return the cursor after the last change; see `Storage.position`."""
        return self._read_order().changes

    def _read_order(self) -> Order:
        """Return the order, which reaches everything that was committed before this call."""
        return self._first._run_work(self._find_order) if self._view is None else self._view.order

    def _find_order(self) -> Order:
        ends = read_partition_ends(self._connections)
        order = read_order(self._connections[0])
        # An order that is ahead may be that of a commit of which a partition shows nothing yet.
        return order if order.ends == ends else self._order_up_to(ends)

    def changes(self, after: int, *, limit: int, models: Collection[str] | None = None) -> Changes:
        """Return the changes after the cursor `after`; see `Storage.changes`."""
        check_limit(limit)
        return self._read(lambda view: read_changes(view, after, limit=limit, models=models))

    def changes_in(
        self, scope: str, after: int, *, limit: int, models: Collection[str] | None = None
    ) -> tuple[Changes, int]:
        """Return the changes in a scope and its size; see `SupportsScopeFeed.changes_in`."""
        check_limit(limit)
        return self._read(
            lambda view: read_changes_in(view, scope, after, limit=limit, models=models)
        )

    def ids_in(self, scope: str) -> tuple[frozenset[str], int]:
        """Return the ids in a scope, and the cursor; see `SupportsScopeFeed.ids_in`."""

        def read(view: View) -> tuple[frozenset[str], int]:
            numbers = view.find_partitions_of([scope])
            ids = [view.partitions[number]._feed.ids_in(scope)[0] for number in numbers]
            return frozenset[str]().union(*ids), view.order.changes

        return self._read(read)

    def journal(
        self, *, before: int | None = None, limit: int, memory_id: str | None = None
    ) -> list[Entry]:
        """Return entries of the journal, newest first; see `Storage.journal`."""
        check_limit(limit)
        return self._read(
            lambda view: OrderedJournal(view.partitions, view.order).entries(
                before, limit=limit, memory_id=memory_id
            )
        )

    def journal_end(self) -> JournalEnd:
        """Return the number and the digest of the last entry; see `Storage.journal_end`."""
        return self._read_order().journal

    def pending(self, model: str, *, limit: int) -> list[str]:
        """Return ids of memories without an embedding by `model`; see `Storage.pending`."""
        check_limit(limit)

        def read(view: View) -> list[str]:
            damaged: list[str] = []
            waiting: list[tuple[int, str]] = []
            for number, partition in enumerate(view.partitions):
                damaged += partition._damage.embeddings(model)
                found = partition._queries.find_waiting(model, limit=limit)
                positions = view.positions_of(number, [change for change, _ in found])
                waiting += zip(positions, [memory_id for _, memory_id in found], strict=True)
            ids = [memory_id for _, memory_id in sorted(waiting)]
            return list(dict.fromkeys([*sorted(damaged), *ids]))[:limit]

        return self._read(read)

    # Memories and what belongs to them: in the partition of their ids.

    def _by_partition(self, ids: Iterable[str]) -> Iterator[tuple[MongoStorage, list[str]]]:
        """Yield each partition that keeps any of the memories `ids`, with the ids of those."""
        wanted: dict[int, list[str]] = {}
        for memory_id in dict.fromkeys(ids):
            wanted.setdefault(partition_of(memory_id, len(self._partitions)), []).append(memory_id)
        for number, own in wanted.items():
            yield self._partitions[number], own

    def _with_scopes(self, scopes: Collection[str] | None) -> list[MongoStorage]:
        """Return the partitions in which memories of `scopes` lie, None for all scopes."""
        if scopes is None:
            return self._partitions
        connections = [partition._connection for partition in self._partitions]
        numbers = self._first._run_work(lambda: find_partitions_of(connections, scopes))
        return [self._partitions[number] for number in numbers]

    def get(
        self, ids: Collection[str], *, models: Collection[str] | None = None
    ) -> dict[str, Record]:
        """Return the records with these ids; see `Storage.get`."""
        found: dict[str, Record] = {}
        for partition, own in self._by_partition(ids):
            found |= partition.get(own, models=models)
        return {memory_id: found[memory_id] for memory_id in ids if memory_id in found}

    def find(self, criteria: Criteria, *, limit: int, after: str | None = None) -> Page:
        """Return a page of memories, newest first; see `Storage.find`."""
        check_limit(limit)
        pages = [
            partition.find(criteria, limit=limit, after=after)
            for partition in self._with_scopes(criteria.scopes)
        ]
        memories = list(
            islice(merge(*[page.memories for page in pages], key=position_of, reverse=True), limit)
        )
        is_more = sum(map(len, pages)) > limit or any(page.next is not None for page in pages)
        return Page(memories=tuple(memories), next=encode_cursor(memories[-1]) if is_more else None)

    def history(self, memory_id: str) -> list[Memory]:
        """Return every revision of a memory; see `Storage.history`."""
        [(partition, _)] = self._by_partition([memory_id])
        return partition.history(memory_id)

    def erased(self, ids: Collection[str]) -> frozenset[str]:
        """Return the ids among `ids` that were erased; see `Storage.erased`."""
        found = [partition.erased(own) for partition, own in self._by_partition(ids)]
        return frozenset().union(*found)

    def find_ids(self, endings: Collection[str]) -> dict[str, str]:
        """Return the ids that end with any of `endings`; see `Storage.find_ids`."""
        found: dict[str, str] = {}
        for partition, own in self._by_partition(endings):
            found |= partition.find_ids(own)
        return found

    def keys(self, scopes: Collection[str], *, limit: int) -> list[str]:
        """Return the first keys of the current memories in `scopes`; see `SupportsKeys.keys`."""
        check_limit(limit)
        found = [each.keys(scopes, limit=limit) for each in self._with_scopes(scopes)]
        return sorted(set().union(*found))[:limit]

    def links(self, ids: Collection[str]) -> list[Link]:
        """Return every link from or to the memories with `ids`; see `Storage.links`."""
        found: dict[LinkKey, Link] = {}
        for partition, own in self._by_partition(ids):
            read = partial(links_of, partition._database, own, partition._damage, FAR_LINKS)
            for link in (*partition.links(own), *partition._run_work(read)):
                found[link.key] = link
        return [found[key] for key in sorted(found)]

    def usage(self, ids: Collection[str]) -> dict[str, Usage]:
        """Return how often the memories with `ids` were used; see `Storage.usage`."""
        found: dict[str, Usage] = {}
        for partition, own in self._by_partition(ids):
            found |= partition.usage(own)
        return {memory_id: found[memory_id] for memory_id in ids if memory_id in found}

    def count_usage(self, used: Mapping[str, Usage]) -> None:
        """Add the counts of `used`, partition by partition; see `Storage.count_usage`."""
        for partition, own in self._by_partition(used):
            partition.count_usage({memory_id: used[memory_id] for memory_id in own})

    # The store as a whole: in the first partition, or in all of them.

    def active_model(self) -> str | None:
        """Return the model that answers, None before the first; see `Storage.active_model`."""
        return self._first.active_model()

    def scopes(self) -> Mapping[str, Scope]:
        """Return every scope by name; `Global` is always among them."""
        return self._first.scopes()

    def access_keys(self, ids: Collection[str] | None = None) -> dict[str, AccessKey]:
        """Return the access keys `ids` by id, None for all; see `Storage.access_keys`."""
        return self._first.access_keys(ids)

    def measure(self) -> Size:
        """Count the stored records."""
        return _add_sizes([partition.measure() for partition in self._partitions])

    def scrub(self) -> bool:
        """Do nothing; see `MongoStorage.scrub`."""
        return self._first.scrub()

    def damage(self) -> tuple[Finding, ...]:
        """Return the damage that was found so far; see `SupportsDamage.damage`."""
        found = [finding for each in self._partitions for finding in each.damage()]
        return tuple(sorted(dict.fromkeys(found), key=attrgetter("part", "id")))

    def copy_mark(self) -> CopyMark | None:
        """Return the mark of the store of which this store is a copy; see `SupportsCopyMark`."""
        return self._first.copy_mark()

    def mark_copy(self, mark: CopyMark) -> None:
        """Mark this store as a copy of another store; see `SupportsCopyMark`."""
        self._first.mark_copy(mark)

    def try_lease(self, holder: str) -> Lease | None:
        """Return the lease if nobody holds it; see `SupportsLease`."""
        return self._first.try_lease(holder)

    def lease_holder(self) -> str | None:
        """Return who holds the lease; see `SupportsLease`."""
        return self._first.lease_holder()

    def upkeep_notes(self) -> dict[str, str]:
        """Return the notes of the jobs; see `SupportsLease`."""
        return self._first.upkeep_notes()

    def note_upkeep(self, notes: Mapping[str, str]) -> None:
        """Add notes; see `SupportsLease`."""
        self._first.note_upkeep(notes)

    @contextmanager
    def snapshot(self) -> Iterator[Storage]:
        """Give a storage with the records of this moment; see `SupportsSnapshot`."""
        for tried in range(_TRIES):
            with ExitStack() as opened:
                open_view = partial(self._open_view, opened, is_alone=tried > 0)
                view = self._first._run_work(open_view)
                # A memory whose entry is not in order yet would lack it.
                if view.order.ends == view.ends:
                    storage = PartitionedStorage(
                        self._connections, self._identity, view=view.with_own_logs()
                    )
                    yield ReadOnlyStorage(storage)
                    return
        raise StorageUnavailable(
            f"others write to {self._first._connection.place} without a pause, and no moment could "
            "be read as a whole; nothing was changed: repeat the call"
        )

    def _open_view(self, opened: ExitStack, *, is_alone: bool) -> View:
        with self._committer.hold_others() if is_alone else nullcontext():
            return opened.enter_context(self._read_view())

    @contextmanager
    def replacement(self) -> Iterator[Replacement]:
        """Give an empty storage that can take the place of this one; see `SupportsReplacement`."""
        with prepare_partitions_beside(
            self._connections,
            self._identity,
            self._read_order(),
            lambda beside: PartitionedStorage(beside, self._identity),
        ) as replacement:
            yield replacement
        for partition in self._partitions:
            partition._damage.clear()

    def close(self) -> None:
        """Close the client; see `MongoStorage.close`."""
        for partition in self._partitions:
            partition.close()

    def brief_calls(self) -> AbstractContextManager[None]:
        """Let no call of this thread wait for the server; see `SupportsBriefCalls`."""
        return self._first.brief_calls()


def _add_sizes(sizes: Sequence[Size]) -> Size:
    memories: Counter[tuple[str, str, str]] = Counter()
    embedded: Counter[str] = Counter()
    for size in sizes:
        memories.update(size.memories)
        embedded.update(size.embedded)
    return Size(
        memories=dict(memories),
        revisions=sum(size.revisions for size in sizes),
        links=sum(size.links for size in sizes),
        entries=sum(size.entries for size in sizes),
        embedded=dict(embedded),
        size_bytes=sum(size.size_bytes for size in sizes),
        oldest=min((size.oldest for size in sizes if size.oldest is not None), default=None),
        newest=max((size.newest for size in sizes if size.newest is not None), default=None),
    )
