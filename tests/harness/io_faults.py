"""A disk whose n-th call fails, and a store at work on it: no call leaves half of anything."""

from __future__ import annotations

import errno
import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

import apsw
from attrs import frozen

from infinite_memory.core.errors import InfiniteMemoryError, StorageUnavailable
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.power import restore
from tests.harness.workload import State, Workload, state_of

ERRORS = ("error", "full")
"""How a call can fail: the disk reports an error, or has no space left."""

_disks = itertools.count()


@frozen(kw_only=True)
class Point:
    """One fault: the call of that number fails, counted from 1, once or from then on.

    A full disk fails the calls that write; an error any call.
    """

    number: int
    error: str
    lasting: bool


def _error(code: int, number: int) -> apsw.Error:
    """Return what SQLite raises for this extended code."""
    kind = apsw.FullError if code == apsw.SQLITE_FULL else apsw.IOError
    error: Any = kind(f"simulated: call {number}")
    error.extendedresult = code
    return cast("apsw.Error", error)


class FaultyDisk(apsw.VFS):
    """The usual file system, but for the calls that are told to fail; see `arm`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls = {"error": 0, "full": 0}
        self.failed = 0
        self._point: Point | None = None
        super().__init__(name, "")

    def arm(self, point: Point | None) -> None:
        """Count from here on and fail the calls of `point`; None ends every fault."""
        self.calls = {"error": 0, "full": 0}
        self._point = point

    def meet(self, *, writing: bool, code: int = apsw.SQLITE_FULL) -> None:
        """Count a call, and raise if it is one that fails; `code` is that of a full disk there."""
        self.calls["error"] += 1
        self.calls["full"] += writing
        point = self._point
        if point is None or (point.error == "full" and not writing):
            return
        number = self.calls[point.error]
        if number == point.number or (point.lasting and number > point.number):
            self.failed += 1
            raise _error(code if point.error == "full" else apsw.SQLITE_IOERR, number)

    def xGetLastError(self) -> tuple[int, str]:  # noqa: N802
        full = self._point is not None and self._point.error == "full"
        return (errno.ENOSPC if full else errno.EIO), "simulated"

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        self.meet(writing=bool(flags[0] & apsw.SQLITE_OPEN_CREATE))
        return _FaultyFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.meet(writing=False)
        super().xDelete(filename, syncdir)


class _FaultyFile(apsw.VFSFile):
    def __init__(
        self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.meet(writing=False)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.meet(writing=True)
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.meet(writing=True, code=apsw.SQLITE_IOERR_TRUNCATE)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.meet(writing=True, code=apsw.SQLITE_IOERR_FSYNC)
        super().xSync(flags)


class _Run:
    """A fixed piece of work, in which whatever fails is looked at, and done again."""

    def __init__(self, folder: Path, disk: FaultyDisk, seed: int) -> None:
        self._folder = folder
        self._disk = disk
        self._workload = Workload(Random(seed))
        self._storage: SqliteStorage | None = None
        self.calls: dict[str, int] = {}

    def work(self) -> None:
        """Create a store, commit, checkpoint, scrub, read, close, open again, commit."""
        try:
            for _ in range(2):
                self._open()
                for _ in range(5):
                    self._commit(self._workload.next())
                self._attempt(self._open_storage().scrub)
                self._attempt(self._read)
                self._close()
        finally:
            self.calls = self._disk.calls
            self._disk.arm(None)
            self._close()

    def _open_storage(self) -> SqliteStorage:
        assert self._storage is not None
        return self._storage

    def _open(self) -> None:
        def open_store() -> None:
            self._storage = SqliteStorage.open(
                self._folder, vfs=self._disk.name, checkpoint_pages=12
            )

        self._attempt(open_store)

    def _close(self) -> None:
        if self._storage is not None:
            self._storage.close()
            self._storage = None

    def _attempt(self, call: Callable[[], object]) -> None:
        """Make a call which changes nothing that is stored; after a failure, once more."""
        try:
            call()
        except StorageUnavailable:
            self._disk.arm(None)
            call()

    def _read(self) -> None:
        assert state_of(self._open_storage()) == state_of(self._workload.model), "wrong state"

    def _commit(self, commit: Commit) -> None:
        storage = self._open_storage()
        before = state_of(self._workload.model)
        try:
            storage.commit(commit)
        except StorageUnavailable as error:
            unknown = "could not be confirmed" in str(error)
        else:
            self._workload.done(commit)
            return
        self._read_in_spite(storage)
        self._disk.arm(None)
        self._workload.done(commit)
        possible = [before, state_of(self._workload.model)] if unknown else [before]
        assert self._state_after_a_kill() in possible, "a failed commit comes back after a kill"
        found = state_of(storage)
        assert found in possible, "half of a failed commit is there"
        if found != before:
            return
        storage.commit(commit)
        self._read()

    def _state_after_a_kill(self) -> State:
        """Return what the store would hold if the process were killed now, from a copy of it."""
        copy = self._folder.with_name(self._folder.name + "-killed")
        restore({path.name: path.read_bytes() for path in self._folder.iterdir()}, copy)
        (copy / "memory.db-shm").unlink(missing_ok=True)
        try:
            storage = SqliteStorage.open(copy)
            state = state_of(storage)
            storage.close()
            return state
        finally:
            shutil.rmtree(copy)

    def _read_in_spite(self, storage: SqliteStorage) -> None:
        """Read while the fault may last: the answer is right, or an error of the right type."""
        try:
            storage.position()
            storage.scopes()
        except StorageUnavailable:
            return

    def verify(self) -> None:
        """Open the store on a sound disk and compare everything."""
        self._storage = SqliteStorage.open(self._folder)
        self._read()
        assert not self._storage.damaged, "damaged records"
        self._close()
        connection = apsw.Connection(str(self._folder / "memory.db"))
        assert connection.pragma("integrity_check") == "ok", "the database is not sound"
        connection.close()


def fault_points(folder: Path, *, seed: int = 1, errors: Sequence[str] = ERRORS) -> Iterator[Point]:
    """Yield every point at which the work of `meet_fault` can fail, once and for ever."""
    counts = _work(folder, None, seed)[0]
    for error in errors:
        for number in range(1, counts[error] + 1):
            for lasting in (False, True):
                yield Point(number=number, error=error, lasting=lasting)


def meet_fault(folder: Path, point: Point, *, seed: int = 1) -> str | None:
    """Let a store work in `folder`, which must not exist, with one fault; say what went wrong."""
    try:
        failed = _work(folder, point, seed)[1]
    except (AssertionError, InfiniteMemoryError, apsw.Error) as error:
        return f"{point}: {type(error).__name__}: {error}"
    return None if failed else f"{point}: no call failed"


def _work(folder: Path, point: Point | None, seed: int) -> tuple[dict[str, int], int]:
    disk = FaultyDisk(f"faulty-{next(_disks)}")
    run = _Run(folder, disk, seed)
    try:
        disk.arm(point)
        run.work()
        run.verify()
        return run.calls, disk.failed
    finally:
        disk.unregister()
        shutil.rmtree(folder, ignore_errors=True)
