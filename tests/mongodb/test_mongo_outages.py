"""Servers that are gone, that hang, that restart, and primaries that step down."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, suppress

import pymongo
import pytest
from attrs import evolve
from mongo_deaths import BEFORE, COMMIT, Steps, everything, read_feed
from mongo_servers import Deployment, deployment, reserved_ports
from pymongo.errors import PyMongoError

from infinite_memory.core.errors import StorageError, StorageUnavailable, StoreClosed
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.storage.mongodb.connection import connect
from infinite_memory.storage.mongodb.storage import MongoStorage
from infinite_memory.testing.storage_contract import put

pytestmark = pytest.mark.slow("mongodb")

IMPATIENT = {"serverSelectionTimeoutMS": 1500, "timeoutMS": 2000}
MOST_STEPS = 60
ROUNDS = 30
WRITERS = 8


@pytest.fixture(scope="module")
def own() -> Iterator[Deployment]:
    """Give a server that may be killed: nobody else uses it."""
    # How long the transaction of a client that is not heard of is kept; a minute by default.
    lifetime = ("--setParameter", "transactionLifetimeLimitSeconds=2")
    with deployment(1, extra=lifetime) as found:
        yield found


def _open(servers: Deployment, name: str, steps: Steps | None = None) -> MongoStorage:
    """Open a store by a client that soon gives up; the store is there, which takes longest."""
    _patient(servers, name).close()
    listeners = [] if steps is None else [steps]
    connection = connect(servers.address(name), event_listeners=listeners, **IMPATIENT)
    return MongoStorage(evolve(connection, patience_seconds=1))


def _patient(servers: Deployment, name: str) -> MongoStorage:
    return MongoStorage(connect(servers.address(name)))


def test_a_server_that_is_not_there_is_named_with_the_cause() -> None:
    with (
        reserved_ports(1) as (port,),
        pytest.raises(StorageUnavailable, match=r"127\.0\.0\.1:\d+.*refused.*server runs"),
    ):
        MongoStorage(connect(f"mongodb://127.0.0.1:{port}/gone", **IMPATIENT))


def test_a_server_killed_between_calls_is_an_error_that_names_it(own: Deployment) -> None:
    connection = connect(own.address("killed"))
    storage = MongoStorage(evolve(connection, patience_seconds=1))
    storage.commit(Commit(puts=[put("a")]))
    own.members[0].kill()
    try:
        for call in (
            lambda: storage.commit(Commit(puts=[put("b")])),
            lambda: storage.get(["a"]),
            lambda: storage.position(),
        ):
            # Only what must fail is waited for no longer than this.
            with (
                pymongo.timeout(2),
                pytest.raises(StorageUnavailable, match=own.members[0].host),
            ):
                call()
    finally:
        own.members[0].start()
        own.primary()
    assert list(storage.get(["a", "b"])) == ["a"]
    storage.commit(Commit(puts=[put("c")]))
    storage.close()


def test_commits_that_wait_together_for_a_server_give_up_together(
    own: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    storage = MongoStorage(connect(own.address("together"), serverSelectionTimeoutMS=3000))
    storage.commit(Commit(puts=[put("a")]))
    errors: list[StorageError] = []
    ready = threading.Barrier(WRITERS)

    def write(number: int) -> None:
        ready.wait()
        try:
            storage.commit(Commit(puts=[put(f"b{number}")]))
        except StorageUnavailable as error:
            errors.append(error)

    own.members[0].kill()
    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    try:
        with caplog.at_level(logging.DEBUG, logger="pymongo.serverSelection"):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        own.members[0].start()
        own.primary()
    assert len(errors) == WRITERS
    assert all(own.members[0].host in str(error) for error in errors)
    # The driver has waited for one of them, or for two where a thread began late: not for each.
    waits = [line for line in caplog.messages if "Server selection failed" in line]
    assert 1 <= len(waits) < WRITERS // 2
    assert list(storage.get(["a"])) == ["a"]
    storage.commit(Commit(puts=[put("c")]))
    storage.close()


def test_a_read_outlives_connections_that_are_lost_again_and_again_in_an_election() -> None:
    with deployment(3, extra=("--setParameter", "enableTestCommands=1")) as servers:
        storage = open_mongodb(servers.address("election"))
        storage.commit(Commit(puts=[put("a")]))
        with pymongo.MongoClient(servers.address("admin")) as client:
            # The driver repeats a read once, so five lost connections are three tries of ours.
            client.admin.command(
                {
                    "configureFailPoint": "failCommand",
                    "mode": {"times": 5},
                    "data": {"failCommands": ["find", "aggregate"], "closeConnection": True},
                }
            )
        assert list(storage.get(["a"])) == ["a"]
        storage.close()


@pytest.mark.slow("mongodb-endurance")
def test_what_is_at_work_when_the_store_is_closed_ends_soon_and_says_so(own: Deployment) -> None:
    # Every fourth: a transaction that nobody goes on with is in the way for two seconds.
    for step in range(1, MOST_STEPS, 4):
        opened: list[MongoStorage] = []
        steps = Steps(step, lambda opened=opened: opened[0].close())  # type: ignore[misc]
        connection = connect(own.address(f"closing{step}"), event_listeners=[steps])
        opened.append(storage := MongoStorage(connection))
        steps.armed = True
        with suppress(StoreClosed):
            storage.commit(BEFORE)
        steps.armed = False
        own.drop_database(f"closing{step}")
        if steps.seen < step:
            storage.close()
            return
        with pytest.raises(StoreClosed):
            storage.position()
    pytest.fail("the commit has no end")


@pytest.mark.slow("mongodb-endurance")
def test_a_server_killed_at_any_step_of_a_commit_leaves_all_of_it_or_nothing(
    own: Deployment,
) -> None:
    member = own.members[0]
    reference = _patient(own, "reference")
    reference.commit(BEFORE)
    before = everything(reference)
    reference.commit(COMMIT)
    after = everything(reference)
    reference.close()
    # Every fourth: each costs a start of the server, and the kinds of steps come again and again.
    for step in range(1, MOST_STEPS, 4):
        steps = Steps(step, member.kill)
        storage, watcher = _open(own, f"step{step}", steps), _patient(own, f"step{step}")
        watcher.commit(BEFORE)
        cursor = storage.position()
        steps.armed = True
        errors = _commit(storage)
        stored = not errors
        assert all(member.host in str(error) for error in errors)
        steps.armed = False
        died = steps.seen >= step
        if died:
            member.start()
            own.primary()
        other = _patient(own, f"step{step}")
        found = everything(other)
        assert found == after if stored else found in (before, after)
        assert everything(watcher) == found
        assert (
            other.commit(Commit(puts=[put("next")]))
            > other.get(["changed"])["changed"].memory.revision
        )
        changed = {change.id for change in read_feed(watcher, cursor).items}
        assert changed == ({"next"} if found == before else {"next", *found["records"], "erased"})
        for each in (storage, watcher, other):
            each.close()
        if not died:
            return
    pytest.fail("the commit has no end")


def _commit(storage: Storage) -> list[StorageUnavailable]:
    try:
        storage.commit(COMMIT)
    except StorageUnavailable as error:
        return [error]
    return []


@pytest.mark.slow("mongodb-endurance")
def test_a_server_that_hangs_is_waited_for_only_so_long_and_leaves_nothing_half_written(
    own: Deployment,
) -> None:
    process = own.members[0].process
    assert process is not None
    # Each at another step of the commit.
    for step in (1, 4, 6, 9):
        steps = Steps(step, lambda: process.send_signal(signal.SIGSTOP))
        storage = _open(own, f"hangs{step}", steps)
        with closing(_patient(own, f"hangs{step}")) as first:
            first.commit(BEFORE)
            before = everything(first)
        steps.armed = True
        outcome: list[StorageError] = []

        def commit(storage: Storage = storage, outcome: list[StorageError] = outcome) -> None:
            try:
                storage.commit(COMMIT)
            except StorageError as error:
                outcome.append(error)

        thread = threading.Thread(target=commit)
        thread.start()
        # It ends by itself, or this never does.
        thread.join()
        steps.armed = False
        process.send_signal(signal.SIGCONT)
        other = _patient(own, f"hangs{step}")
        assert len(outcome) == 1
        assert own.members[0].host in str(outcome[0])
        found = everything(other)
        assert (found == before) == ("new" not in found["records"])
        assert set(found["records"]) in ({"changed", "erased", "embedded"}, found_after())
        assert other.commit(Commit(puts=[put("next")])) > 3
        storage.close()
        other.close()


def found_after() -> set[str]:
    return {"changed", "embedded", "new"}


@pytest.mark.slow("mongodb-endurance")
def test_writers_go_on_by_themselves_while_primaries_step_down(triple: Deployment) -> None:
    connection = connect(triple.address("stepping"))
    storage = MongoStorage(evolve(connection, patience_seconds=300))
    stop = threading.Event()
    stored: list[str] = []
    errors: list[Exception] = []
    enough = threading.Semaphore(0)

    def write(name: str) -> None:
        number = 0
        while not stop.is_set():
            try:
                storage.commit(Commit(puts=[put(f"{name}{number}")]))
            except StorageError as error:
                errors.append(error)
                return
            stored.append(f"{name}{number}")
            number += 1
            enough.release()

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    stepped = 0
    for _ in range(ROUNDS):
        if stepped == 3 or errors:
            break
        for _ in range(10):
            while not enough.acquire(timeout=0.1) and not errors:
                pass
        # It may refuse where the others are behind; the next round asks another one.
        with suppress(PyMongoError), triple.primary().client() as client:
            client.admin.command("replSetStepDown", 5, secondaryCatchUpPeriodSecs=3)
            stepped += 1
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert stepped == 3
    assert set(storage.get(stored)) == set(stored)
    assert len(read_feed(storage, 0).items) == len(stored)
    storage.close()
