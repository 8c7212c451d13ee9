"""What is around a store is looked at first, and each hindrance has its own sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import Config, MemoryStore, StorageUnavailable
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.files.filesystem import (
    Mount,
    check_surroundings,
    mount_of,
    read_mounts,
)
from infinite_memory.testing.embedders import HashingEmbedder

NOBODY = 65534
MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / {home} rw,relatime shared:1 master:2 - {kind} server:/export\\040one rw
31 22 0:41 / {home}/local rw - ext4 /dev/vdb rw
nonsense
"""

as_root = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can become another user"
)


def mounts(tmp_path: Path, kind: str) -> Path:
    file = tmp_path / "mountinfo"
    file.write_text(MOUNTS.format(home=tmp_path / "home", kind=kind))
    return file


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph"])
def test_a_network_file_system_is_refused_with_its_name(tmp_path: Path, kind: str) -> None:
    with pytest.raises(StorageUnavailable, match="is on a network file system") as caught:
        check_surroundings(tmp_path / "home" / "store", mounts=mounts(tmp_path, kind))
    assert f"({kind}, server:/export one at {tmp_path / 'home'})" in str(caught.value)
    assert "--home or INFINITE_MEMORY_HOME" in str(caught.value)


def test_a_local_disk_is_not_refused_even_under_a_network_one(tmp_path: Path) -> None:
    check_surroundings(tmp_path / "home", mounts=mounts(tmp_path, "ext4"))
    check_surroundings(tmp_path / "home" / "local" / "store", mounts=mounts(tmp_path, "nfs"))
    check_surroundings(tmp_path / "elsewhere", mounts=mounts(tmp_path, "nfs"))


def test_the_mount_that_counts_is_the_deepest_and_latest() -> None:
    found = read_mounts(
        "1 0 0:1 / / rw - 9p root rw\n2 1 0:2 / /tmp rw - nfs a:/ rw\n3 1 0:3 / /tmp rw - ext4 b rw"
    )
    assert mount_of(Path("/tmp/x"), found) == Mount("/tmp", "ext4", "b")
    assert mount_of(Path("/other"), found) == Mount("/", "9p", "root")
    assert mount_of(Path("/other"), []) is None


def test_a_root_on_the_network_and_a_system_without_a_list_are_accepted(tmp_path: Path) -> None:
    root = tmp_path / "mountinfo"
    root.write_text("1 0 0:1 / / rw - nfs server:/ rw\n")
    check_surroundings(tmp_path, mounts=root)
    check_surroundings(tmp_path, mounts=tmp_path / "missing")


def as_nobody(code: str, *arguments: str) -> str:
    """Run code that has imported everything before it gave up its rights."""
    prelude = (
        "import os, sys; from pathlib import Path\n"
        "Path('/').as_uri()\n"  # for which some versions of Python import more
        "from infinite_memory.storage.sqlite import SqliteStorage\n"
        "from infinite_memory.core.errors import StorageError\n"
        "from infinite_memory.testing.storage_contract import put\n"
        f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
    )
    attempt = "try:\n    SqliteStorage.open(Path(sys.argv[1])).close(); print('opened')\n"
    refusal = "except StorageError as error:\n    print(type(error).__name__, error)\n"
    done = subprocess.run(
        [sys.executable, "-c", prelude + code + attempt + refusal, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a folder that every user may pass through."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.process
@as_root
def test_missing_permission_is_said_with_the_way_out(place: Path) -> None:
    home = place / "home"
    SqliteStorage.open(home).close()
    home.chmod(0o755)
    sentence = as_nobody("", str(home))
    assert sentence.startswith(f"StorageUnavailable {home} may not be read and written by the user")
    assert f"chmod 700 {home}" in sentence
    assert "Permission denied" in as_nobody("", str(place / "new"))
    home.chmod(0o700)
    assert "Permission denied" in as_nobody("", str(home / "deeper"))


@pytest.mark.thorough
@as_root
def test_a_database_that_may_not_be_read_is_named(place: Path) -> None:
    home = place / "home"
    SqliteStorage.open(home).close()
    for path in [home, *home.iterdir()]:
        os.chown(path, NOBODY, NOBODY)
    (home / "memory.db").chmod(0)
    sentence = as_nobody("", str(home))
    assert sentence.startswith(f"StorageUnavailable {home / 'memory.db'}: it cannot be opened")
    (home / "memory.db").chmod(0o600)
    (home / "store.lock").chmod(0)
    assert "the lock file" in as_nobody("", str(home))
    (home / "store.lock").chmod(0o600)
    assert as_nobody("", str(home)) == "opened\n"


@pytest.mark.thorough
@as_root
def test_a_folder_of_another_user_is_refused_for_root_and_for_others(place: Path) -> None:
    home = place / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    with pytest.raises(
        StorageUnavailable, match=r"belongs to the user .*could not use.*run this as"
    ):
        SqliteStorage.open(home)
    assert list(home.iterdir()) == []
    os.chown(home, 12345, 12345)
    home.chmod(0o777)
    assert "belongs to the user 12345, not to" in as_nobody("", str(home))
    os.chown(home, 0, 0)
    assert as_nobody("", str(home)) == "opened\n"


@as_root
def test_a_file_system_that_is_mounted_read_only_is_named(place: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("mounts the way Linux does")
    home = place / "home"
    SqliteStorage.open(home).close()
    for command in (
        ["mount", "--bind", str(home), str(home)],
        ["mount", "-o", "remount,bind,ro", str(home)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            subprocess.run(["umount", "-l", str(home)], capture_output=True, check=False)
            pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")
    try:
        with pytest.raises(StorageUnavailable, match=r"mounted read-only.*copy the folder"):
            SqliteStorage.open(home)
    finally:
        subprocess.run(["umount", str(home)], check=True)


class JumpingClock:
    """A clock that was set forward and back by years between any two looks."""

    def __init__(self) -> None:
        self.now = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)  # the hour that comes twice in Europe
        self.looks = 0

    def __call__(self) -> datetime:
        self.looks += 1
        years = (0, 40, -50, 3000, -60, -0.00001)[self.looks % 6]
        return self.now + timedelta(days=365 * years)


def test_a_clock_that_jumps_loses_nothing_and_reorders_no_history(tmp_path: Path) -> None:
    def opened() -> MemoryStore:
        return MemoryStore.open(
            tmp_path / "home",
            config=Config(home=tmp_path, time_zone="Europe/Berlin"),
            embedder=HashingEmbedder(),
            clock=clock,
        )

    clock = JumpingClock()
    ids = []
    for round_ in range(4):
        with opened() as store:
            ids += [store.remember(f"memory {round_} {number}").id for number in range(8)]
            for revision in range(1, 5):
                store.revise(ids[0], revision=4 * round_ + revision, title=f"{round_} {revision}")
    with opened() as store:
        assert len(set(ids)) == 32
        assert {memory.id for memory in store.browse(limit=100).memories} == set(ids)
        assert [memory.revision for memory in store.journal.history(ids[0])] == list(range(1, 18))
        store.forget(ids[1])
        store.revise(ids[1], revision=2, status="current")
        assert store.search("memory 0 1", limit=32).items
        assert store.models.catch_up() == 0
        assert store.verify().sound
        assert {memory.id for memory in store.browse(limit=100).memories} == set(ids)
