"""A server whose disk is full: what was acknowledged stays, and it goes on once there is room."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mongo_servers import Deployment, Member, reserved_ports

from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.storage.mongodb.connection import connect
from infinite_memory.storage.mongodb.storage import MongoStorage
from infinite_memory.testing.storage_contract import put

pytestmark = pytest.mark.slow("mongodb")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=150m", "none", str(folder)]
    try:
        mounted = subprocess.run(command, check=False, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_loses_nothing_that_was_acknowledged(small_disk: Path) -> None:
    with reserved_ports(1) as (port,):
        member = Member(small_disk / "data", port, replica_set="tests", extra=())
        _fill_the_disk_of(member, small_disk)


def _fill_the_disk_of(member: Member, small_disk: Path) -> None:
    member.start()
    try:
        servers = Deployment([member], "tests")
        servers.initiate()
        address = servers.address("full")
        connection = connect(address, serverSelectionTimeoutMS=2000, timeoutMS=5000)
        storage = MongoStorage(connection)
        storage.commit(Commit(puts=[put("first")]))
        hog = small_disk / "hog"
        with pytest.raises(OSError, match="No space"):
            _fill(hog)
        stored = ["first"]
        with pytest.raises(StorageUnavailable, match=str(member.port)):
            _store_until_it_fails(storage, stored)
        storage.close()
        hog.unlink()
        member.go_on()
        storage = open_mongodb(address)
        assert set(stored) <= set(storage.get([*stored, f"m{len(stored) - 1}"]))
        assert storage.commit(Commit(puts=[put("after")])) == storage.position()
        storage.close()
    finally:
        member.stop()


def _fill(hog: Path) -> None:
    with hog.open("wb") as file:
        while True:
            file.write(b"x" * (1 << 20))


def _store_until_it_fails(storage: MongoStorage, stored: list[str]) -> None:
    for number in range(200):
        # Random letters, which do not compress.
        storage.commit(Commit(puts=[put(f"m{number}", text=secrets.token_hex(1 << 19))]))
        stored.append(f"m{number}")
