"""The advisory lock on a file: who excludes whom, for how long, and across a fork."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from infinite_memory import StorageUnavailable
from infinite_memory.core.files.locks import FileLock, is_locked

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
needs_shared = pytest.mark.skipif(sys.platform == "win32", reason="Windows shares no lock")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.lock"


def test_a_held_lock_excludes_another_holder_until_it_is_released(path: Path) -> None:
    first, second = FileLock(path), FileLock(path)
    assert first.try_acquire()
    assert (first.is_open, second.try_acquire(), second.is_open) == (True, False, False)
    assert is_locked(path)
    first.release()
    assert not first.is_open
    assert not is_locked(path)
    assert second.acquire(0)
    second.release()


@needs_shared
def test_shared_holders_exclude_only_an_exclusive_one(path: Path) -> None:
    readers = [FileLock(path), FileLock(path)]
    assert [reader.try_acquire(shared=True) for reader in readers] == [True, True]
    assert not FileLock(path).try_acquire()
    assert not readers[0].try_acquire()
    readers[1].release()
    readers[0].release()
    assert FileLock(path).try_acquire()


@needs_shared
def test_the_last_shared_holder_can_make_its_lock_exclusive(path: Path) -> None:
    lock = FileLock(path)
    assert lock.try_acquire(shared=True)
    assert lock.try_acquire()
    assert not FileLock(path).try_acquire(shared=True)
    lock.release()


def test_a_wait_ends_when_the_time_is_over(path: Path) -> None:
    holder, late = FileLock(path), FileLock(path)
    assert holder.try_acquire()
    began = time.monotonic()
    assert not late.acquire(0.2)
    assert 0.2 <= time.monotonic() - began < 30
    holder.release()
    assert late.acquire(30)
    late.release()


def test_a_waiter_gets_the_lock_as_soon_as_it_is_free(path: Path) -> None:
    holder, waiter = FileLock(path), FileLock(path)
    assert holder.try_acquire()
    got = threading.Event()

    def wait() -> None:
        if waiter.acquire(60):
            got.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not got.wait(0.1)
    holder.release()
    thread.join(60)
    assert got.is_set()
    waiter.release()


@pytest.mark.process
def test_the_lock_of_a_process_that_was_killed_is_free(path: Path) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\n"
        "from infinite_memory.core.files.locks import FileLock\n"
        "lock = FileLock(Path(sys.argv[1]))\n"
        "print(lock.try_acquire(), flush=True)\ntime.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"True"
        assert is_locked(path)
        process.kill()
    assert not is_locked(path)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_neither_holds_the_lock_nor_releases_it_nor_keeps_it(path: Path) -> None:
    lock = FileLock(path)
    assert lock.try_acquire()
    begun, end = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        was_held = lock.is_open
        lock.release()
        os.write(begun[1], b"no" if not was_held and is_locked(path) else b"yes")
        os.read(end[0], 1)
        os._exit(0)
    try:
        assert os.read(begun[0], 8) == b"no"
        assert is_locked(path)
        lock.release()
        assert not is_locked(path)  # the child is still alive
    finally:
        os.write(end[1], b".")
        os.waitpid(child, 0)
        for descriptor in (*begun, *end):
            os.close(descriptor)


@pytest.mark.thorough
@needs_fork
def test_a_process_that_is_given_the_descriptor_keeps_the_lock(path: Path) -> None:
    lock = FileLock(path)
    assert lock.try_acquire()
    program = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, pass_fds=[lock.fileno()]) as process:
        lock.close()
        assert not lock.is_open
        assert is_locked(path)
        process.communicate()
    assert not is_locked(path)


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "no folder" / "some.lock")
    for call in (lock.try_acquire, lambda: lock.acquire(1), lambda: is_locked(lock.path)):
        with pytest.raises(StorageUnavailable, match=r"some\.lock cannot be used: No such file"):
            call()
    assert not lock.is_open


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_the_file_is_for_the_user_alone(path: Path) -> None:
    lock = FileLock(path)
    assert lock.try_acquire()
    lock.release()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_descriptor_is_left_open(path: Path) -> None:
    folder = Path("/proc/self/fd")
    if not folder.exists():
        pytest.skip("only Linux lists descriptors")
    holder = FileLock(path)
    assert holder.try_acquire()
    before = len(list(folder.iterdir()))
    for _ in range(20):
        assert not FileLock(path).try_acquire()
        assert is_locked(path)
    assert len(list(folder.iterdir())) == before
    holder.release()
