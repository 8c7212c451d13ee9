"""Writers against checkpointers: the race that corrupts databases of SQLite 3.7.0 to 3.51.2.

python -m benchmarks.soak.race --minutes 30
python -m benchmarks.soak.race --minutes 30 --library sqlite3

The first runs it on this store, the second on the sqlite3 of Python, which often links such a
version, to learn whether the harness would notice. A round has a new database, writers that make
short commits, checkpointers that restart the log as often as they can, and at its end a look for
every acknowledged row and for what SQLite itself finds wrong.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NoReturn

import apsw
from attrs import frozen

from benchmarks.soak.report import conclude, scratch
from benchmarks.soak.starting import Start
from infinite_memory.core.errors import StorageError
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.storage_contract.base import make_memory

_ROUND_SECONDS = 15.0
_PAYLOADS = (20, 200, 3000, 20_000)
_ATTEMPT_ERRORS = (sqlite3.Error, StorageError, apsw.Error)


@frozen(kw_only=True)
class Outcome:
    """How many rounds and commits, how many errors that only say busy, and what was wrong."""

    rounds: int
    commits: int
    refused: int
    faults: tuple[str, ...]


class _Store:
    """Our own store: it checkpoints every few pages, and when it scrubs."""

    def __init__(self, home: Path) -> None:
        self._storage = SqliteStorage.open(home, checkpoint_pages=8)

    def write(self, name: str, text: str) -> None:
        self._storage.commit(Commit(puts=[Put(memory=make_memory(name, text=text), expected=0)]))

    def checkpoint(self, random: Random) -> None:
        if random.random() < 0.5:
            self._storage.scrub()
        else:
            self._storage.position()

    def missing(self, names: dict[str, str]) -> list[str]:
        found = self._storage.get(names)
        return [
            name
            for name, text in names.items()
            if name not in found or found[name].memory.text != text
        ]

    def check(self, home: Path) -> str:
        self._storage.close()
        connection = apsw.Connection(str(home / "memory.db"))
        answer = str(connection.pragma("integrity_check"))
        connection.close()
        return answer


class _Plain:
    """The sqlite3 of Python, used as most programs use it: WAL, and checkpoints by anybody."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self._connection = sqlite3.connect(
            home / "plain.db", timeout=30, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("PRAGMA wal_autocheckpoint = 4")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS memories (id TEXT PRIMARY KEY, text TEXT, hash BLOB)"
        )
        self._connection.execute("CREATE INDEX IF NOT EXISTS by_hash ON memories (hash)")

    def write(self, name: str, text: str) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.execute(
                "INSERT INTO memories VALUES (?, ?, randomblob(16))", (name, text)
            )
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def checkpoint(self, random: Random) -> None:
        mode = random.choice(("PASSIVE", "PASSIVE", "RESTART", "TRUNCATE"))
        self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()

    def missing(self, names: dict[str, str]) -> list[str]:
        found = dict(self._connection.execute("SELECT id, text FROM memories"))
        return [name for name, text in names.items() if found.get(name) != text]

    def check(self, home: Path) -> str:  # noqa: ARG002 - the same call for both
        answer = str(self._connection.execute("PRAGMA integrity_check").fetchone()[0])
        self._connection.close()
        return answer


LIBRARIES: dict[str, Callable[[Path], _Store | _Plain]] = {"store": _Store, "sqlite3": _Plain}
"""What the race is run on."""


def run(
    folder: Path,
    *,
    seconds: float,
    library: str = "store",
    writers: int = 3,
    checkpointers: int = 2,
    round_seconds: float = _ROUND_SECONDS,
) -> Outcome:
    """Race, round after round, for so many seconds; what is between two rounds does not count."""
    opened = LIBRARIES[library]
    left = seconds
    rounds = commits = refused = 0
    faults: list[str] = []
    while left > 0:
        home = folder / f"round-{rounds}"
        opened(home).check(home)
        duration = min(left, round_seconds)
        left -= duration
        start = Start()
        parts = [
            _start(opened, home, number, start, duration, writes=number < writers)
            for number in range(writers + checkpointers)
        ]
        start.give(len(parts))
        names: dict[str, str] = {}
        for number, (child, pipe) in enumerate(parts):
            count, errors, last = _result(child, pipe)
            names |= dict(_row(number, each) for each in range(count))
            refused += errors
            if "malformed" in last or "damaged" in last or "not a database" in last:
                faults.append(f"round {rounds}, process {number}: {last}")
        commits += len(names)
        rounds += 1
        faults += _faults(opened, home, names, rounds)
        shutil.rmtree(home)
    return Outcome(rounds=rounds, commits=commits, refused=refused, faults=tuple(faults))


def _row(process: int, number: int) -> tuple[str, str]:
    name = f"p{process}-{number}"
    return name, name.ljust(_PAYLOADS[(process + number) % len(_PAYLOADS)], "x")


def _faults(
    opened: Callable[[Path], _Store | _Plain], home: Path, names: dict[str, str], number: int
) -> list[str]:
    try:
        store = opened(home)
        lost = store.missing(names)
        answer = store.check(home)
    except _ATTEMPT_ERRORS as error:
        return [f"round {number}: the database cannot be read: {error}"]
    faults = [f"round {number}: {len(lost)} of {len(names)} commits are lost"] if lost else []
    return faults if answer == "ok" else [*faults, f"round {number}: {answer[:200]}"]


def _start(
    opened: Callable[[Path], _Store | _Plain],
    home: Path,
    number: int,
    start: Start,
    duration: float,
    *,
    writes: bool,
) -> tuple[int, int]:
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _race(opened, home, number, start, duration, write_end, writes=writes)
    os.close(write_end)
    return child, read_end


def _race(
    opened: Callable[[Path], _Store | _Plain],
    home: Path,
    number: int,
    start: Start,
    duration: float,
    pipe: int,
    *,
    writes: bool,
) -> NoReturn:
    count, errors, last = 0, 0, ""
    try:
        store, random = opened(home), Random(number)
        start.wait()
        until = time.monotonic() + duration
        while time.monotonic() < until:
            try:
                if writes:
                    store.write(*_row(number, count))
                    count += 1
                else:
                    store.checkpoint(random)
            except _ATTEMPT_ERRORS as error:
                errors, last = errors + 1, str(error)
                if "malformed" in last or "damaged" in last:
                    break
    finally:
        os.write(pipe, f"{count} {errors} {last[:300]}".encode())
        os._exit(0)


def _result(child: int, pipe: int) -> tuple[int, int, str]:
    with open(pipe) as file:
        count, errors, last = file.read().split(" ", 2)
    os.waitpid(child, 0)
    return int(count), int(errors), last


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--library", choices=sorted(LIBRARIES), default="store")
    parser.add_argument("--writers", type=int, default=3)
    parser.add_argument("--checkpointers", type=int, default=2)
    parser.add_argument("--home", help="a folder on the disk to be tested")
    flags = parser.parse_args()
    with scratch(flags.home) as folder:
        outcome = run(
            folder,
            seconds=flags.minutes * 60,
            library=flags.library,
            writers=flags.writers,
            checkpointers=flags.checkpointers,
        )
    version = sqlite3.sqlite_version if flags.library == "sqlite3" else apsw.sqlite_lib_version()
    return conclude(
        f"{flags.minutes:g} minutes of {flags.writers} writers against {flags.checkpointers} "
        f"checkpointers on {flags.library} (SQLite {version}): {outcome.rounds} rounds, "
        f"{outcome.commits} commits, {outcome.refused} calls refused as busy, "
        f"{len(outcome.faults)} corrupt or lost",
        outcome.faults,
        expected=flags.library == "sqlite3",
    )


if __name__ == "__main__":
    sys.exit(main())
