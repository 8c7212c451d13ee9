"""Readers that go on from their cursor miss nothing of what several processes write."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.synchronize import Event

import pytest
from attrs import frozen
from mongo_deaths import Steps, open_listening
from mongo_servers import Deployment
from pymongo import MongoClient, ReturnDocument

from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.mongodb import MongoStorage, open_mongodb
from infinite_memory.storage.mongodb.commit_plan import Before, Plan, plan_commit
from infinite_memory.storage.mongodb.connection import connect
from infinite_memory.storage.mongodb.schema import METADATA, STORE
from infinite_memory.testing.storage_contract import put

pytestmark = pytest.mark.slow("mongodb")

WRITERS = 4
COMMITS = 40
# More than reading a stretch of the feed has.
MOST_STEPS = 40


class OutsideNumbers(MongoStorage):
    """Broken on purpose: its numbers come from a counter outside the transaction."""

    def _commit(self, commit: Commit) -> Plan:
        with self._connection.client.start_session() as session, session.start_transaction():
            counted = self._database.get_collection(METADATA).find_one_and_update(
                {"_id": STORE},
                {"$inc": {"sequence": len(commit.puts)}},
                return_document=ReturnDocument.AFTER,
            )
            assert counted is not None
            plan = plan_commit(
                commit,
                Before(documents={}, sequence=counted["sequence"] - len(commit.puts)),
                refuse=self._damage.refuse_record,
            )
            # As long as a slow network takes; what makes one writer overtake another.
            time.sleep(random.uniform(0, 0.03))
            plan.writes.carry_out(self._database, session=session)
        return plan


@frozen(kw_only=True)
class Followed:
    """What a reader saw: ids, and every cursor on its way."""

    ids: frozenset[str]
    cursors: tuple[int, ...]


def write(storage: type[MongoStorage], address: str, name: str, start: Event) -> None:
    opened = storage(connect(address))
    start.wait()
    for number in range(COMMITS):
        opened.commit(Commit(puts=[put(f"{name}-{number}"), put(f"{name}-twin-{number}")]))
    opened.close()


def follow(storage: MongoStorage, done: Event, limit: int) -> Followed:
    ids: set[str] = set()
    cursors = [0]
    while True:
        last = done.is_set()
        changes = storage.changes(cursors[-1], limit=limit)
        ids |= {change.id for change in changes.items}
        cursors.append(changes.cursor)
        if last and not changes.items:
            storage.close()
            return Followed(ids=frozenset(ids), cursors=tuple(cursors))


def race(storage: type[MongoStorage], address: str) -> list[Followed]:
    open_mongodb(address).close()
    spawn = get_context("forkserver")
    start, done = spawn.Event(), spawn.Event()
    names = [f"w{number}" for number in range(WRITERS)]
    writers = [spawn.Process(target=write, args=(storage, address, n, start)) for n in names]
    for process in writers:
        process.start()
    # Both are there before the first commit.
    followers = {limit: open_mongodb(address) for limit in (3, 100)}
    with ThreadPoolExecutor() as pool:
        readers = [pool.submit(follow, each, done, limit) for limit, each in followers.items()]
        start.set()
        for process in writers:
            process.join()
        done.set()
        found = [reader.result() for reader in readers]
    assert [process.exitcode for process in writers] == [0] * WRITERS
    with MongoClient(address) as client:
        client.drop_database(client.get_default_database().name)
    return found


def everything() -> frozenset[str]:
    return frozenset(
        f"w{writer}-{twin}{number}"
        for writer in range(WRITERS)
        for twin in ("", "twin-")
        for number in range(COMMITS)
    )


def test_no_reader_misses_what_processes_write_at_once(single: Deployment) -> None:
    for followed in race(MongoStorage, single.address("race")):
        assert followed.ids == everything()
        assert list(followed.cursors) == sorted(followed.cursors)


@pytest.mark.slow("mongodb-endurance")
def test_numbers_that_become_visible_out_of_order_are_caught(single: Deployment) -> None:
    missed = [everything() - each.ids for each in race(OutsideNumbers, single.address("broken"))]
    assert any(missed)


@pytest.mark.parametrize("limit", [1, 100])
def test_a_memory_that_is_changed_while_the_feed_is_read_is_in_it_all_the_same(
    limit: int, single: Deployment
) -> None:
    address = single.address(f"meanwhile{limit}")
    for step in range(1, MOST_STEPS):
        with closing(open_mongodb(address)) as other:
            position = other.commit(Commit(puts=[put("one")]))

            def change(other: MongoStorage = other) -> None:
                other.commit(Commit(puts=[put("one", revision=2, text="the second")]))

            steps = Steps(step, change)
            with closing(open_listening(address, steps)) as storage:
                steps.armed = True
                changes = storage.changes(0, limit=limit)
                steps.armed = False
                assert [change.id for change in changes.items] == ["one"]
                changed = other.position() > position
                # Whatever state that was, the last one is there or still to come.
                states = (*changes.items, *storage.changes(changes.cursor, limit=limit).items)
                assert states[-1].record == storage.get(["one"])["one"]
        with MongoClient(address) as client:
            client.drop_database(client.get_default_database().name)
        if not changed:
            return
    pytest.fail("reading the feed has no end")
