"""Let processes fork children that open the same store, write and die at random, beside kills.

python -m benchmarks.soak.forks --minutes 10 --processes 8
python -m benchmarks.soak.forks --minutes 1 --broken

Each process opens the store, commits and closes it, again and again; every two seconds there is a
moment in which none of them has it open. It forks children while the
store is open, which are to be refused, and while it is closed, which work. Whoever was told that
something is stored notes it before it goes on. Processes and children end at random, killed or not.

`--broken` switches off, in the processes of the run: that a child is refused a store that was open
at the fork; that no connection removes the log; and the look at the files at each commit.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
import time
from pathlib import Path
from random import Random

import apsw
from attrs import frozen

from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory.core.errors import StorageError
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.fork_soak import work
from tests.harness.notes import Notes

_LONGEST_SECONDS = 4.0
_GRACE_SECONDS = 60.0


@frozen(kw_only=True)
class Outcome:
    """What was done in a run, and what was wrong after it."""

    kills: int
    forks: int
    refused: int
    acknowledged: int
    seconds: float
    faults: tuple[str, ...]


class _Crew:
    """The processes of a run, each with an end drawn at random."""

    def __init__(self, home: Path, notes: Path, count: int, seed: int, *, broken: bool) -> None:
        self._arguments = (str(home), str(notes), "broken" if broken else "sound")
        self._random = Random(seed)
        self._numbers = itertools.count(seed * 1_000_000)
        self._count = count
        self.kills = 0
        self.start_all()

    def _start(self) -> tuple[int, float]:
        """Fork a process; this one has no store open."""
        seed = next(self._numbers)
        end = time.monotonic() + self._random.uniform(0.5, _LONGEST_SECONDS)
        process = os.fork()
        if process == 0:
            try:
                work(str(seed), *self._arguments)
            finally:
                os._exit(1)
        return process, end

    def kill_those_due(self) -> None:
        """Kill each process whose time is over, and start another in its place."""
        for place, (process, end) in enumerate(self._members):
            if time.monotonic() > end:
                self._kill(process)
                self._members[place] = self._start()

    def kill_all(self) -> None:
        """Kill every process; their children notice it and end."""
        for process, _ in self._members:
            self._kill(process)
        self._members = []

    def start_all(self) -> None:
        """Start as many processes as there were."""
        self._members = [self._start() for _ in range(self._count)]

    def _kill(self, process: int) -> None:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        self.kills += 1


def run(
    folder: Path, *, minutes: float, processes: int = 8, seed: int = 1, broken: bool = False
) -> Outcome:
    """Let the processes work for so long, then look for all that was acknowledged.

    A broken run ends at the first loss.
    """
    home, notes = folder / "home", Notes(folder / "notes")
    SqliteStorage.open(home).close()
    started = time.monotonic()
    looked_at = started
    crew = _Crew(home, notes.folder, processes, seed, broken=broken)
    while time.monotonic() < started + 60 * minutes:
        time.sleep(0.05)
        crew.kill_those_due()
        if broken and time.monotonic() > looked_at + 5:
            looked_at = time.monotonic()
            crew.kill_all()
            if _find_faults(home, notes):
                break
            crew.start_all()
    seconds = time.monotonic() - started
    crew.kill_all()
    return Outcome(
        kills=crew.kills,
        forks=len(notes.read("forked")),
        refused=len(notes.read("refused")),
        acknowledged=len(notes.read("stored")),
        seconds=seconds,
        faults=tuple(_find_faults(home, notes)),
    )


def _find_faults(home: Path, notes: Notes) -> list[str]:
    """Return what is lost, and what else is wrong; waits for children that are still at work."""
    _wait_for_children(notes)
    faults = [f"an error of another kind: {text}" for text in sorted(set(notes.read("error")))]
    try:
        storage = SqliteStorage.open(home)
        for finding in storage.verify().findings:
            faults.append(f"verify: {finding.what}")
        ids = notes.read("stored")
        for start in range(0, len(ids), 500):
            found = storage.get(ids[start : start + 500])
            faults += [f"lost: {i}" for i in ids[start : start + 500] if i not in found]
        storage.close()
        connection = apsw.Connection(str(home / "memory.db"))
        if connection.pragma("integrity_check") != "ok":
            faults.append("the database is not sound")
        connection.close()
    except StorageError as error:
        faults.append(f"the store does not open or read: {error}")
    return faults


def _wait_for_children(notes: Notes) -> None:
    """Wait until no note is added any more: a child ends once its parent is gone."""
    deadline = time.monotonic() + _GRACE_SECONDS
    before = -1
    while time.monotonic() < deadline:
        size = sum(file.stat().st_size for file in notes.folder.iterdir())
        if size == before:
            return
        before = size
        time.sleep(2.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("--home", help="a folder on the disk to be tested")
    flags = parser.parse_args()
    with scratch(flags.home) as folder:
        outcome = run(
            folder,
            minutes=flags.minutes,
            processes=flags.processes,
            seed=flags.seed,
            broken=flags.broken,
        )
    return conclude(
        f"{flags.processes} processes, {outcome.kills} killed, {outcome.forks} children forked,"
        f" {outcome.refused} refused, {outcome.acknowledged} acknowledged writes, build"
        f" {'broken' if flags.broken else 'as it is'}: {len(outcome.faults)} lost or unsound"
        f"{bound(len(outcome.faults), outcome.acknowledged)}; {outcome.seconds:.0f} s",
        outcome.faults,
        expected=flags.broken,
    )


if __name__ == "__main__":
    sys.exit(main())
