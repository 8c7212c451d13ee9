"""The lease on MongoDB: processes that die, or stop and come back."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from mongo_servers import Deployment

from infinite_memory import Conflict
from infinite_memory.core.protocols import Lease
from infinite_memory.storage.mongodb import MongoStorage, open_mongodb
from tests.harness.leasing import Holder, lease_commit

pytestmark = pytest.mark.slow("mongodb")

MOST_SECONDS = 15.0
LOOK_SECONDS = 3.0


@pytest.fixture
def address(single: Deployment, tmp_path: Path) -> Iterator[str]:
    address = single.address_of(tmp_path)
    open_mongodb(address).close()
    yield address
    single.drop(tmp_path)


@pytest.fixture
def storage(address: str) -> Iterator[MongoStorage]:
    with closing(open_mongodb(address)) as storage:
        yield storage


def taken(storage: MongoStorage) -> Lease | None:
    """Try to get the lease as often as a worker does, for as long as a dead holder may keep it."""
    end, pause = time.monotonic() + MOST_SECONDS, threading.Event()
    while time.monotonic() < end:
        if (lease := storage.try_lease("here")) is not None:
            return lease
        pause.wait(LOOK_SECONDS)
    return storage.try_lease("here")


def test_a_killed_process_loses_the_lease_within_seconds(
    storage: MongoStorage, address: str
) -> None:
    with Holder(partial(open_mongodb, address)) as holder:
        assert holder.number is not None
        assert storage.try_lease("here") is None
        holder.signal(signal.SIGKILL)
        lease = taken(storage)
        assert lease is not None
        assert lease.number > holder.number
        assert storage.lease_holder() == "here"


def test_a_process_that_was_stopped_and_comes_back_changes_nothing(
    storage: MongoStorage, address: str
) -> None:
    with Holder(partial(open_mongodb, address)) as holder:
        assert holder.commit("before")
        holder.signal(signal.SIGSTOP)
        lease = taken(storage)
        assert lease is not None
        holder.signal(signal.SIGCONT)
        assert not holder.commit("late")
        assert not holder.renew()
        storage.commit(lease_commit("after", lease.number))
        assert storage.get(["before", "late", "after"]).keys() == {"before", "after"}


def test_a_lease_that_is_renewed_is_kept_beyond_its_time(
    storage: MongoStorage, address: str
) -> None:
    with Holder(partial(open_mongodb, address)) as holder:
        for _ in range(5):
            threading.Event().wait(LOOK_SECONDS)
            assert holder.renew()
            assert storage.try_lease("here") is None


def test_a_lease_that_ran_out_and_that_nobody_took_goes_on(
    storage: MongoStorage, address: str
) -> None:
    with Holder(partial(open_mongodb, address)) as holder:
        holder.signal(signal.SIGSTOP)
        pause = threading.Event()
        while storage.lease_holder() is not None:
            pause.wait(0.2)
        holder.signal(signal.SIGCONT)
        assert holder.commit("stored")
        assert holder.renew()
        assert storage.try_lease("here") is None


def test_a_lease_of_an_earlier_holder_is_refused_by_number(storage: MongoStorage) -> None:
    first = storage.try_lease("first")
    assert first is not None
    first.release()
    second = storage.try_lease("second")
    assert second is not None
    with pytest.raises(Conflict, match="another process does the upkeep"):
        storage.commit(lease_commit("late", first.number))
