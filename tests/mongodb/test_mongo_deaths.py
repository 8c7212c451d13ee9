"""A client that dies or halts at any step of a commit leaves all of it behind, or nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from typing import Any

import pytest
from mongo_deaths import (
    BEFORE,
    COMMIT,
    KILLED,
    Steps,
    abort_transactions,
    commit_and_die,
    connected,
    databases,
    everything,
    open_listening,
    read_feed,
)
from mongo_servers import Deployment, deployment

from infinite_memory.core.errors import Conflict, InfiniteMemoryError, StorageUnavailable
from infinite_memory.core.protocols import Storage
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.core.values.entry import JournalEnd
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.storage.mongodb.metadata import encode_end
from infinite_memory.storage.mongodb.schema import METADATA, ORDER, STORE
from infinite_memory.testing.storage_contract import put

pytestmark = pytest.mark.slow("mongodb")

# More than a commit has; the loops end where there are no more.
_MOST_STEPS = 120


@pytest.fixture
def address(servers: Deployment) -> Iterator[str]:
    address = servers.address("deaths")
    yield address
    _drop(address)


@pytest.fixture(scope="module")
def server() -> Iterator[Deployment]:
    # How long the transaction of a client that died is kept; a minute by default.
    lifetime = ("--setParameter", "transactionLifetimeLimitSeconds=5")
    with deployment(1, extra=lifetime) as found:
        yield found


@pytest.fixture(scope="module", params=["one", "partitions"])
def servers(request: pytest.FixtureRequest, server: Deployment) -> Deployment:
    return server if request.param == "one" else server.partitioned


def _drop(address: str) -> None:
    with connected(address) as client:
        for database in databases(client):
            client.drop_database(database.name)


def _empty(address: str) -> None:
    """Remove all that is stored, which costs far less than to make the collections anew.

    The changes go on being counted; the journal begins anew.
    """
    with connected(address) as client:
        for database in databases(client):
            for name in database.list_collection_names():
                if name != METADATA:
                    database[name].delete_many({})
            anew: dict[str, Any] = {"journal": encode_end(JournalEnd())}
            database[METADATA].update_one({"_id": STORE}, {"$set": anew})
            order = database[METADATA].find_one({"_id": ORDER})
            if order is not None:
                anew |= {"ends.$[].1": 0, "base": order["changes"]}
                database[METADATA].update_one({"_id": ORDER}, {"$set": anew})


def _outcomes(address: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what there is before the commit and after it."""
    storage = open_mongodb(address)
    storage.commit(BEFORE)
    before = everything(storage)
    storage.commit(COMMIT)
    after = everything(storage)
    storage.close()
    _empty(address)
    return before, after


@pytest.mark.parametrize(
    "stride", [7, pytest.param(1, marks=pytest.mark.slow("mongodb-endurance"))]
)
def test_a_client_killed_at_any_step_has_committed_all_or_nothing(
    address: str, stride: int
) -> None:
    before, after = _outcomes(address)
    forkserver = get_context("forkserver")
    seen = {"before": 0, "after": 0}
    for step in range(1, _MOST_STEPS, stride):
        storage = open_mongodb(address)
        storage.commit(BEFORE)
        cursor = storage.position()
        child = forkserver.Process(target=commit_and_die, args=(address, step))
        child.start()
        child.join()
        if step % 8:
            abort_transactions(address)
        _look_after_a_death(address, storage, cursor, before, after, seen)
        storage.close()
        _empty(address)
        if child.exitcode == 0:
            break
        assert child.exitcode == KILLED
    else:
        pytest.fail("the commit has no end")
    # Both sides of the moment from when on it counts were met.
    assert min(seen.values()) >= (2 if stride == 1 else 1), seen


def _look_after_a_death(
    address: str,
    storage: Storage,
    cursor: int,
    before: dict[str, Any],
    after: dict[str, Any],
    seen: dict[str, int],
) -> None:
    another = open_mongodb(address)
    found = everything(another)
    assert found in (before, after)
    assert everything(storage) == found, "a handle that was open sees the same"
    seen["after" if found == after else "before"] += 1
    changes = read_feed(storage, cursor)
    if found == after:
        assert {change.id for change in changes.items} == {"changed", "erased", "new", "embedded"}
    position = another.position()
    another.commit(Commit(puts=[put("next")]))
    assert another.position() > position
    more = read_feed(storage, changes.cursor)
    assert [change.id for change in more.items] == ["next"]
    another.close()
    assert _leftovers(address) == []


def _leftovers(address: str) -> list[dict[str, Any]]:
    """Return the passages that no memory points to."""
    with connected(address) as client:
        meant = {
            (memory["_id"], each["model"], each["stamp"])
            for database in databases(client)
            for memory in database["memories"].find()
            for each in memory["embeddings"]
        }
        return [
            passage
            for database in databases(client)
            for passage in database["passages"].find()
            if (passage["memory_id"], passage["model"], passage["stamp"]) not in meant
        ]


@pytest.mark.slow("mongodb-endurance")
def test_a_client_that_halts_at_any_step_undoes_nothing_of_what_others_did(
    servers: Deployment,
) -> None:
    address = servers.address("halts")
    for step in range(1, _MOST_STEPS):
        halted, going_on = threading.Event(), threading.Event()
        steps = Steps(step, lambda h=halted, g=going_on: (h.set(), g.wait(60)))  # type: ignore[misc]
        slow = open_listening(address, steps)
        other = open_mongodb(address)
        other.commit(BEFORE)
        errors: list[Exception] = []

        def commit(storage: Storage = slow, errors: list[Exception] = errors) -> None:
            try:
                storage.commit(COMMIT)
            except InfiniteMemoryError as error:
                errors.append(error)

        steps.armed = True
        thread = threading.Thread(target=commit)
        thread.start()
        while thread.is_alive() and not halted.wait(0.01):
            pass
        reached = halted.is_set()
        if reached:
            try:
                fed = {change.id for change in read_feed(other, 0).items}
                assert fed >= {"changed", "embedded"}, "they were there before and are there after"
                if step % 8:
                    abort_transactions(address)
                _take_over(other)
                expected = everything(other)
            finally:
                going_on.set()
        thread.join()
        # Closing is a request as well, and would halt where the commit has no more.
        steps.armed = False
        if reached:
            # It may go on with its own only where that does not contradict.
            assert everything(other) == expected
            assert all(isinstance(e, Conflict | StorageUnavailable) for e in errors), errors
            position = other.position()
            other.commit(Commit(puts=[put("next")]))
            assert other.position() > position
            assert _leftovers(address) == []
        slow.close()
        other.close()
        _empty(address)
        if not reached:
            _drop(address)
            assert errors == []
            return
    pytest.fail("the commit has no end")


def _take_over(other: Storage) -> None:
    """Change all that the commit touches, whether it came to that or not."""
    with suppress(Conflict):
        # It may be carried out first by this very commit.
        _change(other, revision=2)
        return
    _change(other, revision=3)


def _change(other: Storage, *, revision: int) -> None:
    other.commit(
        Commit(
            erases=[Erase(id=each) for each in ("new", "erased")],
            puts=[
                put("changed", revision=revision, text="by the other"),
                put("embedded", revision=2, text="by the other"),
            ],
        )
    )
    other.commit(Commit(puts=[put("erased", text="used again by the other")]))
