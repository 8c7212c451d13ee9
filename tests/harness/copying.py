"""Code that copies, opens or removes the files of a store inside the process that has it open.

python -m tests.harness.copying WAY HOME NOTES

The process commits, does it, lets another process open the store, commit and close, and commits
again. Whoever was told that something is stored, or was refused, notes it.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.notes import Notes, commit_and_note

_ELSEWHERE = """
import sys
from pathlib import Path
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.notes import Notes, commit_and_note

notes = Notes(Path(sys.argv[2]))
try:
    storage = SqliteStorage.open(Path(sys.argv[1]))
except InfiniteMemoryError as error:
    notes.add(sys.argv[3], "refused", str(error))
else:
    commit_and_note(storage, notes, sys.argv[3], range(5))
    storage.close()
"""

_OTHER_PROGRAM = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM memories").fetchall()
connection.close()
"""


def _copy_tree(home: Path) -> None:
    shutil.copytree(home, home.with_name("copy"))


def _copy_by_a_program(home: Path) -> None:
    subprocess.run(["cp", "-r", str(home), str(home.with_name("copy"))], check=True)


def _read_by_sqlite3(home: Path) -> None:
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        connection.execute("SELECT count(*) FROM memories").fetchall()


def _copy_then_another_program(home: Path) -> None:
    """Lose the locks, so that the next program that closes the database removes the log."""
    _copy_tree(home)
    subprocess.run([sys.executable, "-c", _OTHER_PROGRAM, str(home / "memory.db")], check=True)


def _remove_log(home: Path) -> None:
    (home / "memory.db-wal").unlink()


def _remove_index(home: Path) -> None:
    (home / "memory.db-shm").unlink()


def _remove_both(home: Path) -> None:
    _remove_log(home)
    _remove_index(home)


def _replace_log(home: Path) -> None:
    log = home / "memory.db-wal"
    shutil.copy(log, home / "other")
    (home / "other").rename(log)


WAYS: dict[str, Callable[[Path], None]] = {
    "shutil": _copy_tree,
    "cp": _copy_by_a_program,
    "sqlite3": _read_by_sqlite3,
    "shutil, then another program": _copy_then_another_program,
    "rm log": _remove_log,
    "rm index": _remove_index,
    "rm log and index": _remove_both,
    "replace log": _replace_log,
}
"""Do it to the store in a folder."""


def main(way: str, home: str, folder: str) -> None:
    """Play the process that has the store open."""
    notes = Notes(Path(folder))
    storage = SqliteStorage.open(Path(home))
    commit_and_note(storage, notes, "before", range(20))
    WAYS[way](Path(home))
    if way.startswith(("rm", "replace")):  # what nobody could notice until then is not lost
        commit_and_note(storage, notes, "at once", range(1))
    for turn in range(2):
        arguments = [sys.executable, "-c", _ELSEWHERE, home, folder, f"elsewhere{turn}"]
        subprocess.run(arguments, check=True)
        commit_and_note(storage, notes, f"after{turn}", range(10))
    storage.close()
    try:
        again = SqliteStorage.open(Path(home))
    except InfiniteMemoryError as error:
        notes.add("again", "closed", str(error))
        return
    commit_and_note(again, notes, "again", range(10))
    again.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
