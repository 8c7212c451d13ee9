"""Access keys on MongoDB, which every process of a deployment shares."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from mongo_servers import Deployment

from infinite_memory import AccessDenied, Config, MemoryStore
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.testing.embedders import HashingEmbedder

_CREATE = """
import os, sys
from infinite_memory import Config, Conflict, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
with MemoryStore.open(
    sys.argv[1], config=Config(home=sys.argv[2]), embedder=HashingEmbedder()
) as store:
    for number in range(int(sys.argv[3])):
        try:
            new = store.keys.create(f"key {number}")
            os.write(1, f"{new.secret}\\n".encode())
        except Conflict as error:
            assert "is named" in str(error), error
"""


@pytest.fixture
def address(either: Deployment, tmp_path: Path) -> Iterator[str]:
    yield either.address_of(tmp_path)
    either.drop(tmp_path)


def opened(address: str, home: Path) -> MemoryStore:
    return MemoryStore.open(address, config=Config(home=home), embedder=HashingEmbedder())


def creating(address: str, home: Path, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _CREATE, address, str(home), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


@pytest.mark.thorough
def test_processes_share_the_keys_and_a_name_is_given_once(address: str, tmp_path: Path) -> None:
    makers = [creating(address, tmp_path / f"home-{n}", 8) for n in range(3)]
    printed = [process.communicate(timeout=300)[0].decode().split() for process in makers]
    assert [process.returncode for process in makers] == [0] * 3
    secrets = [secret for lines in printed for secret in lines]
    assert len(secrets) == 8
    with (
        opened(address, tmp_path / "a") as one,
        opened(address, tmp_path / "b") as two,
    ):
        assert {one.keys.check(secret).name for secret in secrets} == {
            f"key {number}" for number in range(8)
        }
        two.keys.revoke("key 3")
        details = []
        for secret in secrets:
            try:
                one.keys.check(secret)
            except AccessDenied as error:
                details.append(error.detail)
        assert [detail for detail in details if "'key 3'" in detail] == details
        assert len(details) == 1
        verified = one.verify()
        assert (verified.sound, verified.counts["access_keys"]) == (True, 8)


@pytest.mark.thorough
def test_a_killed_process_leaves_every_key_that_it_acknowledged(
    address: str, tmp_path: Path
) -> None:
    with creating(address, tmp_path / "home", 1000) as process:
        assert process.stdout is not None
        seen = [process.stdout.readline().decode() for _ in range(5)]
        process.kill()
        seen += process.stdout.read().decode().splitlines(keepends=True)
    secrets = [line.strip() for line in seen if line.endswith("\n")]
    assert len(secrets) >= 5
    with opened(address, tmp_path / "home") as store:
        assert all(store.keys.check(secret) for secret in secrets)
        assert store.verify().sound


def test_a_handle_for_a_client_is_confined_on_a_server_too(address: str, tmp_path: Path) -> None:
    with opened(address, tmp_path) as store:
        store.remember("the ferry leaves at ten", id="ferry", scope="team/travel")
        store.remember("the harbour opens at nine", id="harbour")
        with store.confine(scopes="team/*", client="key", read_only=True) as handle:
            hits = handle.search("when does the ferry leave?", scope="ALL", threshold=0)
            assert [hit.memory.id for hit in hits] == ["ferry"]
        with closing(open_mongodb(address)) as storage:
            assert storage.journal_end().number == 2
