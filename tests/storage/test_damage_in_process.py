"""Once a database was found damaged, nobody in the process writes to that file any more."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infinite_memory import StoreDamaged
from infinite_memory.core.values.commit import Commit
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.creation import PAGE_BYTES
from infinite_memory.testing.storage_contract import put

PAGE = PAGE_BYTES


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a store of which one page, with memories, is damaged."""
    home = tmp_path / "home"
    storage = SqliteStorage.open(home)
    storage.commit(Commit(puts=[put(f"m{number}", text="x" * 500) for number in range(200)]))
    storage.close()
    shutil.copytree(home, tmp_path / "sound")
    with (home / "memory.db").open("r+b") as file:
        file.seek(-PAGE * 6, 2)
        file.write(b"\xee" * PAGE)
    return home


def contents(home: Path) -> dict[str, bytes]:
    """Read every file but the index of the log, which readers change; no store is open."""
    return {
        path.name: path.read_bytes() for path in home.iterdir() if not path.name.endswith("-shm")
    }


def refuse(storage: SqliteStorage) -> None:
    with pytest.raises(
        StoreDamaged, match=r"this process writes nothing more.*memory\.db is damaged"
    ):
        storage.commit(Commit(puts=[put("late")]))
    with pytest.raises(StoreDamaged, match="this process writes nothing more"):
        storage.scrub()


def test_every_handle_of_the_process_only_reads(home: Path) -> None:
    one, other = SqliteStorage.open(home), SqliteStorage.open(home)
    assert not one.verify().sound
    refuse(one)
    refuse(other)
    one.close()
    other.close()
    home.with_name("link").symlink_to(home)
    for folder in (home, home.with_name("link")):
        later = SqliteStorage.open(folder)
        refuse(later)
        assert later.get(["m1"])["m1"].memory.text == "x" * 500
        later.close()


def test_opening_and_closing_again_leaves_every_byte_as_it_is(home: Path) -> None:
    storage = SqliteStorage.open(home)
    assert not storage.verify().sound
    storage.close()
    (home / "store.reserve").unlink()
    before = contents(home)
    again = SqliteStorage.open(home)
    refuse(again)
    again.close()
    assert contents(home) == before


def test_another_file_in_its_place_is_another_database(home: Path) -> None:
    storage = SqliteStorage.open(home)
    assert not storage.verify().sound
    storage.close()
    home.rename(home.with_name("kept"))
    home.with_name("sound").rename(home)
    restored = SqliteStorage.open(home)
    restored.commit(Commit(puts=[put("late")]))
    restored.close()


@pytest.mark.thorough
def test_another_process_finds_out_by_itself(home: Path) -> None:
    storage = SqliteStorage.open(home)
    assert not storage.verify().sound
    storage.close()
    program = (
        "import sys; from pathlib import Path\n"
        "from infinite_memory.storage.sqlite import SqliteStorage\n"
        "from infinite_memory.core.values.commit import Commit\n"
        "from infinite_memory.testing.storage_contract import put\n"
        "SqliteStorage.open(Path(sys.argv[1])).commit(Commit(puts=[put('late')]))\n"
    )
    subprocess.run([sys.executable, "-c", program, str(home)], check=True, timeout=300)
