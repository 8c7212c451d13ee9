"""Commits to several partitions: each takes its turn in all of them, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, contextmanager
from itertools import count

from attrs import evolve, frozen
from pymongo.client_session import ClientSession

from infinite_memory.core.values.access.key import AccessKey
from infinite_memory.core.values.commit import Commit, ExpectContent, ExpectKey
from infinite_memory.core.values.entry import JournalEnd
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.hash_chain import action_text
from infinite_memory.storage.mongodb.commit import Committer
from infinite_memory.storage.mongodb.commit_plan import Before, Plan, linked_ids, plan_commit
from infinite_memory.storage.mongodb.connection import Connection
from infinite_memory.storage.mongodb.links import encode_link, link_condition, link_id
from infinite_memory.storage.mongodb.metadata import end_in, sequence_in, take_turn
from infinite_memory.storage.mongodb.partitions.order import Ends, OrderWriter, read_order
from infinite_memory.storage.mongodb.partitions.placement import (
    id_of,
    list_changes,
    partition_of,
    partition_of_scope,
    split_commit,
)
from infinite_memory.storage.mongodb.queries import has_content, holds_key
from infinite_memory.storage.mongodb.schema import FAR_LINKS, LINKS, MEMORIES, STRAYS
from infinite_memory.storage.mongodb.transactions import in_transaction
from infinite_memory.storage.preconditions import Present, refuse_changes


class TakesAllPartitions(Exception):
    """A commit of one partition concerns others as well."""


@frozen
class StrayGuard:
    """Refuses a commit of one partition that concerns others: see `commit.Guard`."""

    connection: Connection

    def __call__(self, commit: Commit, before: Before, session: ClientSession) -> None:
        """Refuse a commit that moves a memory, or whose expectation a stray may concern.

        Raises:
            TakesAllPartitions: the commit is to be made in all partitions.
        """
        for put in commit.puts:
            known = before.documents.get(put.memory.id)
            if known is not None and known.get("scope") != put.memory.scope:
                raise TakesAllPartitions
        expect = commit.expect
        concerned = [*map(holds_key, expect.keys), *map(has_content, expect.contents)]
        strays = self.connection.database.get_collection(STRAYS)
        # Whether the stray itself is undamaged and as noted, only its partition can tell.
        if concerned and strays.find_one({"$or": concerned}, session=session):
            raise TakesAllPartitions


@frozen
class _AllPresent:
    """The content of all partitions before a commit; each has read what the commit concerns."""

    journal_end: JournalEnd
    _present: Sequence[Present]

    def lease_number(self) -> int:
        return self._present[0].lease_number()

    def revision(self, memory_id: str) -> int:
        return self._present[partition_of(memory_id, len(self._present))].revision(memory_id)

    def scopes(self) -> Mapping[str, Scope]:
        return self._present[0].scopes()

    def access_keys(self) -> Mapping[str, AccessKey]:
        return self._present[0].access_keys()

    def holds(self, scope: str, besides: Collection[str]) -> bool:
        return any(each.holds(scope, besides) for each in self._present)

    def holders(self, expected: ExpectKey) -> Collection[str]:
        return [found for each in self._present for found in each.holders(expected)]

    def with_content(self, expected: ExpectContent) -> Collection[str]:
        return [found for each in self._present for found in each.with_content(expected)]


@frozen
class CommonCommitter:
    """Commits to all partitions at once, given by their connections and committers."""

    connections: Sequence[Connection]
    committers: Sequence[Committer]

    def commit(self, commit: Commit) -> tuple[int, int]:
        """Carry out all of `commit`, or nothing; return where feed and journal end after it."""
        with ExitStack() as held:
            for committer in self.committers:
                held.enter_context(committer.hold_commit_lock())
            tries = count()

            def carry_out(session: ClientSession) -> tuple[int, int]:
                if next(tries):
                    # Others were quicker to take a turn, and always would be.
                    for committer in self.committers:
                        committer.hold()
                return self._carry_out(commit, session)

            return in_transaction(self.connections[0], carry_out)

    @contextmanager
    def hold_others(self) -> Iterator[None]:
        """Let the commits of single partitions wait, for a moment at most."""
        with ExitStack() as held:
            for committer in self.committers:
                held.callback(committer.release, committer.hold())
            yield

    def _carry_out(self, commit: Commit, session: ClientSession) -> tuple[int, int]:
        parts = split_commit(commit, len(self.connections))
        stores = [take_turn(each.database, each.place, session) for each in self.connections]
        first = self.connections[0]
        order = OrderWriter(first, read_order(first, session))
        ends = [
            Ends(sequence_in(store, each.place), end_in(store, each.place).number)
            for store, each in zip(stores, self.connections, strict=True)
        ]
        order.catch_up(self.connections, ends, session)
        read = [
            committer.read_before(part, session, store)
            for committer, part, store in zip(self.committers, parts, stores, strict=True)
        ]
        refuse_changes(commit, _AllPresent(order.order.journal, [present for _, present in read]))
        ends_of_links = self._find_ends(commit, session)
        plans: list[Plan] = []
        for committer, part, (before, _) in zip(self.committers, parts, read, strict=True):
            plan = plan_commit(part, evolve(before, ends=ends_of_links), refuse=committer.refuse)
            plans.append(plan)
        self._plan_links(commit, plans, ends_of_links)
        _plan_strays(commit, [before for before, _ in read], plans)
        for committer, plan in zip(self.committers, plans, strict=True):
            committer.write(plan, session)
        _order_changes(order, commit, plans)
        for action in (*commit.past_entries, *filter(None, [commit.entry])):
            order.add_entry(0, action_text(action))
        # Whoever has written the order since makes this a write conflict.
        order.write(session)
        return order.order.changes, order.order.journal.number

    def _plan_links(self, commit: Commit, plans: Sequence[Plan], existing: Set[str]) -> None:
        """Plan what the partition of a target keeps of a link from elsewhere."""
        for erase in commit.erases:
            for plan in plans:
                for name in (LINKS, FAR_LINKS):
                    plan.writes.delete(name, link_condition(erase.id))
        count = len(plans)
        for key in commit.erased_links:
            plans[partition_of(key.target, count)].writes.delete_id(FAR_LINKS, link_id(key))
        for link in commit.links:
            target = partition_of(link.target, count)
            is_far = target != partition_of(link.source, count)
            if is_far and {link.source, link.target} <= existing:
                plans[target].writes.put(FAR_LINKS, encode_link(link))

    def _find_ends(self, commit: Commit, session: ClientSession) -> frozenset[str]:
        """Return the ends of the links of a commit that exist after it."""
        ids = linked_ids(commit)
        written = {put.memory.id for put in commit.puts}
        found: set[str] = set()
        for number, connection in enumerate(self.connections):
            here = [i for i in ids if partition_of(i, len(self.connections)) == number]
            memories = connection.database.get_collection(MEMORIES)
            for start in range(0, len(here), 1000):
                where = {"_id": {"$in": here[start : start + 1000]}}
                found |= {d["_id"] for d in memories.find(where, {"_id": 1}, session=session)}
        return frozenset((found - {erase.id for erase in commit.erases}) | written)


def _plan_strays(commit: Commit, before: Sequence[Before], plans: Sequence[Plan]) -> None:
    """Plan what the partition of a scope keeps of the memories that lie elsewhere."""
    erased = {erase.id for erase in commit.erases}
    puts = {put.memory.id: put for put in commit.puts}
    known = [i for each in before for i in each.documents if i in erased or i in puts]
    if known:
        for plan in plans:
            plan.writes.delete(STRAYS, {"_id": {"$in": known}})
    for memory_id, put in puts.items():
        place = partition_of(memory_id, len(plans))
        home = partition_of_scope(put.memory.scope, len(plans))
        if place != home:
            stray = {
                "_id": memory_id,
                "scope": put.memory.scope,
                "key": put.memory.key,
                "content_hash": put.content_hash,
                "status": put.memory.status.value,
                "partition": place,
            }
            plans[home].writes.put(STRAYS, stray)


def _order_changes(order: OrderWriter, commit: Commit, plans: Sequence[Plan]) -> None:
    """Order the changes of a commit as they take effect, whatever their partitions are."""
    moves = [iter(plan.moves) for plan in plans]
    for change in list_changes(commit):
        partition = partition_of(id_of(change), len(plans))
        if next(moves[partition]):
            order.add_changes(partition, order.order.ends[partition].change + 1)
