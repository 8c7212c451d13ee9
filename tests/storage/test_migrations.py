"""A store of an older schema is brought forward as a whole, or stays as it was.

The steps here are made for the tests: the next schema would keep the kind of every memory a second
time, and the one after it would count the memories. The steps that exist have their tests in
`test_older_schemas.py`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import apsw
import pytest

from infinite_memory.core.errors import SchemaTooNew, StorageUnavailable, StoreDamaged
from infinite_memory.core.values.commit import Commit, Erase
from infinite_memory.storage.sqlite import SqliteStorage, migrations
from infinite_memory.storage.sqlite.files.disk_reserve import RESERVE_BYTES
from infinite_memory.storage.sqlite.schema import SCHEMA_VERSION
from infinite_memory.testing.storage_contract import make_embedding, put
from infinite_memory.testing.storage_contract.journal import make_action
from tests.harness.power import FragileDisk, restore

TARGET = SCHEMA_VERSION + 2


def copy_kinds(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE kinds (number INTEGER PRIMARY KEY, kind TEXT NOT NULL) STRICT")
    connection.execute("INSERT INTO kinds SELECT number, kind FROM memories")


def count_memories(connection: apsw.Connection) -> None:
    connection.execute("CREATE TABLE counted AS SELECT count(*) AS held FROM kinds")


STEPS = {SCHEMA_VERSION: copy_kinds, SCHEMA_VERSION + 1: count_memories}


def become_newer(steps: dict[int, migrations.Step]) -> None:
    """Let this process be a newer version of the package, with two more schemas."""
    migrations.SCHEMA_VERSION = TARGET  # type: ignore[attr-defined]
    migrations.STEPS.update(steps)


def become_present() -> None:
    """Undo `become_newer`."""
    migrations.SCHEMA_VERSION = SCHEMA_VERSION  # type: ignore[attr-defined]
    for version in STEPS:
        migrations.STEPS.pop(version, None)


@pytest.fixture
def newer(home: Path) -> Iterator[None]:
    become_newer(STEPS)
    yield
    become_present()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the folder of a store of today."""
    home = tmp_path / "home"
    storage = SqliteStorage.open(home)
    storage.commit(Commit(puts=[put("a", embedding=make_embedding(1)), put("b"), put("gone")]))
    storage.commit(Commit(puts=[put("b", revision=2, text="revised")], entry=make_action("a", "b")))
    storage.commit(Commit(erases=[Erase(id="gone")]))
    storage.close()
    return home


def query(home: Path, sql: str) -> object:
    connection = apsw.Connection(str(home / "memory.db"))
    try:
        return connection.execute(sql).get
    finally:
        connection.close()


def check_whole(storage: SqliteStorage) -> None:
    records = storage.get(["a", "b"])
    assert records["a"].embeddings == (make_embedding(1),)
    assert [memory.text for memory in storage.history("b")] == ["text of b", "revised"]
    assert storage.erased(["gone"]) == {"gone"}
    assert storage.position() == 5
    assert len(storage.journal(limit=9)) == 1


@pytest.mark.usefixtures("newer")
def test_an_older_store_has_everything_that_it_had(home: Path) -> None:
    storage = SqliteStorage.open(home)
    check_whole(storage)
    storage.commit(Commit(puts=[put("new")]))
    storage.close()
    assert query(home, "PRAGMA user_version") == TARGET
    assert query(home, "SELECT held FROM counted") == 2
    storage = SqliteStorage.open(home)
    assert list(storage.get(["a", "new"])) == ["a", "new"]
    storage.close()


@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize("failing", sorted(STEPS))
def test_a_step_that_fails_leaves_the_older_schema_whole(home: Path, failing: int) -> None:
    def fail(connection: apsw.Connection) -> None:
        STEPS[failing](connection)
        raise apsw.FullError("no more")

    migrations.STEPS[failing] = fail
    reader = apsw.Connection(str(home / "memory.db"))  # keeps the log from being removed
    reader.execute("SELECT 1 FROM ledger").fetchall()
    with pytest.raises(StorageUnavailable, match="the disk is full"):
        SqliteStorage.open(home)
    assert (home / "memory.db-wal").stat().st_size == 0
    assert (home / "store.reserve").stat().st_size == RESERVE_BYTES
    reader.close()
    assert query(home, "PRAGMA user_version") == SCHEMA_VERSION
    assert query(home, "SELECT count(*) FROM sqlite_master WHERE name = 'kinds'") == 0
    migrations.STEPS.update(STEPS)
    storage = SqliteStorage.open(home)
    check_whole(storage)
    storage.close()


OPENING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_migrations import STEPS, become_newer
from infinite_memory.storage.sqlite import SqliteStorage
become_newer(STEPS)
storage = SqliteStorage.open(Path(sys.argv[1]))
print(storage.position())
storage.close()
"""


@pytest.mark.thorough
def test_several_processes_bring_it_forward_once(home: Path) -> None:
    command = [sys.executable, "-c", OPENING, str(home), str(Path(__file__).parent)]
    opening = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate(timeout=300)[0] for process in opening] == [b"5\n"] * 4
    assert query(home, "SELECT held FROM counted") == 2


def test_an_older_program_refuses_what_a_newer_one_has_brought_forward(home: Path) -> None:
    become_newer(STEPS)
    try:
        SqliteStorage.open(home).close()
    finally:
        become_present()
    with pytest.raises(SchemaTooNew, match=f"its schema is {TARGET}.*upgrade infinite-memory"):
        SqliteStorage.open(home)


def test_an_older_program_that_has_the_store_open_writes_nothing_wrong(home: Path) -> None:
    older = apsw.Connection(str(home / "memory.db"))
    older.execute("SELECT sequence FROM ledger").fetchall()

    def rename(connection: apsw.Connection) -> None:
        connection.execute("ALTER TABLE ledger RENAME TO counter")

    connection = apsw.Connection(str(home / "memory.db"))
    migrations.SCHEMA_VERSION = SCHEMA_VERSION + 1  # type: ignore[attr-defined]
    try:
        assert migrations.migrate(connection, home / "memory.db", {SCHEMA_VERSION: rename})
    finally:
        migrations.SCHEMA_VERSION = SCHEMA_VERSION  # type: ignore[attr-defined]
    connection.close()
    with pytest.raises(apsw.SQLError, match="no such table: ledger"):
        older.execute("UPDATE ledger SET sequence = 10")
    older.close()


def test_a_version_that_no_store_ever_had_is_damage_and_nothing_is_changed(home: Path) -> None:
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("PRAGMA user_version = -3")
    with pytest.raises(StoreDamaged, match="has schema -3"):
        migrations.migrate(connection, home / "memory.db", STEPS)
    assert connection.pragma("user_version") == -3
    connection.close()


@pytest.fixture
def disk(home: Path) -> Iterator[FragileDisk]:
    disk = FragileDisk("fragile-migration", home)
    yield disk
    disk.unregister()


@pytest.mark.usefixtures("newer")
def test_a_power_cut_in_the_middle_loses_nothing(
    home: Path, tmp_path: Path, disk: FragileDisk
) -> None:
    random, images = Random(3), []
    disk.before_step = lambda: images.append(disk.cut(random))  # type: ignore[method-assign]
    with disk.watching():
        SqliteStorage.open(home, vfs=disk.name, checkpoint_pages=2).close()
    assert len(images) > 5
    for number, image in enumerate(images):
        left = tmp_path / f"left{number}"
        restore(image, left)
        storage = SqliteStorage.open(left)
        check_whole(storage)
        storage.close()
        assert query(left, "PRAGMA user_version") == TARGET
        assert query(left, "SELECT held FROM counted") == 2
