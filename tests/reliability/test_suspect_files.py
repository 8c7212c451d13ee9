"""What is in the place of a sound store is named, with a way out, and not touched."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from infinite_memory import MemoryStore, StorageError, StorageUnavailable, StoreDamaged
from infinite_memory.core.config import Config
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.creation import PAGE_BYTES
from infinite_memory.storage.sqlite.schema import APPLICATION_ID
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import put

PAGE = PAGE_BYTES


def digests(home: Path) -> dict[str, str]:
    """Hash every file; only done while no store is open."""
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(home.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    storage = SqliteStorage.open(home)
    storage.commit(Commit(puts=[put(f"m{number}", text="x" * 500) for number in range(200)]))
    storage.close()
    return home


def crashed(home: Path, checkpoint_pages: int = 1000, turns: int = 0) -> Path:
    """Return a copy as a crash leaves it: with a log that was not copied into the database.

    Once it was, the next turn begins at its start and leaves what was behind.
    """
    storage = SqliteStorage.open(home, checkpoint_pages=checkpoint_pages)
    storage.commit(Commit(puts=[put(f"late{number}", text="y" * 900) for number in range(50)]))
    for turn in range(turns):
        storage.commit(Commit(puts=[put("turned", revision=turn + 1)]))
    copy = home.with_name("crashed")
    copy.mkdir(mode=0o700)
    for name in ("memory.db", "memory.db-wal", "memory.db.marker", "store.lock"):
        # By another process: closing a database file here would drop SQLite's locks on it.
        subprocess.run(["cp", home / name, copy / name], check=True)
    storage.close()
    return copy


def unchanged(home: Path, before: dict[str, str]) -> bool:
    """Tell whether every file is as it was after working with the store.

    SQLite may have added a log that is empty, and changed the index of the log.
    """
    after = digests(home)
    before = {name: digest for name, digest in before.items() if name != "memory.db-shm"}
    added = after.keys() - before.keys()
    return (
        all(after.get(name) == digest for name, digest in before.items())
        and added <= {"memory.db-wal", "memory.db-shm"}
        and all((home / name).stat().st_size == 0 for name in added & {"memory.db-wal"})
    )


def refuse(home: Path, kind: type[StorageError], sentence: str) -> None:
    before = digests(home)
    with pytest.raises(kind, match=sentence) as caught:
        SqliteStorage.open(home)
    assert "memory.db" in str(caught.value)
    assert digests(home) == before


@pytest.mark.parametrize(
    "length", [1, 99, 100, 4095, PAGE, PAGE + 1, 5 * PAGE, 20 * PAGE + 512, -1, -PAGE]
)
def test_a_database_that_was_cut_is_refused_at_any_length(home: Path, length: int) -> None:
    size = (home / "memory.db").stat().st_size
    os.truncate(home / "memory.db", length if length > 0 else size + length)
    refuse(home, StoreDamaged, "is damaged")


@pytest.mark.parametrize("length", [0, 1, 100, PAGE, 5 * PAGE, 20 * PAGE + 512])
def test_a_database_that_was_cut_is_refused_beside_its_log_too(home: Path, length: int) -> None:
    home = crashed(home)
    size = (home / "memory.db").stat().st_size
    os.truncate(home / "memory.db", length if length >= 0 else size + length)
    refuse(home, StoreDamaged, r"is an empty file|is damaged")


@pytest.mark.process
def test_a_log_that_a_crash_left_is_no_damage(home: Path) -> None:
    home = crashed(home)
    storage = SqliteStorage.open(home)
    assert len(storage.changes(0, limit=1000).items) == 250
    assert storage.verify().sound
    storage.close()


def _zeros(header: bytes) -> bytes:
    return bytes(len(header))


def _noise(header: bytes) -> bytes:
    return hashlib.sha256(header).digest()[: len(header)]


def _one_bit(header: bytes) -> bytes:
    return header[:17] + bytes([header[17] ^ 4]) + header[18:]


def _torn(header: bytes) -> bytes:
    """Return the header as a cut leaves it while the next one is written over it."""
    return header[:12] + bytes([header[12] + 1]) + header[13:]


def _spoil_log(home: Path, spoil: Callable[[bytes], bytes]) -> None:
    with (home / "memory.db-wal").open("r+b") as file:
        header = file.read(32)
        file.seek(0)
        file.write(spoil(header))


@pytest.mark.parametrize("spoil", [_zeros, _noise, _one_bit])
def test_a_log_with_a_damaged_header_is_not_passed_over(
    home: Path, spoil: Callable[[bytes], bytes]
) -> None:
    home = crashed(home)
    _spoil_log(home, spoil)
    refuse(home, StoreDamaged, r"memory\.db-wal has a damaged header.*move memory\.db-wal away")
    (home / "memory.db-wal").rename(home / "kept-wal")
    storage = SqliteStorage.open(home)
    assert len(storage.changes(0, limit=1000).items) == 200
    storage.close()


@pytest.mark.thorough
@pytest.mark.parametrize("spoil", [_zeros, _noise, _one_bit, _torn])
@pytest.mark.parametrize("turns", [0, 1, 3])
def test_a_damaged_header_of_a_log_that_is_in_the_database_loses_nothing(
    home: Path, turns: int, spoil: Callable[[bytes], bytes]
) -> None:
    home = crashed(home, checkpoint_pages=1, turns=turns)
    assert (home / "memory.db-wal").stat().st_size > 40 * PAGE
    _spoil_log(home, spoil)
    storage = SqliteStorage.open(home)
    assert len(storage.changes(0, limit=1000).items) == 250 + bool(turns)
    assert storage.verify().sound
    storage.close()


def test_the_log_of_another_store_is_not_applied(home: Path) -> None:
    other = home.with_name("other")
    storage = SqliteStorage.open(other)
    storage.commit(Commit(puts=[put("theirs")]))
    storage.close()
    other = crashed(other)
    shutil.copy(other / "memory.db-wal", home / "memory.db-wal")
    refuse(home, StoreDamaged, r"is the store .*, not|is no sound|is damaged|lost or altered")


@pytest.mark.parametrize("offset", [0, 7, 18, 19, 20, 21, 22, 23, 60, 68, 71, 100, PAGE + 5])
@pytest.mark.parametrize("bit", [0, 6])
def test_an_altered_beginning_is_refused_or_harmless_and_never_mended(
    home: Path, offset: int, bit: int
) -> None:
    with (home / "memory.db").open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1 << bit]))
    before = digests(home)
    try:
        storage = SqliteStorage.open(home)
    except StorageError:
        assert digests(home) == before
        return
    storage.verify()
    storage.close()
    assert unchanged(home, before)


def _folder(home: Path) -> None:
    (home / "memory.db").unlink()
    (home / "memory.db").mkdir()


def _pipe(home: Path) -> None:
    (home / "memory.db").unlink()
    os.mkfifo(home / "memory.db")


def _link(home: Path) -> None:
    (home / "memory.db").rename(home.with_name("elsewhere.db"))
    (home / "memory.db").symlink_to(home.with_name("elsewhere.db"))


def _dangling(home: Path) -> None:
    (home / "memory.db").unlink()
    (home / "memory.db").symlink_to(home.with_name("nowhere.db"))


def _pipe_for_marker(home: Path) -> None:
    (home / "memory.db.marker").unlink()
    os.mkfifo(home / "memory.db.marker")


def _empty_marker(home: Path) -> None:
    os.truncate(home / "memory.db.marker", 0)


def _no_tables(home: Path) -> None:
    (home / "memory.db").unlink()
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1")
    connection.execute("CREATE TABLE other (a)")
    connection.pragma("journal_mode", "wal")
    connection.close()


def _altered_counter(home: Path) -> None:
    connection = apsw.Connection(str(home / "memory.db"))
    connection.execute("UPDATE ledger SET sequence = 9; PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "kind", "sentence"),
    [
        (_folder, StoreDamaged, "is a folder where a file should be"),
        (_pipe, StoreDamaged, "is not a regular file"),
        (_link, StorageUnavailable, r"is a link to .*elsewhere.db.*give --home the folder"),
        (_dangling, StorageUnavailable, "is a link to"),
        (_pipe_for_marker, StoreDamaged, "is not a readable marker"),
        (_empty_marker, StoreDamaged, "is not a readable marker"),
        (_no_tables, StoreDamaged, "lacks the tables of a store"),
        (_altered_counter, StoreDamaged, "lost or altered the row that counts its changes"),
    ],
)
def test_what_is_no_store_is_named_and_left(
    home: Path, spoil: Callable[[Path], None], kind: type[StorageError], sentence: str
) -> None:
    spoil(home)
    refuse(home, kind, sentence)


def test_a_folder_that_is_a_link_is_opened(home: Path) -> None:
    home.with_name("link").symlink_to(home)
    storage = SqliteStorage.open(home.with_name("link"))
    assert len(storage.get(["m1"])) == 1
    storage.close()


def test_an_older_copy_beside_a_newer_index_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def opened() -> MemoryStore:
        return MemoryStore.open(
            tmp_path / "home", config=Config(home=tmp_path), embedder=HashingEmbedder()
        )

    with opened() as store:
        store.remember("the first", id="first")
    shutil.copy(tmp_path / "home" / "memory.db", tmp_path / "older.db")
    with opened() as store:
        store.remember_many({"text": f"memory {number}"} for number in range(600))
    shutil.copy(tmp_path / "older.db", tmp_path / "home" / "memory.db")
    with opened() as store:
        (finding,) = store.verify().findings
        assert "the store has only" in finding.what
        assert "older copy" in finding.way_out
        assert [hit.memory.id for hit in store.search("the first")] == ["first"]
    assert "is it an older copy?" in caplog.text


def test_after_a_damaged_page_was_seen_the_store_only_reads(home: Path) -> None:
    with (home / "memory.db").open("r+b") as file:
        file.seek(-PAGE * 4, 2)
        file.write(b"\xee" * PAGE)
    before = digests(home)
    storage = SqliteStorage.open(home)
    assert not storage.verify().sound
    with pytest.raises(StoreDamaged, match="this process writes nothing more"):
        storage.commit(Commit(puts=[put("late")]))
    storage.close()
    assert unchanged(home, before)
