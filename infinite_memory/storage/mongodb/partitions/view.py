"""The partitions as of one moment, and their feeds in one order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cached_property
from operator import itemgetter

from infinite_memory.core.values.record import Change, Changes
from infinite_memory.storage.damage import DamageLog
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.partitions.order import Ends, FeedOrder, Order, Run, place_in
from infinite_memory.storage.mongodb.partitions.placement import partition_of_scope
from infinite_memory.storage.mongodb.schema import STRAYS
from infinite_memory.storage.mongodb.storage import MongoStorage

_MOST_RUNS = 1000


class View:
    """The partitions as of one moment.

    `order` goes as far as everything that was committed before the view was asked for. What came
    between, and is in no order yet, is there as well: `ends` tells where each partition ends.
    """

    def __init__(
        self,
        pinned: Sequence[Connection],
        identity: str,
        order: Order,
        ends: tuple[Ends, ...],
        logs: Sequence[DamageLog],
    ) -> None:
        """See the partitions by `pinned` connections, and note the damage of each in its log."""
        self.order = order
        self.ends = ends
        self.feed = FeedOrder(pinned[0])
        self._pinned = pinned
        self._identity = identity
        self._logs = logs

    def with_own_logs(self) -> View:
        """Return the view with logs of its own, for damage as of its moment."""
        logs = [DamageLog(connection.place) for connection in self._pinned]
        return View(self._pinned, self._identity, self.order, self.ends, logs)

    @cached_property
    def partitions(self) -> list[MongoStorage]:
        """The partitions."""
        return [
            MongoStorage(connection, self._identity, damage=log)
            for connection, log in zip(self._pinned, self._logs, strict=True)
        ]

    def find_partitions_of(self, scopes: Collection[str]) -> list[int]:
        """Return the numbers of the partitions in which memories of `scopes` lie."""
        return find_partitions_of(self._pinned, scopes)

    def positions_of(self, partition: int, numbers: Sequence[int]) -> list[int]:
        """Return the positions of changes, by their numbers in order; the newest have no order."""
        known = self.order.ends[partition].change
        placed = self.feed.positions_of(partition, [n for n in numbers if n <= known])
        return placed + [self.order.changes + number - known for number in numbers[len(placed) :]]

    def number_at(self, partition: int, position: int) -> int:
        """Return the number of the last change of a partition up to a position."""
        if position >= self.order.changes:
            return self.order.ends[partition].change
        return self.feed.number_at(partition, position)


def find_partitions_of(connections: Sequence[Connection], scopes: Collection[str]) -> list[int]:
    """Return the numbers of the partitions in which memories of `scopes` lie.

    These are all of them, without a look, where there are more scopes than partitions.
    """
    count = len(connections)
    if len(scopes) > count:
        return list(range(count))
    by_partition: defaultdict[int, list[str]] = defaultdict(list)
    for scope in scopes:
        by_partition[partition_of_scope(scope, count)].append(scope)
    found = {*by_partition}
    for number, own in by_partition.items():
        strays = connections[number].database.get_collection(STRAYS)
        found.update(strays.distinct("partition", {"scope": {"$in": own}}))
    return sorted(found)


def read_changes(view: View, after: int, *, limit: int, models: Collection[str] | None) -> Changes:
    """Return the changes after a position, in the order of all partitions."""
    found: list[tuple[int, Change | None]] = []
    position, end = after, view.order.changes
    while position < end and len(found) < limit:
        runs = view.feed.runs_after(position, view.order, limit=_MOST_RUNS)
        found += _read_runs(view, runs, position, limit=limit - len(found), models=models)
        is_more = len(runs) == _MOST_RUNS
        position = runs[-1].position + runs[-1].count - 1 if is_more else end
    items = [change for _, change in found if change is not None]
    if len(found) >= limit and found[-1][0] < end:
        return Changes(items=tuple(items), cursor=found[-1][0])
    if after < end:
        # A memory that has changed since has left its place in the order: whoever reads up to the
        # end must have seen it.
        all_ends = zip(view.partitions, view.order.ends, view.ends, strict=True)
        for partition, known, last in all_ends:
            if newer := last.change - known.change:
                feed = partition._feed
                since = feed.read_between(known.change, last.change, limit=newer, models=models)
                items += [change for _, change in since if change is not None]
    return Changes(items=tuple(items), cursor=end)


def _read_runs(
    view: View,
    runs: Sequence[Run],
    after: int,
    *,
    limit: int,
    models: Collection[str] | None,
) -> list[tuple[int, Change | None]]:
    """Return the first changes of `runs` after a position, each with its position."""
    by_partition: defaultdict[int, list[Run]] = defaultdict(list)
    for run in runs:
        by_partition[run.partition].append(run)
    found: list[tuple[int, Change | None]] = []
    for number, own in by_partition.items():
        before = own[0].first + max(0, after + 1 - own[0].position) - 1
        until = own[-1].first + own[-1].count - 1
        feed = view.partitions[number]._feed
        for change_number, change in feed.read_between(before, until, limit=limit, models=models):
            found.append((place_in(own, change_number), change))
    return sorted(found, key=itemgetter(0))[:limit]


def read_changes_in(
    view: View, scope: str, after: int, *, limit: int, models: Collection[str] | None
) -> tuple[Changes, int]:
    """Return the changes in a scope after a position, and the number of its memories."""
    found: list[tuple[int, Change | None]] = []
    end, held = view.order.changes, 0
    for number in view.find_partitions_of([scope]):
        since, last = view.number_at(number, after), view.ends[number].change
        feed = view.partitions[number]._feed
        changes, own = feed.read_in(scope, since, last, limit=limit, models=models)
        if len(changes) == limit and changes[-1][0] > view.order.ends[number].change:
            # What is in no order yet is not cut off: the next reader begins after it.
            changes, own = feed.read_in(scope, since, last, limit=0, models=models)
        held += own
        positions = view.positions_of(number, [change_number for change_number, _ in changes])
        found += zip(positions, [change for _, change in changes], strict=True)
    found.sort(key=itemgetter(0))
    if len(found) >= limit and found[limit - 1][0] < end:
        found, end = found[:limit], found[limit - 1][0]
    items = tuple(change for _, change in found if change is not None)
    return Changes(items=items, cursor=end), held
