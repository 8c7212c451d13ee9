"""The store of a development version before schema 1 is recognised, refused and left as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest

from infinite_memory.core.errors import SchemaTooOld, StoreDamaged
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.open import open_existing, open_storage
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract import put

SCRIPT = Path(__file__).parent / "earlier_store.sql"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder as the program left it that wrote the dump."""
    home = tmp_path / "home"
    home.mkdir()
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute(SCRIPT.read_text(encoding="utf-8"))
    identity = connection.execute("SELECT identity FROM ledger").get
    connection.pragma("journal_mode", "wal")
    connection.close()
    (home / "memory.db.marker").write_text(f"infinite-memory store {identity}\n")
    (home / "store.lock").touch()
    (home / "store.reserve").write_bytes(bytes(1 << 20))
    (home / "index").mkdir()
    (home / "index" / "snapshot").write_bytes(b"derived")
    return home


def contents(home: Path) -> dict[str, bytes]:
    return {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file()}


def refusal(home: Path) -> str:
    before = contents(home)
    with pytest.raises(SchemaTooOld) as caught:
        SqliteStorage.open(home)
    assert contents(home) == before
    return str(caught.value)


def test_the_refusal_says_how_to_move_the_store_and_how_to_discard_it(home: Path) -> None:
    sentence = refusal(home)
    listing = "infinite-memory list --scope ALL --mode history --limit 1000 --json"
    assert f"`{listing} --home {home} > memories.json`" in sentence
    assert "`infinite-memory remember --from memories.json`" in sentence
    assert f"remove the folder {home}" in sentence
    assert "nothing was changed" in sentence


@pytest.mark.parametrize("missing", ["memory.db.marker", "store.lock", "index"])
def test_the_header_of_the_database_is_enough(home: Path, missing: str) -> None:
    path = home / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    refusal(home)


@pytest.mark.parametrize("version", [1, 2, 3, 99])
def test_no_version_of_an_earlier_store_is_taken_for_a_newer_one(home: Path, version: int) -> None:
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute(f"PRAGMA user_version = {version}; PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    refusal(home)


def test_an_earlier_store_with_writes_in_its_log_is_not_taken_for_a_damaged_one(home: Path) -> None:
    writer = apsw.Connection(str(home / "memory.db"))
    writer.execute("UPDATE memories SET important = 1")
    assert (home / "memory.db-wal").stat().st_size
    before = (home / "memory.db").read_bytes()
    with pytest.raises(SchemaTooOld):
        SqliteStorage.open(home)
    assert (home / "memory.db").read_bytes() == before
    writer.close()


def test_an_earlier_store_that_is_damaged_is_still_recognised(home: Path) -> None:
    with (home / "memory.db").open("r+b") as file:
        file.truncate(5000)
    refusal(home)


def test_an_earlier_marker_without_its_database_is_recognised(home: Path) -> None:
    (home / "memory.db").unlink()
    refusal(home)


def test_an_earlier_marker_beside_a_database_of_today_is_damage(home: Path, tmp_path: Path) -> None:
    today = tmp_path / "today"
    SqliteStorage.open(today).close()
    shutil.copy(home / "memory.db.marker", today)
    before = contents(today)
    with pytest.raises(StoreDamaged, match="is not a readable marker"):
        SqliteStorage.open(today)
    assert contents(today) == before


def test_looking_for_a_store_makes_none_in_its_place_either(home: Path) -> None:
    before = contents(home)
    for find in (open_storage, open_existing):
        with pytest.raises(SchemaTooOld):
            find(str(home), home=home)
    assert contents(home) == before


def test_a_new_store_begins_where_the_earlier_files_were_moved_away(home: Path) -> None:
    home.rename(home.with_name("earlier"))
    storage = SqliteStorage.open(home)
    storage.commit(Commit(puts=[put("a")]))
    storage.close()
    storage = SqliteStorage.open(home)
    assert list(storage.get(["a"])) == ["a"]
    storage.close()
