"""A store that an older version made is brought forward as a whole, or stays as it was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import apsw
import pytest

from infinite_memory.errors import StorageUnavailable
from infinite_memory.model.commit import Attach, Commit, Detach, Erase
from infinite_memory.model.entry import JournalEnd, Operation
from infinite_memory.model.memory import Kind, Status
from infinite_memory.model.record import Change, Record
from infinite_memory.model.scope import Scope
from infinite_memory.operations.verify_journal import check_journal
from infinite_memory.storage.sqlite import SqliteStorage, migrations
from infinite_memory.storage.sqlite.disk_reserve import RESERVE_BYTES
from infinite_memory.storage.sqlite.schema import SCHEMA_VERSION
from infinite_memory.testing.contract_base import make_link
from infinite_memory.testing.contract_journal import make_action
from infinite_memory.testing.power import FragileDisk, restore
from infinite_memory.testing.storage_contract import make_embedding, make_memory, put

_A = Record(
    memory=make_memory(
        "a",
        tags=("Tag", "ünï"),
        title="Title",
        speaker="Alice",
        key="k",
        context={"n": [1, None]},
        scope="s",
        conversation_id="talk",
    ),
    embeddings=(make_embedding(1),),
)
_B = Record(
    memory=make_memory("b", revision=2, text="another text, revised", kind=Kind.FACT),
    embeddings=(make_embedding(2, model="model-b"),),
)
_HIDDEN = Record(
    memory=make_memory("hidden", revision=2, status=Status.FORGOTTEN),
    embeddings=(make_embedding(3, passages=1),),
)
_CHANGES = (
    Change(id="a", record=_A),
    Change(id="b", record=_B),
    Change(id="waits", record=Record(memory=make_memory("waits"))),
    Change(id="hidden", record=_HIDDEN),
    Change(id="gone", record=None),
)


def _restore(home: Path, version: int) -> Path:
    script = Path(__file__).parent / f"version_{version}.sql"
    home.mkdir()
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute(script.read_text(encoding="utf-8"))
    connection.pragma("journal_mode", "wal")
    connection.close()
    return home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return _restore(tmp_path / "home", 1)


@pytest.fixture(params=[1, 2])
def older(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return the folder of a store of each older version."""
    return _restore(tmp_path / "home", request.param)


def _version(home: Path) -> int:
    connection = apsw.Connection(str(home / "memory.db"))
    try:
        return int(connection.pragma("user_version"))
    finally:
        connection.close()


def _check(storage: SqliteStorage) -> None:
    assert storage.changes(0, limit=99).items == _CHANGES
    assert storage.position() == 9
    assert storage.pending("model-a", limit=9) == ["b", "waits"]
    assert storage.measure().embedded == {"model-a": 1, "model-b": 1}
    assert [memory.text for memory in storage.history("b")] == [
        "another text",
        "another text, revised",
    ]
    assert storage.scopes()["s"] == Scope(name="s", description="a scope")
    assert storage.erased(["gone", "a"]) == {"gone"}
    # The vectors of the tests are made of chance; beside that nothing is wrong.
    wrong = [finding.what for finding in storage.verify().findings]
    assert [what for what in wrong if "cannot be right" not in what] == []
    (entry,) = storage.journal(limit=9)
    assert entry.action.operation is Operation.BEGIN
    assert entry.action.reason == "the store held 4 memories before it had a journal"
    assert check_journal(storage) == (1, [])


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_store_has_everything_it_had_and_takes_a_second_model(
    tmp_path: Path, version: int
) -> None:
    home = _restore(tmp_path / "home", version)
    assert _version(home) == version
    storage = SqliteStorage.open(home)
    _check(storage)
    storage.commit(Commit(links=[make_link("a", "b")], entry=make_action("a")))
    assert storage.journal_end().number == 2
    more = make_embedding(7, model="model-b")
    storage.commit(Commit(puts=[put("new")], attaches=[Attach(id="a", revision=1, embedding=more)]))
    storage.close()
    assert _version(home) == SCHEMA_VERSION
    storage = SqliteStorage.open(home)
    assert storage.get(["a"])["a"].embeddings == (*_A.embeddings, more)
    assert storage.pending("model-b", limit=9) == ["waits", "new"]
    storage.close()


@pytest.mark.parametrize("failing", [1, 2])
def test_a_step_that_fails_leaves_the_older_version_whole(
    home: Path, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(connection: apsw.Connection) -> None:
        step(connection)
        raise apsw.FullError("no more")

    step = migrations.STEPS[failing]
    reserve = home / "store.reserve"
    reserve.write_bytes(bytes(RESERVE_BYTES))
    monkeypatch.setitem(migrations.STEPS, failing, fail)  # type: ignore[arg-type]
    reader = apsw.Connection(str(home / "memory.db"))  # keeps the log from being removed
    reader.execute("SELECT 1 FROM store").fetchall()
    with pytest.raises(StorageUnavailable, match="the disk is full"):
        SqliteStorage.open(home)
    assert (home / "memory.db-wal").stat().st_size == 0
    assert reserve.stat().st_size == RESERVE_BYTES
    reader.close()
    assert _version(home) == 1
    monkeypatch.undo()
    storage = SqliteStorage.open(home)
    _check(storage)
    storage.close()


_LOST = "the embedding of memory 'a' by model-a is not as it was written"


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("UPDATE embeddings SET checksum = NULL WHERE number = 1", [_LOST]),
        ("UPDATE embeddings SET checksum = 'text' WHERE number = 1", [_LOST]),
        ("UPDATE embeddings SET vectors = 1.5 WHERE number = 1", [_LOST]),
        ("UPDATE embeddings SET dimensions = 'many' WHERE number = 1", [_LOST]),
        ("UPDATE embeddings SET model = x'ff00' WHERE number = 1", [_LOST]),
        ("UPDATE embeddings SET model = NULL WHERE number = 1", [_LOST]),
        ("UPDATE embeddings SET number = 99 WHERE number = 1", [_LOST]),
        ("INSERT INTO embeddings VALUES (99, 'model-a', 8, x'', x'', x'')", []),
    ],
)
def test_a_damaged_vector_does_not_keep_the_store_from_opening(
    home: Path, damage: str, found: list[str]
) -> None:
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("PRAGMA writable_schema = ON")
    rules = "replace(replace(sql, ') STRICT', ')'), ' NOT NULL', '')"
    table = "name = 'embeddings'"
    strict = connection.execute(f"SELECT sql FROM sqlite_master WHERE {table}").fetchall()[0][0]
    connection.execute(f"UPDATE sqlite_master SET sql = {rules} WHERE {table}")
    connection.execute("PRAGMA writable_schema = RESET")
    connection.execute(damage)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(f"UPDATE sqlite_master SET sql = ? WHERE {table}", (strict,))
    connection.close()
    storage = SqliteStorage.open(home)
    wrong = {each.what for each in storage.verify().findings if "not as it was" in each.what}
    assert sorted(wrong) == found
    assert ("a" in storage.pending("model-a", limit=9)) == bool(found)
    storage.commit(Commit(attaches=[Attach(id="a", revision=1, embedding=_A.embeddings[0])]))
    assert storage.get(["a"])["a"] == _A
    assert "a" not in storage.pending("model-a", limit=9)
    wrong = {each.what for each in storage.verify().findings if "cannot be right" not in each.what}
    assert wrong == set()
    storage.close()


def test_several_processes_bring_it_forward_once(older: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from infinite_memory.storage.sqlite import *\n"
        "s = SqliteStorage.open(Path(sys.argv[1])); print(s.position()); s.close()"
    )
    opening = [
        subprocess.Popen([sys.executable, "-c", code, str(older)], stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    assert [process.communicate(timeout=300)[0] for process in opening] == [b"9\n"] * 4
    storage = SqliteStorage.open(older)
    _check(storage)
    storage.close()


def test_a_process_of_the_older_version_is_refused_and_writes_nothing_wrong(home: Path) -> None:
    older = apsw.Connection(str(home / "memory.db"))
    SqliteStorage.open(home).close()
    with pytest.raises(apsw.SQLError, match="no such table: embeddings"):
        older.execute("INSERT OR REPLACE INTO embeddings VALUES (1, 'model-a', 8, x'', x'', x'')")
    older.close()


def test_a_process_that_knows_no_journal_is_refused_before_it_changes_anything(
    tmp_path: Path,
) -> None:
    home = _restore(tmp_path / "home", 2)
    before = apsw.Connection(str(home / "memory.db"))
    read, write = "SELECT sequence FROM store", "UPDATE store SET sequence = 10"
    before.execute(read).fetchall()
    SqliteStorage.open(home).close()
    before.execute("BEGIN IMMEDIATE")
    for sql in (read, write):
        with pytest.raises(apsw.SQLError, match="no such table: store"):
            before.execute(sql)
    before.close()


def test_a_store_without_memories_begins_its_journal_with_what_is_stored_next(
    tmp_path: Path,
) -> None:
    home = _restore(tmp_path / "home", 2)
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("DELETE FROM vectors; DELETE FROM memory_tags; DELETE FROM memories")
    connection.close()
    storage = SqliteStorage.open(home)
    assert storage.journal_end() == JournalEnd()
    storage.commit(Commit(puts=[put("a")], entry=make_action("a")))
    assert check_journal(storage) == (1, [])
    storage.close()


@pytest.fixture
def disk(older: Path) -> Iterator[FragileDisk]:
    disk = FragileDisk("fragile-migration", older)
    yield disk
    disk.unregister()


def test_a_power_cut_in_the_middle_loses_nothing(
    older: Path, tmp_path: Path, disk: FragileDisk
) -> None:
    random, images = Random(3), []
    disk.before_step = lambda: images.append(disk.cut(random))  # type: ignore[method-assign]
    with disk.watching():
        SqliteStorage.open(older, vfs=disk.name, checkpoint_pages=2).close()
    assert len(images) > 20
    versions = set()
    for number, image in enumerate(images):
        left = tmp_path / f"left{number}"
        restore(image, left)
        storage = SqliteStorage.open(left)
        _check(storage)
        storage.close()
        versions.add(_version(left))
    assert versions == {SCHEMA_VERSION}


def test_what_is_erased_after_it_leaves_no_byte_of_the_older_table_either(home: Path) -> None:
    more = make_embedding(7, model="model-b")
    storage = SqliteStorage.open(home)
    storage.commit(Commit(attaches=[Attach(id="a", revision=1, embedding=more)]))
    held = [_A.embeddings[0].vectors.tobytes(), more.vectors.tobytes()]
    storage.scrub()
    assert [_holds(home, each) for each in held] == [True, True]
    storage.commit(Commit(detaches=[Detach(id="a", keep="model-a")]))
    storage.scrub()
    assert [_holds(home, each) for each in held] == [True, False]
    storage.commit(Commit(erases=[Erase(id="a")]))
    storage.scrub()
    assert [_holds(home, each) for each in held] == [False, False]
    storage.close()


def _holds(home: Path, blob: bytes) -> bool:
    """Tell whether a file has the bytes. Read in another process: its locks would be lost here."""
    code = (
        "import sys; from pathlib import Path\n"
        "files = Path(sys.argv[1]).iterdir()\n"
        "print(any(bytes.fromhex(sys.argv[2]) in file.read_bytes() for file in files))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(home), blob.hex()], stdout=subprocess.PIPE, check=True
    )
    return done.stdout == b"True\n"


def test_what_waits_is_found_in_an_index_without_a_scan(home: Path) -> None:
    storage = SqliteStorage.open(home)
    storage.close()
    connection = apsw.Connection(str(home / "memory.db"))
    plans = []
    for sql in (
        "SELECT min(embedded_by) FROM memories WHERE embedded_by > 'm'",
        "SELECT sequence, id FROM memories WHERE embedded_by IS CAST(? AS TEXT) "
        "AND (status = 'forgotten') = 0 AND typeof(sequence) = 'integer' ORDER BY sequence",
    ):
        plans += [
            row[3]
            for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", ("m",) * sql.count("?"))
        ]
    connection.close()
    assert all(
        "SEARCH memories USING" in plan and "INDEX memories_by_embedding" in plan for plan in plans
    ), plans
