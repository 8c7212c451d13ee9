"""Kill writing processes at random moments, and look for all that they had reported as stored.

python -m benchmarks.soak.kills --kills 1000 --writes 200000
python -m benchmarks.soak.kills --kills 20 --writes 0 --broken report-first    (or: two-commits)

This is the store as a library; the stdio server has a run of its own.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path
from random import Random

import apsw
from attrs import frozen

from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory.core.errors import StorageError
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.kills import SABOTAGES, Batch, Writer, find_losses

_ALL_AT_ONCE = 0.2
_LONGEST_SECONDS = 0.15


@frozen(kw_only=True)
class Outcome:
    """How many kills, how many of them of all processes at once, and what was wrong after them."""

    kills: int
    at_once: int
    acknowledged: int
    faults: tuple[str, ...]


class _Soak:
    def __init__(self, home: Path, processes: int, seed: int, broken: str | None) -> None:
        self._home = home
        self._random = Random(seed)
        self._broken = broken
        self._numbers = itertools.count()
        self._writers = [self._start() for _ in range(processes)]
        self._fresh: list[Batch] = []
        self._under_way: list[Batch] = []
        self.everything: list[Batch] = []
        self.kills = self.at_once = self.acknowledged = 0
        self.faults: list[str] = []

    def _start(self) -> Writer:
        return Writer(next(self._numbers), self._home, _open, sabotage=self._broken)

    def kill_one(self) -> None:
        """Kill any of the writers, and start another in its place."""
        place = self._random.randrange(len(self._writers))
        writer, self._writers[place] = self._writers[place], self._start()
        writer.kill()
        self._bury(writer)

    def kill_all(self) -> None:
        """Kill every writer, look into the store that nobody has open now, and start again."""
        for writer in self._writers:
            writer.kill()
        for writer in self._writers:
            self._bury(writer)
        self.at_once += 1
        self._look(self._fresh, self._under_way)
        self._fresh, self._under_way = [], []

    def start_all(self) -> None:
        """Start as many writers as there were."""
        self._writers = [self._start() for _ in self._writers]

    def look_at_everything(self) -> None:
        """Look for all that was ever reported, and for what SQLite itself finds wrong."""
        self._look(self.everything, [])
        connection = apsw.Connection(str(self._home / "memory.db"))
        if connection.pragma("integrity_check") != "ok":
            self.faults.append("the database is not sound")
        connection.close()

    def _bury(self, writer: Writer) -> None:
        self.kills += 1
        batches = writer.reported()
        if writer.error is not None:
            self.faults.append(f"writer {writer.number}: {writer.error}")
        self._fresh += batches
        self.everything += batches
        self.acknowledged += sum(batch.count for batch in batches)
        self._under_way.append(Batch(writer.number, len(batches)))

    def _look(self, reported: list[Batch], under_way: list[Batch]) -> None:
        try:
            storage = _open(self._home)
            self.faults += find_losses(storage, reported, under_way)
            storage.close()
        except StorageError as error:
            self.faults.append(f"the store does not open or read: {error}")


def _open(home: Path) -> SqliteStorage:
    return SqliteStorage.open(home)


def run(
    home: Path,
    *,
    kills: int,
    writes: int,
    processes: int = 4,
    seed: int = 1,
    broken: str | None = None,
) -> Outcome:
    """Kill until there were so many kills and so many acknowledged writes; then look at all."""
    soak = _Soak(home, processes, seed, broken)
    random = Random(seed)
    while soak.kills < kills or soak.acknowledged < writes:
        # Not a wait for anything: the moment of the kill is what chance decides.
        time.sleep(random.uniform(0.005, _LONGEST_SECONDS))
        if random.random() < _ALL_AT_ONCE:
            soak.kill_all()
            soak.start_all()
        else:
            soak.kill_one()
    soak.kill_all()
    soak.look_at_everything()
    return Outcome(
        kills=soak.kills,
        at_once=soak.at_once,
        acknowledged=soak.acknowledged,
        faults=tuple(soak.faults),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--writes", type=int, default=200_000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", choices=SABOTAGES)
    parser.add_argument("--home", help="a folder on the disk to be tested")
    flags = parser.parse_args()
    started = time.perf_counter()
    with scratch(flags.home) as folder:
        outcome = run(
            folder / "store",
            kills=flags.kills,
            writes=flags.writes,
            processes=flags.processes,
            seed=flags.seed,
            broken=flags.broken,
        )
    return conclude(
        f"{outcome.kills} processes killed, {outcome.at_once} times all {flags.processes} at once, "
        f"{outcome.acknowledged} acknowledged writes, build {flags.broken or 'as it is'}: "
        f"{len(outcome.faults)} lost, torn or unopened"
        f"{bound(len(outcome.faults), outcome.acknowledged)}; "
        f"{time.perf_counter() - started:.0f} s",
        outcome.faults,
        expected=flags.broken is not None,
    )


if __name__ == "__main__":
    sys.exit(main())
