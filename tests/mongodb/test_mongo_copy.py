"""Moving between backends: SQLite, MongoDB and back, to the byte."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest
from mongo_servers import Deployment
from pymongo import MongoClient

from infinite_memory import Conflict, InvalidInput, StorageUnavailable, copy_store
from infinite_memory.storage.mongodb import open_mongodb
from infinite_memory.storage.open import open_storage
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.everything import dump, fill

pytestmark = pytest.mark.slow("mongodb")

COMMAND = [sys.executable, "-m", "infinite_memory.apps.cli.main", "copy", "--with-keys"]
copy_all = partial(copy_store, with_keys=True)


@pytest.fixture
def servers(single: Deployment) -> Deployment:
    return single


@pytest.fixture
def database(servers: Deployment, tmp_path: Path) -> Iterator[str]:
    yield servers.address_of(tmp_path)
    servers.drop(tmp_path)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    with closing(SqliteStorage.open(folder)) as storage:
        fill(storage, plain=1500)
    return folder


def lines(address: str | Path) -> list[str]:
    with closing(open_storage(str(address), home=Path("/nowhere"))) as storage:
        return list(dump(storage))


def run(*arguments: str | Path, home: Path) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("INFINITE_MEMORY_")}
    return subprocess.run(
        [*COMMAND, *map(str, arguments), "--json"],
        env={**kept, "INFINITE_MEMORY_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_there_and_back_every_byte_is_the_same(source: Path, database: str, tmp_path: Path) -> None:
    there = copy_all(source, database)
    back = copy_all(database, tmp_path / "back")

    assert there.whole
    assert back.whole
    assert there.compared == back.compared
    assert lines(database) == lines(source)
    assert lines(tmp_path / "back") == lines(source)


def test_a_copy_that_was_killed_leaves_nothing_or_everything(
    source: Path, database: str, tmp_path: Path
) -> None:
    """The same command again, after kill -9 at whatever moment, until one comes to its end."""
    open_mongodb(database).close()
    empty, whole = lines(database), lines(source)
    kills = 0
    for wait in (0.3, 0.1, 0.05, 0.2, 0.4):
        former = claim(database)
        process = subprocess.Popen(
            [*COMMAND, str(source), database],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            # From its claim on it is under way.
            deadline = time.monotonic() + 120
            while (
                process.poll() is None and time.monotonic() < deadline and claim(database) == former
            ):
                time.sleep(0.01)
            with suppress(subprocess.TimeoutExpired):
                process.wait(wait)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
            process.wait()
        assert lines(database) in (empty, whole)
    assert kills, "each of them came to its end"

    done = run(source, database, home=tmp_path / "home")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["whole"]
    assert lines(database) == whole
    with MongoClient(database, timeoutMS=60_000) as client:
        names = client.get_default_database().list_collection_names()
        assert not [name for name in names if name.startswith("restoring")]


def claim(address: str) -> object:
    """Return the name of the collections in which a copy is prepared, None if there is none."""
    with MongoClient(address, timeoutMS=60_000) as client:
        found = client.get_default_database()["metadata"].find_one({"_id": "restoring"})
        return found and found["prefix"]


def test_a_database_that_holds_something_else_is_refused(source: Path, database: str) -> None:
    with closing(open_mongodb(database)) as storage:
        fill(storage)
    before = lines(database)
    with pytest.raises(Conflict, match="holds memories or scopes already"):
        copy_all(source, database)
    assert lines(database) == before


def test_one_database_by_two_addresses_is_not_copied_into_itself(database: str) -> None:
    with closing(open_mongodb(database)) as storage:
        fill(storage)
    joined = "&" if "?" in database else "?"
    with pytest.raises(InvalidInput, match="are the same store"):
        copy_all(database, f"{database}{joined}appname=other")


def test_a_database_that_is_not_there_is_not_made(database: str, tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="there is no store at"):
        copy_all(database, tmp_path / "target")
    assert not (tmp_path / "target").exists()
    with MongoClient(database, timeoutMS=60_000) as client:
        assert client.get_default_database().list_collection_names() == []


def test_damage_in_a_database_is_left_out_and_named(
    source: Path, database: str, tmp_path: Path
) -> None:
    copy_all(source, database)
    with MongoClient(database, timeoutMS=60_000) as client:
        spoilt = client.get_default_database()
        spoilt["memories"].update_one({"_id": "plain"}, {"$set": {"text": "Spoilt."}})
        spoilt["passages"].delete_one({"memory_id": "plain-000007"})
        spoilt["revisions"].update_one({"memory_id": "history"}, {"$set": {"body": "{}"}})
        spoilt["scopes"].update_one({"_id": "diary"}, {"$set": {"active": False}})

    done = run(database, tmp_path / "back", home=tmp_path / "home")

    assert done.returncode == 4
    report = json.loads(done.stdout)
    assert sorted((each["part"], each["id"]) for each in report["left_out"]) == [
        ("embedding", "plain-000007"),
        # Those from and to the damaged memory.
        *6 * [("link", None)],
        ("memory", "plain"),
        ("revision", "history"),
        ("scope", "diary"),
    ]
    assert report["different"] == []
    assert report["compared"]["memories"] == 1509
