"""A store of schema 1, which had no access keys, is brought forward and keeps everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import apsw
import pytest

from infinite_memory import Config, MemoryStore
from infinite_memory.errors import SchemaTooNew, StorageUnavailable
from infinite_memory.storage.sqlite import SqliteStorage, migrations
from infinite_memory.storage.sqlite.schema import SCHEMA_VERSION
from infinite_memory.testing.embedders import HashingEmbedder
from tests.harness.power import FragileDisk, restore

SCRIPT = Path(__file__).parent / "schema_1.sql"
MEMORIES = {
    "deadline": "The deadline of project Apollo is June 12",
    "job": "Alice works at Acme",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder as the program of schema 1 left it."""
    home = tmp_path / "home"
    home.mkdir()
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute(SCRIPT.read_text(encoding="utf-8"))
    identity = connection.execute("SELECT identity FROM ledger").get
    connection.pragma("journal_mode", "wal")
    connection.close()
    (home / "memory.db.marker").write_text(f"Infinite Memory store {identity}\n")
    assert query(home, "PRAGMA user_version") == 1
    return home


def query(home: Path, sql: str) -> object:
    connection = apsw.Connection(str(home / "memory.db"))
    try:
        return connection.execute(sql).get
    finally:
        connection.close()


def check_whole(storage: SqliteStorage) -> None:
    records = storage.get(list(MEMORIES))
    assert {memory_id: record.memory.text for memory_id, record in records.items()} == MEMORIES
    assert [len(record.embeddings) for record in records.values()] == [1, 1]
    assert len(storage.history("deadline")) == 2
    assert storage.erased(["slip"]) == {"slip"}
    assert [entry.number for entry in storage.journal(limit=99)] == [6, 5, 4, 3, 2, 1]
    assert storage.access_keys() == {}
    assert storage.verify().sound


def test_it_keeps_everything_and_takes_access_keys(home: Path) -> None:
    storage = SqliteStorage.open(home)
    check_whole(storage)
    storage.close()
    assert query(home, "PRAGMA user_version") == SCHEMA_VERSION
    with MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder(8)) as store:
        new = store.keys.create("laptop")
        assert store.keys.check(new.secret) == new.key
        assert store.search("Apollo", scope="apollo")[0].memory.id == "deadline"
        store.undo(4)
        assert store.verify().sound


def test_its_tables_are_then_those_of_a_new_store(home: Path, tmp_path: Path) -> None:
    tables = "SELECT group_concat(type || name || ifnull(sql, ''), ';') FROM " + (
        "(SELECT * FROM sqlite_master ORDER BY name)"
    )
    for folder in (home, tmp_path / "new"):
        SqliteStorage.open(folder).close()
    assert query(home, tables) == query(tmp_path / "new", tables)


_OPEN = """
import sys
from pathlib import Path
from infinite_memory.storage.sqlite import SqliteStorage
storage = SqliteStorage.open(Path(sys.argv[1]))
print(len(storage.access_keys()))
storage.close()
"""


def test_several_processes_bring_it_forward_at_once(home: Path) -> None:
    command = [sys.executable, "-c", _OPEN, str(home)]
    openers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate(timeout=300)[0] for process in openers] == [b"0\n"] * 4
    storage = SqliteStorage.open(home)
    check_whole(storage)
    storage.close()


def test_a_step_that_fails_leaves_it_as_it_was(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(connection: apsw.Connection) -> None:
        step(connection)
        raise apsw.FullError("no more")

    step = migrations.STEPS[1]
    monkeypatch.setitem(migrations.STEPS, 1, fail)
    with pytest.raises(StorageUnavailable, match="the disk is full"):
        SqliteStorage.open(home)
    assert query(home, "PRAGMA user_version") == 1
    assert query(home, "SELECT count(*) FROM sqlite_master WHERE name = 'access_keys'") == 0
    monkeypatch.setitem(migrations.STEPS, 1, step)
    storage = SqliteStorage.open(home)
    check_whole(storage)
    storage.close()


def test_a_power_cut_at_any_write_loses_nothing(home: Path, tmp_path: Path) -> None:
    disk = FragileDisk("fragile-schema-1", home)
    random, images = Random(5), []
    disk.before_step = lambda: images.append(disk.cut(random))  # type: ignore[method-assign]
    try:
        with disk.watching():
            SqliteStorage.open(home, vfs=disk.name, checkpoint_pages=2).close()
    finally:
        disk.unregister()
    assert len(images) > 5
    for number, image in enumerate(images):
        left = tmp_path / f"left{number}"
        restore(image, left)
        storage = SqliteStorage.open(left)
        check_whole(storage)
        storage.close()


def test_the_program_of_schema_1_refuses_what_was_brought_forward(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SqliteStorage.open(home).close()
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", 1)
    with pytest.raises(SchemaTooNew, match=r"its schema is 2, .*knows 1.*upgrade infinite-memory"):
        SqliteStorage.open(home)
