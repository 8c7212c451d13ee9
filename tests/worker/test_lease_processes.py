"""The lease and the worker on SQLite with processes that die, stop and fork."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Conflict, MemoryStore
from infinite_memory.features.background.upkeep.job import Job, Plan
from infinite_memory.features.background.worker.worker import Pace, Worker
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.leasing import Holder, lease_commit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="its processes need POSIX")

QUICK = Pace(first=0, look=0.01, more=0.01, renew=0.01)
LONG = 60.0
HOUR = timedelta(hours=1)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[SqliteStorage]:
    with closing(SqliteStorage.open(tmp_path)) as storage:
        yield storage


def holder_in(folder: Path) -> Holder:
    return Holder(partial(SqliteStorage.open, folder))


def test_a_killed_process_loses_the_lease_at_once(storage: SqliteStorage, tmp_path: Path) -> None:
    with holder_in(tmp_path) as holder:
        assert holder.number is not None
        assert storage.try_lease("here") is None
        assert storage.lease_holder() == f"process {holder.process.pid}"
        holder.signal(signal.SIGKILL)
        assert storage.lease_holder() is None
        lease = storage.try_lease("here")
        assert lease is not None
        assert lease.number > holder.number
        with pytest.raises(Conflict):
            storage.commit(lease_commit("late", holder.number))


def test_a_process_that_is_stopped_keeps_the_lease(storage: SqliteStorage, tmp_path: Path) -> None:
    with holder_in(tmp_path) as holder:
        holder.signal(signal.SIGSTOP)
        assert storage.try_lease("here") is None
        assert storage.lease_holder() is not None
        holder.signal(signal.SIGCONT)
        assert holder.renew()
        assert holder.commit("stored")
    assert storage.get(["stored"])


def test_of_many_processes_one_gets_the_lease(tmp_path: Path) -> None:
    SqliteStorage.open(tmp_path).close()
    holders = [holder_in(tmp_path) for _ in range(4)]
    assert sum(holder.number is not None for holder in holders) == 1
    for holder in holders:
        holder.signal(signal.SIGKILL)


def test_the_number_grows_though_its_file_is_lost_or_damaged(
    storage: SqliteStorage, tmp_path: Path
) -> None:
    numbers = []
    for damage in (None, b"", b"{", b'{"number": "9", "holder": 1, "notes": []}', b"\xff" * 9):
        lease = storage.try_lease("here")
        assert lease is not None
        numbers.append(lease.number)
        assert lease.renew()
        file = tmp_path / "store.upkeep"
        assert file.stat().st_mode & 0o777 == 0o600
        file.unlink() if damage is None else file.write_bytes(damage)
        # No commit would be accepted from it: the holder takes the lease again.
        assert not lease.renew()
        assert storage.upkeep_notes() == {}
        lease.release()
    assert numbers == sorted(set(numbers))


def test_a_forked_child_holds_nothing(storage: SqliteStorage) -> None:
    lease = storage.try_lease("here")
    assert lease is not None
    child = os.fork()
    if child == 0:
        lost = not lease.renew()
        lease.release()
        os._exit(0 if lost else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert lease.renew()
    assert storage.lease_holder() == "here"


def work(folder: str, pipe: Any) -> None:
    """Run a worker that says that it works."""

    def say() -> list[str]:
        pipe.send(os.getpid())
        return []

    job = Job(name="say", summary="", every=HOUR, plan=lambda _: Plan(work=say, more=True))
    with MemoryStore.open(folder, embedder=HashingEmbedder()) as store:
        Worker(store._services, threading.Event(), jobs=[job], pace=QUICK).run()


def test_another_worker_takes_over_from_one_that_is_killed(tmp_path: Path) -> None:
    context = get_context("forkserver")
    SqliteStorage.open(tmp_path).close()
    workers = []
    for _ in range(2):
        here, there = context.Pipe()
        process = context.Process(target=work, args=(str(tmp_path), there), daemon=True)
        process.start()
        workers.append((process, here))
    (first, first_pipe), (second, second_pipe) = workers
    ready = wait([first_pipe, second_pipe], LONG)
    if ready == [second_pipe]:
        first, first_pipe, second, second_pipe = second, second_pipe, first, first_pipe
    assert first_pipe.recv() == first.pid
    assert not second_pipe.poll()
    first.kill()
    assert second_pipe.poll(LONG)
    assert second_pipe.recv() == second.pid
    second.kill()
