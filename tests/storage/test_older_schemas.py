"""A store of an older schema is brought forward and keeps everything.

Schema 1 had no access keys, schema 2 no activations, schema 3 no counts, and schema 4 every vector
in single precision. The store of schema 2 has an access key and recalls, those of schema 3 and 4 an
activation too; otherwise they are the same.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import apsw
import pytest

from infinite_memory import Config, MemoryStore
from infinite_memory.core.errors import SchemaTooNew, StorageUnavailable
from infinite_memory.core.values.record import Usage
from infinite_memory.storage.sqlite import SqliteStorage, migrations
from infinite_memory.storage.sqlite.schema import SCHEMA_VERSION
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import make_access_key
from tests.harness.older_stores import OLDER_SCHEMAS, make_older_store
from tests.harness.power import FragileDisk, restore

MEMORIES = {
    "deadline": "The deadline of project Apollo is June 12",
    "job": "Alice works at Acme",
}
_KEY = {"aaaaaaaa": make_access_key("aaaaaaaa")}
KEYS = {1: {}, 2: _KEY, 3: _KEY, 4: _KEY}
_DAY = datetime(2026, 6, 5, 9, tzinfo=UTC)
_ACTIVATED = Usage(count=1, last=_DAY, activation=2.5, activated_at=_DAY + timedelta(days=1))
_USED = {"deadline": Usage(count=3, last=_DAY), "job": _ACTIVATED}
USED = {
    1: {},
    2: {"deadline": Usage(count=3, last=_DAY), "job": Usage(count=1, last=_DAY)},
    3: _USED,
    4: _USED,
}
TABLES = (
    "SELECT group_concat(type || name || ifnull(sql, ''), ';') FROM "
    "(SELECT * FROM sqlite_master ORDER BY name)"
)


@pytest.fixture(params=OLDER_SCHEMAS)
def schema(request: pytest.FixtureRequest) -> int:
    """Return the version of the older schema."""
    version: int = request.param
    return version


@pytest.fixture
def home(tmp_path: Path, schema: int) -> Path:
    """Return a folder as the program of the older schema left it."""
    home = tmp_path / "home"
    make_older_store(home, schema)
    assert query(home, "PRAGMA user_version") == schema
    return home


def query(home: Path, sql: str) -> object:
    connection = apsw.Connection(str(home / "memory.db"))
    try:
        return connection.execute(sql).get
    finally:
        connection.close()


def check_whole(storage: SqliteStorage, schema: int) -> None:
    records = storage.get(list(MEMORIES))
    assert {memory_id: record.memory.text for memory_id, record in records.items()} == MEMORIES
    assert [len(record.embeddings) for record in records.values()] == [1, 1]
    assert len(storage.history("deadline")) == 2
    assert storage.erased(["slip"]) == {"slip"}
    assert [entry.number for entry in storage.journal(limit=99)] == [6, 5, 4, 3, 2, 1]
    assert storage.access_keys() == KEYS[schema]
    assert storage.usage(list(MEMORIES)) == USED[schema]
    assert storage.verify().sound


def test_it_keeps_everything_and_takes_activations(home: Path, schema: int) -> None:
    storage = SqliteStorage.open(home)
    check_whole(storage, schema)
    recalled = storage.usage(["job"]).get("job", Usage(count=0))
    activation = Usage(count=0, activation=5.0, activated_at=datetime(2026, 7, 1, tzinfo=UTC))
    storage.count_usage({"job": activation})
    assert storage.usage(["job"]) == {"job": recalled.plus(activation)}
    assert storage.verify().sound
    storage.close()


def test_it_takes_access_keys(home: Path) -> None:
    SqliteStorage.open(home).close()
    assert query(home, "PRAGMA user_version") == SCHEMA_VERSION
    with MemoryStore.open(home, config=Config(home=home), embedder=HashingEmbedder(8)) as store:
        new = store.keys.create("laptop", scopes="*")
        assert store.keys.check(new.secret) == new.key
        assert store.search("Apollo", scope="apollo")[0].memory.id == "deadline"
        store.undo(4)
        assert store.verify().sound


def test_its_tables_are_then_those_of_a_new_store(home: Path, tmp_path: Path) -> None:
    for folder in (home, tmp_path / "new"):
        SqliteStorage.open(folder).close()
    assert query(home, TABLES) == query(tmp_path / "new", TABLES)


_OPEN = """
import sys
from pathlib import Path
from infinite_memory.storage.sqlite import SqliteStorage
storage = SqliteStorage.open(Path(sys.argv[1]))
print(len(storage.journal(limit=99)))
storage.close()
"""


@pytest.mark.thorough
def test_several_processes_bring_it_forward_at_once(home: Path, schema: int) -> None:
    command = [sys.executable, "-c", _OPEN, str(home)]
    openers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate(timeout=300)[0] for process in openers] == [b"6\n"] * 4
    storage = SqliteStorage.open(home)
    check_whole(storage, schema)
    storage.close()


def test_a_step_that_fails_leaves_it_as_it_was(
    home: Path, schema: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(connection: apsw.Connection) -> None:
        step(connection)
        raise apsw.FullError("no more")

    last = SCHEMA_VERSION - 1
    step, before = migrations.STEPS[last], query(home, TABLES)
    monkeypatch.setitem(migrations.STEPS, last, fail)
    with pytest.raises(StorageUnavailable, match="the disk is full"):
        SqliteStorage.open(home)
    assert query(home, "PRAGMA user_version") == schema
    assert query(home, TABLES) == before
    monkeypatch.setitem(migrations.STEPS, last, step)
    storage = SqliteStorage.open(home)
    check_whole(storage, schema)
    storage.close()


def test_a_power_cut_at_any_write_loses_nothing(home: Path, schema: int, tmp_path: Path) -> None:
    disk = FragileDisk(f"fragile-schema-{schema}", home)
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
        check_whole(storage, schema)
        storage.close()


def test_the_older_program_refuses_what_was_brought_forward(
    home: Path, schema: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    SqliteStorage.open(home).close()
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", schema)
    refusal = f"its schema is {SCHEMA_VERSION}, .*knows {schema}.*upgrade infinite-memory"
    with pytest.raises(SchemaTooNew, match=refusal):
        SqliteStorage.open(home)
