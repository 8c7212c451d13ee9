"""Kill backups and restores at random moments: the store is the old one or the new, never half.

python -m benchmarks.soak.archive_kills --kills 100
python -m benchmarks.soak.archive_kills --kills 30 --broken in-place      (or: no-rename)

Each kill hits a process that backs up, restores into an empty store, overwrites, or merges. Then
the store must open and hold what it held, or all of the new content; every backup that was
reported, and every file with the name of a backup, must verify; and the same call must finish.
While backups are made, another process writes, and what it reported must be in the store.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from attrs import define, field, frozen

from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory.core.config import Config
from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.protocols import Replacement
from infinite_memory.core.values.archive.backup import RestoreMode
from infinite_memory.core.values.commit import Commit
from infinite_memory.features.archive import backup as backup_module
from infinite_memory.features.archive.backup import verify_file, write_backup
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.store.memory_store import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract.base import put
from tests.harness.everything import dump, fill
from tests.harness.kills import Writer, find_losses, killed, replace_parts

SABOTAGES = ("in-place", "no-rename")
"""Builds that must be caught: one writes into the live store, one under the final name."""

SORTS = ("backup", *(str(mode) for mode in RestoreMode))

_NOW = datetime(2026, 6, 5, tzinfo=UTC)
_MEMORIES = 600
_LONGEST_SHARE = 1.2


@frozen(kw_only=True)
class Outcome:
    """How many kills there were of each sort, how the store was after them, and what was wrong."""

    kills: Counter[str]
    states: Counter[str]
    faults: tuple[str, ...]


@define
class _Soak:
    folder: Path
    random: Random
    broken: str | None
    kills: Counter[str] = field(factory=Counter)
    states: Counter[str] = field(factory=Counter)
    faults: list[str] = field(factory=list)
    digests: dict[str, tuple[str, str]] = field(factory=dict)
    seconds: dict[str, float] = field(factory=dict)
    without_usage: str = ""

    def prepare(self) -> None:
        """Make the archive, the former store, and learn what each restore makes of it."""
        with closing(SqliteStorage.open(self.folder / "source")) as storage:
            fill(storage, plain=_MEMORIES)
            write_backup(storage, self.archive, now=_NOW)
        SqliteStorage.open(self.folder / "former-empty").close()
        with closing(SqliteStorage.open(self.folder / "former")) as storage:
            storage.commit(
                Commit(puts=[put(f"mine-{number}") for number in range(200)] + [put("plain")])
            )
        for mode in (RestoreMode.EMPTY, RestoreMode.OVERWRITE, RestoreMode.MERGE):
            former = self.new_home(mode)
            before = digest_of(former)
            began = time.perf_counter()
            _restore(former, self.archive, mode)
            self.seconds[mode] = time.perf_counter() - began
            self.digests[mode] = before, digest_of(former)
            self.without_usage = digest_of(former, usage=False)
            shutil.rmtree(former)

    @property
    def archive(self) -> Path:
        return self.folder / "one.imarchive"

    def new_home(self, mode: str) -> Path:
        home = self.folder / f"home-{self.random.getrandbits(60):x}"
        former = "former-empty" if mode == RestoreMode.EMPTY else "former"
        shutil.copytree(self.folder / former, home)
        return home

    def kill_restore(self, mode: RestoreMode) -> None:
        home = self.new_home(mode)
        was_killed = _killed(
            lambda: _restore(home, self.archive, mode),
            self.random.uniform(0, _LONGEST_SHARE * self.seconds[mode]),
            self.broken,
        )
        self.kills[mode] += was_killed
        old, new = self.digests[mode]
        try:
            state = {old: "old", new: "new"}.get(digest_of(home), "mixed")
            if mode is RestoreMode.MERGE and digest_of(home, usage=False) == self.without_usage:
                state = "new"  # the usage is counted after the commit
            self.states[f"{mode}: {state}"] += was_killed
            if state == "mixed":
                self.faults.append(f"{mode}: the store is neither the old one nor the new")
            self._check_backups(home / "backups", f"{mode}")
            if state == "old" or mode is RestoreMode.MERGE:
                _restore(home, self.archive, mode)
                if state != "mixed" and digest_of(home) != new:
                    self.faults.append(f"{mode}: a repeat does not finish")
            if (home / "store.restoring").exists() and state == "old":
                self.faults.append(f"{mode}: the new content is left behind after a repeat")
        except InfiniteMemoryError as error:
            self.faults.append(f"{mode}: {type(error).__name__}: {error}")
        shutil.rmtree(home)

    def kill_backup(self) -> None:
        home = self.new_home(RestoreMode.OVERWRITE)
        reports, reported = os.pipe()
        writer = Writer(self.random.getrandbits(30), home, SqliteStorage.open)

        def back_up() -> None:
            while True:
                with _opened(home) as store:
                    made = store.backups.create()
                os.write(reported, f"{made.name}\n".encode())

        try:
            was_killed = _killed(back_up, self.random.uniform(0, 0.6), self.broken)
            self.kills["backup"] += was_killed
        finally:
            writer.kill()
        os.close(reported)
        names = os.read(reports, 1 << 16).decode().split()
        os.close(reports)
        stored = writer.reported()
        self.states[f"backup: {'some' if names else 'none'} finished"] += 1
        try:
            self._check_backups(home / "backups", "backup", names)
            with closing(SqliteStorage.open(home)) as storage:
                self.faults += [f"backup: {loss}" for loss in find_losses(storage, stored)]
            with _opened(home) as store:
                made = store.backups.create()
                if made.name not in [each.name for each in store.backups.list()]:
                    self.faults.append("backup: a repeat is not listed")
            if left := list((home / "backups").glob(".*")):
                self.faults.append(f"backup: {left[0].name} is left behind after a repeat")
        except InfiniteMemoryError as error:
            self.faults.append(f"backup: {type(error).__name__}: {error}")
        shutil.rmtree(home)

    def _check_backups(self, folder: Path, sort: str, names: list[str] | None = None) -> None:
        for name in names or ():
            if not (folder / name).is_file():
                self.faults.append(f"{sort}: {name} was reported, and is not there")
        for path in folder.glob("[!.]*.imarchive"):
            try:
                verify_file(path)
            except InfiniteMemoryError as error:
                self.faults.append(f"{sort}: {path.name} is no whole backup: {error}")


def digest_of(home: Path, *, usage: bool = True) -> str:
    with closing(SqliteStorage.open(home)) as storage:
        # An entry of a merge has the time and the process of its own.
        lines = [line for line in dump(storage) if '"operation":"merge"' not in line]
        content = "\n".join(line for line in lines[:-1] if usage or '"count":' not in line)
    return hashlib.sha256(content.encode()).hexdigest()


@contextmanager
def _opened(home: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(config=Config(home=home), embedder=HashingEmbedder()) as store:
        yield store


def _restore(home: Path, archive: Path, mode: str) -> None:
    with _opened(home) as store:
        store.backups.restore(archive, mode=mode)


def _killed(work: Callable[[], object], seconds: float, broken: str | None) -> bool:
    """Do `work` in a process that is killed after so long; return whether it was still at work."""

    def sabotaged() -> None:
        _sabotage(broken)
        work()

    return killed(sabotaged, lambda: time.sleep(seconds))


def _sabotage(broken: str | None) -> None:
    if broken == "in-place":
        SqliteStorage.replacement = _replace_in_place  # type: ignore[method-assign]
    elif broken == "no-rename":
        backup_module.writing_part = replace_parts


class _InPlace:
    def __init__(self, storage: SqliteStorage) -> None:
        self.storage = storage

    def swap(self, **_: int) -> None:
        """Do nothing: the content is in place already."""


@contextmanager
def _replace_in_place(storage: SqliteStorage) -> Iterator[Replacement]:
    yield _InPlace(storage)


def run(folder: Path, *, kills: int, seed: int = 1, broken: str | None = None) -> Outcome:
    """Kill until each sort was hit so many times."""
    soak = _Soak(folder, Random(seed), broken)
    soak.prepare()
    for mode in RestoreMode:
        while soak.kills[mode] < kills:
            soak.kill_restore(mode)
    while soak.kills["backup"] < kills:
        soak.kill_backup()
    return Outcome(kills=soak.kills, states=soak.states, faults=tuple(soak.faults))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each of the four sorts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", choices=SABOTAGES)
    parser.add_argument("--home", help="a folder on the disk to be tested")
    flags = parser.parse_args()
    started = time.perf_counter()
    with scratch(flags.home) as folder:
        outcome = run(folder, kills=flags.kills, seed=flags.seed, broken=flags.broken)
    for state, count in sorted(outcome.states.items()):
        print(f"{count:7,} {state}")
    total = sum(outcome.kills.values())
    faults = len(outcome.faults)
    return conclude(
        f"{total:,} kills in {time.perf_counter() - started:.0f} s: {faults} faults"
        f"{bound(faults, total)}",
        outcome.faults,
        expected=flags.broken is not None,
    )


if __name__ == "__main__":
    raise SystemExit(main())
