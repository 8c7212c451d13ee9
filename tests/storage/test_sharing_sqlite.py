"""Several processes on one SQLite store: writers, kills, races, forks, locks."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path

import apsw
import pytest

from infinite_memory.core.errors import StorageUnavailable, StoreClosed
from infinite_memory.core.files import locks
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.connection import RULES, check_library
from infinite_memory.storage.sqlite.files.lock import FairLock, WriterLock
from infinite_memory.testing.storage_contract import make_embedding, put

KILLS = 4
WAIT_SECONDS = 300.0


def wait_until(holds: Callable[[], bool]) -> bool:
    """Wait until something holds, and return whether it did before the limit."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def _write(home: Path, name: str, count: int) -> None:
    storage = SqliteStorage.open(home)
    for number in range(count):
        storage.commit(Commit(puts=[put(f"{name}-{number}", embedding=make_embedding(number))]))
    storage.close()


def _create(home: Path, number: int, start: threading.Barrier) -> None:
    # Without a limit, one that cannot start would keep the others, and the test, for ever.
    start.wait(WAIT_SECONDS)
    _write(home, f"creator-{number}", 1)


def test_four_processes_write_a_hundred_memories_each_and_none_is_lost(tmp_path: Path) -> None:
    spawn = get_context("spawn")
    writers = [
        spawn.Process(target=_write, args=(tmp_path, f"w{number}", 100)) for number in range(4)
    ]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    assert [process.exitcode for process in writers] == [0, 0, 0, 0]
    storage = SqliteStorage.open(tmp_path)
    stored = {change.id for change in storage.changes(0, limit=1000).items}
    assert stored == {f"w{name}-{number}" for name in range(4) for number in range(100)}
    assert storage.position() == 400
    storage.close()


@pytest.mark.thorough
def test_eight_processes_that_create_a_store_at_once_share_one(tmp_path: Path) -> None:
    spawn = get_context("spawn")
    start = spawn.Barrier(8)
    creators = [
        spawn.Process(target=_create, args=(tmp_path / "new", number, start)) for number in range(8)
    ]
    for process in creators:
        process.start()
    for process in creators:
        process.join()
    assert [process.exitcode for process in creators] == [0] * 8
    storage = SqliteStorage.open(tmp_path / "new")
    assert len(storage.get([f"creator-{number}-0" for number in range(8)])) == 8
    storage.close()


_WRITER = """
import sys
from pathlib import Path
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.core.values.commit import Commit
from infinite_memory.testing.storage_contract import make_embedding, put

storage = SqliteStorage.open(Path(sys.argv[1]))
number = 0
while True:
    name = f"{sys.argv[2]}-{number}"
    embedded = put(name, text=name * 100, embedding=make_embedding())
    storage.commit(Commit(puts=[embedded, put(name + "-twin")]))
    print(name, flush=True)
    number += 1
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_kill_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    moments = random.Random(7)
    acknowledged: set[str] = set()
    beside = SqliteStorage.open(tmp_path)
    for kill in range(KILLS):
        arguments = [sys.executable, "-c", _WRITER, str(tmp_path), f"k{kill}"]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(moments.randint(1, 300)):
                acknowledged.add(writer.stdout.readline().strip())
            writer.send_signal(signal.SIGKILL)
            acknowledged |= {line.strip() for line in writer.stdout if line.endswith("\n")}
        beside.commit(Commit(puts=[put(f"beside-{kill}")]))
    beside.close()
    storage = SqliteStorage.open(tmp_path)
    found = storage.get(acknowledged | {name + "-twin" for name in acknowledged})
    assert len(found) == 2 * len(acknowledged)
    assert storage.damaged == frozenset()
    storage.close()


_WATCHED = """
import sys
from pathlib import Path

opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)

from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract import put

home = Path(sys.argv[1])
for _ in range(2):
    storage, other = SqliteStorage.open(home), SqliteStorage.open(home)
    revision = len(storage.history("a"))
    storage.commit(Commit(puts=[put("a", revision=revision + 1), put(f"b{revision}")]))
    storage.commit(Commit(erases=[Erase(id=f"b{revision}")]))
    other.get(["a"]), other.find(Criteria(), limit=1), other.changes(0, limit=1)
    other.measure(), other.scopes(), other.pending("m", limit=1), other.scrub()
    storage.close(), other.close()
live = ("memory.db", "memory.db-wal", "memory.db-shm")
print([name for name in opened if Path(name).name in live])
print(any(name.endswith("store.lock") for name in opened))
"""


@pytest.mark.thorough
def test_the_live_database_is_never_opened_past_sqlite(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[]", "True"]


_FORKED = """
import os, sys
from pathlib import Path
from infinite_memory.core.errors import StorageUnavailable, StoreClosed
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.core.values.commit import Commit
from infinite_memory.testing.storage_contract import put

storage = SqliteStorage.open(Path(sys.argv[1]))
storage.commit(Commit(puts=[put("a")]))
child = os.fork()
if child == 0:
    refused = 0
    commit = Commit(puts=[put("b")])
    for call in (lambda: storage.get(["a"]), lambda: storage.commit(commit), storage.scrub):
        try:
            call()
        except StoreClosed as error:
            refused += "fork" in str(error)
    storage.close()
    del storage
    try:
        SqliteStorage.open(Path(sys.argv[1]))
    except StorageUnavailable as error:
        refused += 'start workers with "spawn" or "forkserver"' in str(error)
    other = SqliteStorage.open(Path(sys.argv[1]) / "other")
    other.commit(Commit(puts=[put("child")]))
    other.close()
    os._exit(40 + refused)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
storage.commit(Commit(puts=[put("parent")]))
print(sorted(storage.get(["a", "b", "parent"])))
storage.close()
"""


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_store_does_not_cross_a_fork(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FORKED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["44", "['a', 'parent']"]


def test_nothing_of_an_erased_text_is_left_in_the_files(tmp_path: Path) -> None:
    storage, other = SqliteStorage.open(tmp_path), SqliteStorage.open(tmp_path)
    secrets = [f"secret-{number:04}-word" for number in range(300)]
    for number, secret in enumerate(secrets):
        storage.commit(
            Commit(puts=[put(f"m{number}", text=secret * (number % 40 + 1), tags=(f"t-{secret}",))])
        )
    for number in range(0, 300, 3):
        other.commit(Commit(puts=[put(f"m{number}", revision=2, text="second " + secrets[number])]))
    storage.commit(Commit(erases=[Erase(id=f"m{number}") for number in range(300)]))
    storage.scrub()
    assert (tmp_path / "memory.db-wal").stat().st_size == 0
    storage.close()
    other.close()
    content = (tmp_path / "memory.db").read_bytes()
    assert [secret for secret in secrets if secret.encode() in content] == []


def test_every_connection_keeps_the_rules(tmp_path: Path) -> None:
    storage = SqliteStorage.open(tmp_path)
    with storage._database.read() as snapshot:
        for connection in (storage._database._writer.connection, snapshot.connection):
            assert {name: connection.pragma(name) for name in RULES} == RULES
            assert connection.pragma("journal_mode") == "wal"
    assert RULES["synchronous"] == 2
    storage.close()


def test_the_log_is_copied_into_the_database_before_it_grows_large(tmp_path: Path) -> None:
    storage = SqliteStorage.open(tmp_path)
    for number in range(12):
        storage.commit(Commit(puts=[put(f"m{number}", text="x" * 2**20)]))
    assert (tmp_path / "memory.db-wal").stat().st_size < 8 * 2**20
    assert (tmp_path / "memory.db").stat().st_size > 8 * 2**20
    storage.close()


def test_a_reader_that_holds_the_log_back_delays_no_writer(tmp_path: Path) -> None:
    storage = SqliteStorage.open(tmp_path)
    storage.commit(Commit(puts=[put("first")]))
    reader = apsw.Connection(str(tmp_path / "memory.db"))
    reader.execute("BEGIN; SELECT count(*) FROM memories").fetchall()
    for number in range(12):
        storage.commit(Commit(puts=[put(f"m{number}", text="x" * 2**20)]))
    assert (tmp_path / "memory.db-wal").stat().st_size > 8 * 2**20
    reader.close()
    storage.scrub()
    assert (tmp_path / "memory.db-wal").stat().st_size == 0
    storage.close()


def test_the_lock_is_given_in_the_order_in_which_it_was_asked_for() -> None:
    lock = FairLock()
    assert lock.acquire(1)
    order: list[int] = []

    def work(number: int) -> None:
        assert lock.acquire(30)
        order.append(number)
        lock.release()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for count, thread in enumerate(threads, 1):
        thread.start()
        while len(lock._waiting) < count:
            pass
    lock.release()
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_a_lock_that_is_not_given_in_time_can_be_asked_for_again() -> None:
    lock = FairLock()
    assert lock.acquire(1)
    assert not lock.acquire(0.01)
    lock.release()
    assert lock.acquire(1)


@contextmanager
def _held(path: Path) -> Iterator[None]:
    with WriterLock(path, timeout_seconds=60).hold():
        yield


def test_a_writer_that_hangs_is_named_after_the_wait(tmp_path: Path) -> None:
    path = tmp_path / "store.lock"
    late = WriterLock(path, timeout_seconds=0.05)
    others = set(threading.enumerate())
    with _held(path), pytest.raises(StorageUnavailable, match="another writer has held"):
        late.hold().__enter__()
    # Whoever gave up still stands in the queue of the kernel, and lets go when it is its turn.
    for waiting in set(threading.enumerate()) - others:
        waiting.join(60)
    with late.hold():
        pass
    impatient = WriterLock(path, timeout_seconds=0.05)
    with impatient.hold(), pytest.raises(StorageUnavailable, match="another writer has held"):
        impatient.hold().__enter__()


class _Interrupted(BaseException):
    """What a signal raises in the main thread, as Ctrl-C does."""


@pytest.fixture
def interrupt() -> Iterator[Callable[[Callable[[], bool]], None]]:
    """Interrupt the main thread, where the tests run, once something is so."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals are for the main thread")

    def handle(*_: object) -> None:
        raise _Interrupted

    before = signal.signal(signal.SIGUSR1, handle)
    sent: list[threading.Thread] = []

    def send_once(there: Callable[[], bool]) -> None:
        def send() -> None:
            if wait_until(there):
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

        sent.append(threading.Thread(target=send))
        sent[-1].start()

    yield send_once
    for thread in sent:
        thread.join()
    signal.signal(signal.SIGUSR1, before)


Interrupt = Callable[[Callable[[], bool]], None]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_a_writer_that_is_interrupted_while_it_waits_keeps_nobody_out(
    tmp_path: Path, interrupt: Interrupt
) -> None:
    path = tmp_path / "store.lock"
    lock = WriterLock(path, timeout_seconds=60)
    others = set(threading.enumerate())

    waiting: set[threading.Thread] = set()

    def waits() -> bool:
        new = set(threading.enumerate()) - others
        named = {each for each in new if each.name == "infinite-memory-lock"}
        waiting.update(each for each in named if each.is_alive())  # it is listed before it runs
        return bool(waiting)

    with _held(path):
        interrupt(waits)
        with pytest.raises(_Interrupted), lock.hold():
            pass
    for each in waiting:
        each.join(60)  # it has had its turn
    with _held(path), pytest.raises(StorageUnavailable, match="another writer has held"):
        WriterLock(path, timeout_seconds=0.05).hold().__enter__()
    with lock.hold():
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_a_thread_that_is_interrupted_while_it_waits_keeps_no_other_out(
    interrupt: Interrupt,
) -> None:
    lock = FairLock()
    assert lock.acquire(1)
    interrupt(lambda: len(lock._waiting) > 0)
    with pytest.raises(_Interrupted):
        lock.acquire(60)
    lock.release()
    assert lock.acquire(1)


def test_a_thread_that_is_interrupted_as_its_wait_ends_keeps_no_other_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lock, leave = FairLock(), FairLock._leave_queue
    seen: list[object] = []

    def interrupted(self: FairLock, gate: threading.Lock) -> bool:
        seen.append(gate)
        if len(seen) == 1:
            raise _Interrupted
        return leave(self, gate)

    monkeypatch.setattr(FairLock, "_leave_queue", interrupted)
    assert lock.acquire(1)
    with pytest.raises(_Interrupted):
        lock.acquire(0.01)
    lock.release()
    assert lock.acquire(1)


def test_a_writer_that_is_interrupted_as_it_locks_the_file_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.lock"
    take = locks._try_lock

    def interrupted(descriptor: int, *, shared: bool) -> bool:
        assert take(descriptor, shared=shared)
        raise _Interrupted

    monkeypatch.setattr(locks, "_try_lock", interrupted)
    with pytest.raises(_Interrupted), WriterLock(path, timeout_seconds=1).hold():
        pass
    monkeypatch.setattr(locks, "_try_lock", take)
    with WriterLock(path, timeout_seconds=1).hold():
        pass


def test_a_waiting_writer_gets_the_lock_as_soon_as_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "store.lock"
    got = threading.Event()

    def wait() -> None:
        with WriterLock(path, timeout_seconds=30).hold():
            got.set()

    thread = threading.Thread(target=wait)
    with _held(path):
        thread.start()
    thread.join()
    assert got.is_set()


def test_a_lock_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "no folder" / "store.lock", timeout_seconds=1)
    with pytest.raises(StorageUnavailable, match=r"store\.lock cannot be used"):
        lock.hold().__enter__()


def test_a_write_that_waited_while_the_store_was_closed_is_refused(tmp_path: Path) -> None:
    storage = SqliteStorage.open(tmp_path)
    refused: list[StoreClosed] = []

    def write() -> None:
        try:
            storage.commit(Commit(puts=[put("late")]))
        except StoreClosed as error:
            refused.append(error)

    closing = threading.Thread(target=storage.close)
    writing = threading.Thread(target=write)
    lock = storage._database._lock
    with lock.hold():
        writing.start()
        # Whoever waits gives up after 30 s, and after that this would never be so.
        assert wait_until(lambda: len(lock._threads._waiting) >= 1)
        closing.start()
        assert wait_until(lambda: len(lock._threads._waiting) >= 2)
    closing.join()
    writing.join()
    assert len(refused) == 1


@pytest.mark.parametrize("version", ["3.51.3", "3.52.0", "3.50.7", "3.44.6", "3.54.1", "4.0.0"])
def test_a_sqlite_without_the_log_reset_defect_is_accepted(version: str) -> None:
    check_library(version)


@pytest.mark.parametrize("version", ["3.40.1", "3.44.5", "3.45.9", "3.50.6", "3.51.2", "3.51"])
def test_a_sqlite_with_the_log_reset_defect_is_refused(version: str) -> None:
    with pytest.raises(StorageUnavailable, match="pip install --upgrade apsw"):
        check_library(version)


def test_a_lock_that_the_kernel_refuses_is_an_error_and_not_a_wait_without_end() -> None:
    wait = locks._Wait(99_999)
    wait.run()
    with pytest.raises(OSError, match="Bad file descriptor"):
        wait.result(0.0)


def test_more_snapshots_at_once_than_connections_are_kept(tmp_path: Path) -> None:
    storage = SqliteStorage.open(tmp_path)
    storage.commit(Commit(puts=[put("a")]))
    with ExitStack() as stack:
        snapshots = [stack.enter_context(storage._database.read()) for _ in range(7)]
        counts = [next(each.rows("SELECT count(*) FROM memories")) for each in snapshots]
    assert counts == [(1,)] * 7
    assert list(storage.get(["a"])) == ["a"]
    storage.close()


def test_a_snapshot_outlives_the_commits_of_others(tmp_path: Path) -> None:
    storage = SqliteStorage.open(tmp_path)
    storage.commit(Commit(puts=[put("a")]))
    with storage._database.read() as snapshot:
        before = next(snapshot.rows("SELECT sequence FROM ledger"))
        storage.commit(Commit(puts=[put("b")]))
        assert next(snapshot.rows("SELECT sequence FROM ledger")) == before
    assert storage.position() == 2
    storage.close()
