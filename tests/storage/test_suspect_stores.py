"""A suspect store is refused with a sentence, and left as it is to the byte."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from infinite_memory.core.errors import SchemaTooNew, StorageError, StorageUnavailable, StoreDamaged
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.creation import PAGE_BYTES
from infinite_memory.storage.sqlite.schema import SCHEMA_VERSION
from infinite_memory.testing.storage_contract import put


def _contents(folder: Path) -> dict[str, bytes]:
    """Read every file; only done while no store is open."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    storage = SqliteStorage.open(home)
    storage.commit(Commit(puts=[put(f"m{number}", text="x" * 500) for number in range(200)]))
    storage.close()
    return home


def _remove(home: Path) -> None:
    (home / "memory.db").unlink()


def _remove_with_lock(home: Path) -> None:
    _remove(home)
    (home / "store.lock").unlink()


def _empty(home: Path) -> None:
    os.truncate(home / "memory.db", 0)


def _empty_without_marker(home: Path) -> None:
    _empty(home)
    (home / "memory.db.marker").unlink()


def _truncate(home: Path) -> None:
    os.truncate(home / "memory.db", 8192)


def _text_file(home: Path) -> None:
    (home / "memory.db").write_text("this is no database " * 400)


def _text_file_alone(home: Path) -> None:
    for file in home.iterdir():
        file.unlink()
    _text_file(home)


def _other_program(home: Path) -> None:
    _remove(home)
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("CREATE TABLE theirs (a); PRAGMA application_id = 7")
    connection.close()


def _other_store(home: Path) -> None:
    SqliteStorage.open(home.with_name("other")).close()
    shutil.copy(home.with_name("other") / "memory.db", home / "memory.db")


def _no_identity(home: Path) -> None:
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("DELETE FROM ledger; PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _log_alone(home: Path) -> None:
    _remove(home)
    (home / "memory.db.marker").unlink()
    (home / "memory.db-wal").write_bytes(b"left over")


def _bad_marker(home: Path) -> None:
    (home / "memory.db.marker").write_bytes(b"\xff nonsense")


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (_remove, "is missing, while memory.db.marker is still there"),
        (_remove_with_lock, "is missing"),
        (_empty, "is an empty file"),
        (_empty_without_marker, "is an empty file"),
        (_truncate, "is damaged"),
        (_text_file, "is damaged"),
        (_text_file_alone, "is damaged"),
        (_other_program, "was made by another program"),
        (_other_store, "speaks of"),
        (_no_identity, "does not say which store it is"),
        (_log_alone, "is missing, while memory.db-wal is still there"),
        (_bad_marker, "is not a readable marker"),
    ],
)
def test_a_suspect_store_is_refused_and_not_touched(
    home: Path, spoil: Callable[[Path], None], found: str
) -> None:
    spoil(home)
    before = _contents(home)
    with pytest.raises(StoreDamaged, match=found) as caught:
        SqliteStorage.open(home)
    assert "backup" in str(caught.value)
    assert str(home) in str(caught.value)
    assert _contents(home) == before


def test_a_newer_schema_is_refused_and_not_touched(home: Path) -> None:
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = _contents(home)
    with pytest.raises(SchemaTooNew, match="upgrade infinite-memory"):
        SqliteStorage.open(home)
    assert _contents(home) == before


def test_a_schema_version_that_never_was_is_damage(home: Path) -> None:
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("PRAGMA user_version = -3")
    connection.close()
    with pytest.raises(StoreDamaged, match="schema -3"):
        SqliteStorage.open(home)


@pytest.mark.thorough
def test_a_checkpoint_that_was_cut_short_is_no_damage(home: Path) -> None:
    # The state after a crash: the header already counts pages that only the log has.
    storage = SqliteStorage.open(home)
    before = (home / "memory.db").stat().st_size
    storage.commit(Commit(puts=[put(f"late{number}", text="y" * 3000) for number in range(100)]))
    crashed = home.with_name("crashed")
    code = (
        "import os, sys, pathlib, shutil; from infinite_memory.storage.sqlite import SqliteStorage;"
        "shutil.copytree(sys.argv[1], sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, str(home), str(crashed)], check=True)
    storage.close()
    header = (home / "memory.db").read_bytes()[:PAGE_BYTES]
    with (crashed / "memory.db").open("r+b") as file:
        file.write(header)
    assert (crashed / "memory.db").stat().st_size == before
    again = SqliteStorage.open(crashed)
    assert len(again.changes(0, limit=1000).items) == 300
    beside = SqliteStorage.open(crashed)  # the first one has it open, and has not written to it
    assert (crashed / "memory.db").stat().st_size == before
    assert len(beside.changes(0, limit=1000).items) == 300
    beside.close()
    again.close()


def test_a_store_without_its_marker_gets_one(home: Path) -> None:
    marker = (home / "memory.db.marker").read_bytes()
    (home / "memory.db.marker").unlink()
    SqliteStorage.open(home).close()
    assert (home / "memory.db.marker").read_bytes() == marker


def test_a_creation_that_was_cut_short_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "memory.db.new").write_bytes(b"half a database")
    (tmp_path / "memory.db.new-journal").write_bytes(b"half a journal")
    storage = SqliteStorage.open(tmp_path)
    storage.commit(Commit(puts=[put("a")]))
    storage.close()
    assert {file.name for file in tmp_path.iterdir()} == {
        "memory.db",
        "memory.db-shm",
        "memory.db-wal",
        "memory.db.marker",
        "store.lock",
        "store.reserve",
    }


def test_only_the_owner_may_read_the_files(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "home"
    storage = SqliteStorage.open(home)
    storage.commit(Commit(puts=[put("a")]))
    assert home.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in home.iterdir()} == {0o600}
    assert (home / "memory.db-wal").exists()
    storage.close()


def test_who_closes_leaves_the_log_empty_and_never_removes_it(home: Path) -> None:
    first, second = SqliteStorage.open(home), SqliteStorage.open(home)
    log = (home / "memory.db-wal").stat().st_ino
    first.commit(Commit(puts=[put("a")]))
    second.commit(Commit(puts=[put("b")]))
    first.close()
    second.close()
    assert (home / "memory.db-wal").stat().st_ino == log
    assert (home / "memory.db-wal").stat().st_size == 0


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageUnavailable, match=r"cannot be used.*Not a directory"):
        SqliteStorage.open(tmp_path / "file" / "home")


def test_a_database_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "memory.db").mkdir()
    with pytest.raises(StorageError, match=r"memory\.db"):
        SqliteStorage.open(tmp_path)


def test_a_marker_that_cannot_be_read_is_named(home: Path) -> None:
    (home / "memory.db.marker").unlink()
    (home / "memory.db.marker").mkdir()
    with pytest.raises(StorageUnavailable, match=r"memory\.db\.marker cannot be read"):
        SqliteStorage.open(home)
