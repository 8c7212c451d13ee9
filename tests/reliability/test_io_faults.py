from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from benchmarks.soak.io_faults import run
from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract.base import put
from tests.harness.io_faults import FaultyDisk, Point, meet_fault


@pytest.mark.parametrize(
    ("every", "least"),
    [(97, 15), pytest.param(11, 130, marks=pytest.mark.slow("sqlite-endurance"))],
)
def test_a_disk_that_fails_at_any_call_loses_and_doubles_nothing(
    quick_folder: Path, every: int, least: int
) -> None:
    outcome = run(quick_folder, every=every, first=5)
    assert outcome.faults == ()
    assert outcome.points > least


@pytest.mark.slow("broken-storage")
def test_failed_commits_that_are_acknowledged_are_noticed(quick_folder: Path) -> None:
    outcome = run(quick_folder, every=97, broken=True)
    assert len(outcome.faults) > 0


def test_a_point_that_no_call_reaches_is_reported(quick_folder: Path) -> None:
    point = Point(number=10**6, error="full", lasting=True)
    assert "no call failed" in str(meet_fault(quick_folder / "work", point))


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk("faulty-by-hand")
    yield disk
    disk.unregister()


def test_a_commit_that_is_refused_for_want_of_space_does_not_come_back_after_a_kill(
    quick_folder: Path, disk: FaultyDisk
) -> None:
    refused = 0
    for number in count(1):
        home = quick_folder / str(number)
        storage = SqliteStorage.open(home, vfs=disk.name)
        storage.commit(Commit(puts=[put("before")]))
        disk.arm(Point(number=number, error="full", lasting=True))
        try:
            storage.commit(Commit(puts=[put("a")]))
            break
        except StorageUnavailable as error:
            refused += 1
            unknown = "could not be confirmed" in str(error)
        finally:
            disk.arm(None)
        killed = quick_folder / f"{number}-killed"
        shutil.copytree(home, killed, ignore=shutil.ignore_patterns("*-shm"))
        found = SqliteStorage.open(killed)
        assert unknown or list(found.get(["before", "a"])) == ["before"]
        found.close()
        storage.close()
    storage.close()
    assert refused > 3


def test_a_store_closes_on_a_disk_that_fails_at_any_call(
    quick_folder: Path, disk: FaultyDisk
) -> None:
    number = 0
    while number == 0 or disk.failed:
        number += 1
        home = quick_folder / str(number)
        storage = SqliteStorage.open(home, vfs=disk.name)
        storage.commit(Commit(puts=[put("a")]))
        disk.failed = 0
        disk.arm(Point(number=number, error="error", lasting=False))
        storage.close()
        disk.arm(None)
        again = SqliteStorage.open(home)
        assert list(again.get(["a"])) == ["a"]
        again.close()
    assert number > 5
