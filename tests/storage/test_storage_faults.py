"""Disks that fail, through a virtual file system: nothing acknowledged is lost, nothing doubled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from infinite_memory.core.errors import StorageUnavailable, StoreDamaged
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.errors import storage_error
from infinite_memory.testing.storage_contract import put


class _FaultyDisk(apsw.VFS):
    """The usual file system, but for the calls on the log that are told to fail."""

    def __init__(self) -> None:
        self.fail_writes: type[apsw.Error] | None = None
        self.fail_syncs = 0
        self.after_sync = False
        super().__init__("faulty-disk", "")

    def xOpen(self, name: object, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _FaultyFile(self, name, flags)


class _FaultyFile(apsw.VFSFile):
    def __init__(self, disk: _FaultyDisk, name: object, flags: list[int]) -> None:
        self._disk = disk
        self._is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._is_log and self._disk.fail_writes is not None:
            raise self._disk.fail_writes("no more")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if self._is_log and self._disk.fail_syncs > 0:
            self._disk.fail_syncs -= 1
            raise apsw.IOError("cannot sync")
        super().xSync(flags)


@pytest.fixture
def disk() -> Iterator[_FaultyDisk]:
    disk = _FaultyDisk()
    yield disk
    disk.unregister()


@pytest.fixture
def storage(tmp_path: Path, disk: _FaultyDisk) -> Iterator[SqliteStorage]:
    storage = SqliteStorage.open(tmp_path, vfs="faulty-disk")
    storage.commit(Commit(puts=[put("before")]))
    yield storage
    disk.fail_writes, disk.fail_syncs = None, 0
    storage.close()


def test_a_full_disk_refuses_the_write_and_keeps_the_rest(
    storage: SqliteStorage, disk: _FaultyDisk
) -> None:
    disk.fail_writes = apsw.FullError
    with pytest.raises(StorageUnavailable, match="the disk is full"):
        storage.commit(Commit(puts=[put("a")]))
    assert list(storage.get(["before", "a"])) == ["before"]
    disk.fail_writes = None
    storage.commit(Commit(puts=[put("a")]))
    assert list(storage.get(["before", "a"])) == ["before", "a"]


def test_a_commit_that_failed_once_is_settled_before_it_is_reported(
    storage: SqliteStorage, disk: _FaultyDisk, tmp_path: Path
) -> None:
    disk.fail_syncs = 1
    with pytest.raises(StorageUnavailable, match="the disk reported an error") as caught:
        storage.commit(Commit(puts=[put("a")]))
    assert "could not be confirmed" not in str(caught.value)
    other = SqliteStorage.open(tmp_path, vfs="faulty-disk")
    assert list(other.get(["before", "a"])) == ["before"]
    other.commit(Commit(puts=[put("a")]))
    assert storage.position() == 2
    other.close()


def test_a_commit_whose_outcome_stays_unknown_says_so(
    storage: SqliteStorage, disk: _FaultyDisk
) -> None:
    disk.fail_syncs = 2
    with pytest.raises(StorageUnavailable, match="look for the memory before you store it again"):
        storage.commit(Commit(puts=[put("a")]))
    storage.commit(Commit(puts=[put("b")]))
    assert list(storage.get(["before", "a", "b"])) == ["before", "b"]


class _RaisesAfterCommit:
    """The writer's connection, but for one commit that takes place and then reports an error."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._left = 1

    def execute(self, sql: str, *bindings: object) -> apsw.Cursor:
        cursor = self._connection.execute(sql, *bindings)
        if sql == "COMMIT" and self._left:
            self._left -= 1
            raise apsw.IOError("after the fact")
        return cursor

    def __getattr__(self, name: str) -> object:
        return getattr(self._connection, name)


def test_a_commit_that_took_place_is_acknowledged_whatever_it_reported(
    storage: SqliteStorage,
) -> None:
    database = storage._database
    database._writer.connection = _RaisesAfterCommit(database._writer.connection)
    assert storage.commit(Commit(puts=[put("a")])) == storage.position()
    assert list(storage.get(["a"])) == ["a"]


def test_a_checkpoint_that_fails_takes_nothing_back(
    storage: SqliteStorage, disk: _FaultyDisk, caplog: pytest.LogCaptureFixture
) -> None:
    writer = storage._database._writer
    writer.hasten_checkpoint()
    writer.connection = _NoCheckpoint(writer.connection)
    storage.commit(Commit(puts=[put("a")]))
    assert list(storage.get(["a"])) == ["a"]
    assert "could not be copied yet" in caplog.text


class _NoCheckpoint(_RaisesAfterCommit):
    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(connection)
        self._left = 0

    def wal_checkpoint(self, **_mode: int) -> tuple[int, int]:
        raise apsw.FullError("no space")


@pytest.mark.parametrize(
    ("error", "kind", "advice"),
    [
        (apsw.FullError("x"), StorageUnavailable, "free some space"),
        (apsw.ReadOnlyError("x"), StorageUnavailable, "check the permissions"),
        (apsw.PermissionsError("x"), StorageUnavailable, "access was denied"),
        (apsw.CantOpenError("x"), StorageUnavailable, "cannot be opened"),
        (apsw.BusyError("x"), StorageUnavailable, "other connections kept it busy"),
        (apsw.IOError("x"), StorageUnavailable, "check the disk"),
        (apsw.NoMemError("x"), StorageUnavailable, "NoMemError"),
        (apsw.CorruptError("x"), StoreDamaged, "restore a backup"),
        (apsw.NotADBError("x"), StoreDamaged, "restore a backup"),
    ],
)
def test_each_error_of_sqlite_has_its_sentence(
    error: apsw.Error, kind: type[Exception], advice: str
) -> None:
    found = storage_error(error, Path("/somewhere/memory.db"))
    assert type(found) is kind
    assert advice in str(found)
    assert "/somewhere/memory.db" in str(found)
