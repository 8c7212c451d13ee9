"""A full disk: what does not fit is refused as a whole, what is there can be read and forgotten."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from infinite_memory import Config, MemoryStore, NotFound, StorageUnavailable
from infinite_memory.core.values.commit import Commit
from infinite_memory.core.values.memory import Status
from infinite_memory.core.values.receipt import Searchable
from infinite_memory.features.background.upkeep.describe import describe_report
from infinite_memory.features.background.upkeep.report import JobReport, UpkeepReport
from infinite_memory.features.background.worker.jobs import JOBS
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.files.disk_reserve import OPENING_BYTES, RESERVE_BYTES, Reserve
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import put

FULL = "the disk is full, or your quota on it is used up, and nothing was stored"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a small file system of its own, which only root may."""
    point = tmp_path / "disk"
    point.mkdir()
    if sys.platform != "linux":
        pytest.skip("mounts a small file system the way Linux does")
    command = ["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "tmpfs", str(point)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")
    yield point
    subprocess.run(["umount", "-l", str(point)], check=True)


def opened(home: Path) -> MemoryStore:
    return MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder())


def fill(disk: Path, *, leave_bytes: int = 0) -> Path:
    """Fill the file system but for so much."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\xaa" * 65536)
        except OSError:
            pass
    if leave_bytes:
        os.truncate(ballast, ballast.stat().st_size - leave_bytes)
    return ballast


@pytest.mark.process
def test_a_full_disk_refuses_what_is_new_and_lets_everything_be_forgotten(disk: Path) -> None:
    home = disk / "home"
    with opened(home) as store:
        big = "x" * (1 << 20)
        store.remember(big, id="big")
        for number in range(20):
            store.remember(f"memory {number}", id=f"m{number}")
        ballast = fill(disk)
        for _ in range(30):
            with pytest.raises(StorageUnavailable, match=FULL):
                store.remember("y" * 100_000, id="late")
        with pytest.raises(NotFound):
            store.get("late")
        assert store.get("m3").text == "memory 3"
        assert store.search("memory 3", limit=20).items
        store.forget("m1")
        store.forget("big")
        store.forget("m2", hard=True)
        store.forget("big", hard=True)
        assert store.get("m1").status is Status.FORGOTTEN
        for gone in ("m2", "big"):
            with pytest.raises(NotFound):
                store.get(gone)
        ballast.unlink()
        store.remember("y" * 100_000, id="late")
        assert store.verify().sound
    with opened(home):
        assert (home / "store.reserve").stat().st_size == RESERVE_BYTES


def test_a_process_that_starts_on_a_full_disk_can_read_and_forget(disk: Path) -> None:
    home = disk / "home"
    with opened(home) as store:
        for number in range(20):
            store.remember(f"memory {number}", id=f"m{number}")
    fill(disk)
    for number in range(3):
        with opened(home) as store:
            assert store.get("m9").text == "memory 9"
            store.forget(f"m{number}", hard=number == 1)
    with opened(home) as store:
        assert store.get("m0").status is Status.FORGOTTEN
        with pytest.raises(NotFound):
            store.get("m1")


def test_a_text_that_is_stored_when_the_disk_fills_up_is_acknowledged(disk: Path) -> None:
    class FillingEmbedder(HashingEmbedder):
        def embed(self, texts):  # type: ignore[no-untyped-def]
            fill(disk)
            return super().embed(texts)

    config = Config(home=disk / "home")
    embedder = FillingEmbedder(dimensions=100_000)
    with MemoryStore.open(disk / "home", config=config, embedder=embedder) as store:
        receipt = store.remember("a memory whose vector finds no room", id="a")
        assert receipt.searchable is Searchable.WORDS
        assert store.get("a").text == "a memory whose vector finds no room"


def test_a_store_that_does_not_fit_is_not_made_and_says_why(disk: Path) -> None:
    fill(disk)
    with pytest.raises(StorageUnavailable, match=r"the disk is full|space on its disk"):
        opened(disk / "home")


LIMITED = """
import resource, signal, sys
from pathlib import Path
from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.core.values.commit import Commit
from infinite_memory.testing.storage_contract import put
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
storage = SqliteStorage.open(Path(sys.argv[1]))
storage.commit(Commit(puts=[put("before")]))
resource.setrlimit(resource.RLIMIT_FSIZE, (4500000, resource.RLIM_INFINITY))
try:
    storage.commit(Commit(puts=[put("late", text="z" * 6_000_000)]))
except StorageUnavailable as error:
    print(error)
print(sorted(storage.get(["before", "late"])))
"""


@pytest.mark.thorough
def test_a_limit_on_the_size_of_files_is_no_room_either(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "home")],
        capture_output=True,
        text=True,
        check=True,
    )
    sentence, found = done.stdout.splitlines()
    assert FULL in sentence
    assert found == "['before']"


class _NoRoom(apsw.VFS):
    """A disk without any room left for the log, until the reserve of the store is given back."""

    def __init__(self, reserve: Path) -> None:
        self.reserve = reserve
        self.full = False
        super().__init__("no-room", "")

    def xOpen(self, name: object, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _NoRoomFile(self, name, flags)


class _NoRoomFile(apsw.VFSFile):
    def __init__(self, disk: _NoRoom, name: object, flags: list[int]) -> None:
        self._disk = disk
        self._is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._is_log and self._disk.full and self._disk.reserve.exists():
            raise apsw.FullError("no room")
        super().xWrite(data, offset)


def test_the_reserve_is_given_for_forgetting_alone_and_made_again(tmp_path: Path) -> None:
    reserve = tmp_path / "store.reserve"
    disk = _NoRoom(reserve)
    storage = SqliteStorage.open(tmp_path, vfs="no-room")
    assert reserve.stat().st_size == RESERVE_BYTES
    assert reserve.stat().st_blocks * 512 >= RESERVE_BYTES
    storage.commit(Commit(puts=[put("a"), put("b")]))
    disk.full = True
    with pytest.raises(StorageUnavailable, match=FULL):
        storage.commit(Commit(puts=[put("c")]))
    with pytest.raises(StorageUnavailable, match=FULL):
        storage.commit(Commit(puts=[put("a", revision=2, status=Status.FORGOTTEN), put("c")]))
    assert reserve.exists()
    storage.commit(Commit(puts=[put("a", revision=2, status=Status.FORGOTTEN)]))
    assert storage.get(["a"])["a"].memory.status is Status.FORGOTTEN
    storage.close()
    assert reserve.stat().st_size == RESERVE_BYTES
    disk.unregister()


def test_the_reserve_is_given_in_parts_and_no_loss_when_it_is_gone(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path / "store.reserve")
    assert not reserve.give(OPENING_BYTES)
    assert reserve.fill()
    assert reserve.give(OPENING_BYTES)
    assert (tmp_path / "store.reserve").stat().st_size == RESERVE_BYTES - OPENING_BYTES
    assert reserve.fill()
    assert (tmp_path / "store.reserve").stat().st_size == RESERVE_BYTES
    assert reserve.give(RESERVE_BYTES)
    assert not (tmp_path / "store.reserve").exists()


def test_a_reserve_that_cannot_be_made_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "store.reserve").mkdir()
    storage = SqliteStorage.open(tmp_path)
    storage.commit(Commit(puts=[put("a")]))
    storage.close()


def test_a_full_disk_is_said_once_for_all_the_jobs_that_it_stops(
    disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(disk / "home") as store:
        store.remember("a memory")
        fill(disk)
        report = store.upkeep.optimize(jobs=[job.name for job in JOBS])
    assert len(report.jobs) == len(JOBS)
    assert [job.job for job in report.jobs if job.failure is not None] == ["backup"]
    assert caplog.text.count("No space left on device") == 1
    assert "was given up" not in caplog.text  # the report says so


def test_a_reason_that_stops_several_jobs_is_said_once_with_their_names() -> None:
    jobs = [JobReport(job=name, failure="the disk is full") for name in ("archive", "limit")]
    other = JobReport(job="backup", failure="there is no folder")
    report = UpkeepReport(dry_run=False, jobs=(*jobs, other))
    assert list(describe_report(report, {}, undo="undo {}")) == [
        "archive, limit: given up, and nothing was changed: the disk is full",
        "backup: given up, and nothing was changed: there is no folder",
    ]
