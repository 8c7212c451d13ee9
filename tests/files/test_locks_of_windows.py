"""The lock of Windows, with a `msvcrt` that does what the documentation of Windows says.

It was never run on Windows: what is checked here is our side of the contract, in a process of its
own in which the platform is "win32" while the module is loaded.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

FAKE = """
import errno, os, sys, types

# A lock of Windows is on bytes from the place where the file stands, and excludes every other
# descriptor, also of the same process. A place that is not locked cannot be unlocked.
held = {}

def locking(descriptor, mode, size):
    state = os.fstat(descriptor)
    key = (state.st_dev, state.st_ino, os.lseek(descriptor, 0, os.SEEK_CUR), size)
    if mode == msvcrt.LK_UNLCK:
        if held.get(key) != descriptor:
            raise OSError(errno.EACCES, "Permission denied")
        del held[key]
    elif key in held:
        raise OSError(errno.EACCES, "Permission denied")
    else:
        held[key] = descriptor

msvcrt = types.ModuleType("msvcrt")
msvcrt.LK_UNLCK, msvcrt.LK_NBLCK, msvcrt.locking = 0, 2, locking
sys.modules["msvcrt"] = msvcrt
from pathlib import Path
import infinite_memory.core.errors
sys.platform, real = "win32", sys.platform
from infinite_memory.core.files import locks
sys.platform = real
assert not hasattr(locks, "fcntl")
path = Path(sys.argv[1])
first, second = locks.FileLock(path), locks.FileLock(path)
"""


def run(path: Path, body: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAKE + body, str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_held_lock_excludes_another_until_it_is_released(tmp_path: Path) -> None:
    run(
        tmp_path / "some.lock",
        """
assert first.try_acquire()
assert (second.try_acquire(), second.is_open, locks.is_locked(path)) == (False, False, True)
first.release()
assert not held and not locks.is_locked(path)
assert second.acquire(0)
second.release()
assert not held
""",
    )


def test_a_holder_that_wrote_into_the_file_unlocks_what_it_locked(tmp_path: Path) -> None:
    run(
        tmp_path / "some.lock",
        """
assert first.try_acquire()
os.write(first.fileno(), b"worker 7")
first.release()
assert not held
""",
    )


def test_a_wait_ends_with_its_time_or_with_the_lock(tmp_path: Path) -> None:
    run(
        tmp_path / "some.lock",
        """
import threading
assert first.try_acquire()
assert not second.acquire(0.05) and not second.is_open
timer = threading.Timer(0.1, first.release)
timer.start()
assert second.acquire(5)
timer.join()
second.release()
assert not held
""",
    )


def test_a_holder_that_asks_again_keeps_its_lock(tmp_path: Path) -> None:
    run(
        tmp_path / "some.lock",
        """
assert first.try_acquire()
assert first.try_acquire(shared=True)
assert locks.is_locked(path)
first.release()
assert not held
""",
    )
