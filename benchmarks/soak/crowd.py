"""Let many processes write and checkpoint in one store, and see how long each has to wait.

python -m benchmarks.soak.crowd --processes 16 --minutes 5
python -m benchmarks.soak.crowd --minutes 0.5 --broken    (no lock: writers fall over each other)
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import apsw
from attrs import frozen

from benchmarks.soak.report import conclude, scratch
from benchmarks.soak.starting import Start
from infinite_memory.core.errors import StorageError
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.storage.sqlite.files.lock import WriterLock
from infinite_memory.testing.storage_contract.base import make_memory

LONGEST_SECONDS = 2.0
"""How long a commit may take among sixteen processes."""

_FAIREST = 3
_SCRUB_EVERY = 50


@frozen(kw_only=True)
class Outcome:
    """Commits of each process, their longest wait in seconds, and what was wrong."""

    commits: tuple[int, ...]
    longest: float
    faults: tuple[str, ...]

    @property
    def unfairness(self) -> float:
        """How many times as much the fastest process wrote as the slowest."""
        return max(self.commits) / max(1, min(self.commits))


def run(home: Path, *, processes: int, seconds: float, broken: bool = False) -> Outcome:
    """Write from that many processes for so long; `broken` takes the lock away from them."""
    SqliteStorage.open(home).close()
    pipes = []
    children = []
    start = Start()
    for number in range(processes):
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            _write(number, home, write_end, start, seconds, broken=broken)
        os.close(write_end)
        pipes.append(read_end)
        children.append(child)
    start.give(processes)
    commits, longest, faults = [], 0.0, []
    for number, (pipe, child) in enumerate(zip(pipes, children, strict=True)):
        report = _read_all(pipe).split("\n", 2)
        os.waitpid(child, 0)
        commits.append(int(report[0]))
        longest = max(longest, float(report[1]))
        faults += [f"process {number}: {line}" for line in report[2].splitlines()]
    faults += _missing(home, commits)
    return Outcome(commits=tuple(commits), longest=longest, faults=tuple(faults))


def _read_all(pipe: int) -> str:
    with open(pipe) as file:
        return file.read()


def _write(
    number: int, home: Path, pipe: int, start: Start, seconds: float, *, broken: bool
) -> NoReturn:
    """Commit until the time is up; report the count, the longest wait, and each error."""
    if broken:
        WriterLock.held = _unlocked  # type: ignore[method-assign, assignment]
    errors: list[str] = []
    count, longest = 0, 0.0
    try:
        storage = SqliteStorage.open(home)
        start.wait()
        end_at = time.monotonic() + seconds
        while (began := time.monotonic()) < end_at:
            try:
                storage.commit(
                    Commit(puts=[Put(memory=make_memory(f"p{number}-{count}"), expected=0)])
                )
                count += 1
                if count % _SCRUB_EVERY == 0:
                    storage.scrub()
            except StorageError as error:
                errors.append(_line(error))
            longest = max(longest, time.monotonic() - began)
    except StorageError as error:
        errors.append(_line(error))
    finally:
        os.write(pipe, "\n".join([str(count), str(longest), *errors[:100]]).encode() + b"\n")
        os._exit(0)


def _line(error: StorageError) -> str:
    return f"{error}"[:300].replace("\n", " ")


@contextmanager
def _unlocked(_lock: WriterLock) -> Iterator[None]:
    yield


def _missing(home: Path, commits: list[int]) -> Iterator[str]:
    storage = SqliteStorage.open(home)
    for number, count in enumerate(commits):
        found = storage.get([f"p{number}-{each}" for each in range(count)])
        if len(found) < count:
            yield f"process {number}: {count - len(found)} of {count} are lost"
    storage.close()
    connection = apsw.Connection(str(home / "memory.db"))
    if connection.pragma("integrity_check") != "ok":
        yield "the database is not sound"
    connection.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--broken", action="store_true", help="without the lock of the writers")
    parser.add_argument("--home", help="a folder on the disk to be tested")
    flags = parser.parse_args()
    with scratch(flags.home) as folder:
        outcome = run(
            folder / "store",
            processes=flags.processes,
            seconds=flags.minutes * 60,
            broken=flags.broken,
        )
    faults = list(outcome.faults)
    if outcome.longest > LONGEST_SECONDS:
        faults.append(f"the longest wait was {outcome.longest:.2f} s")
    if outcome.unfairness > _FAIREST:
        faults.append(f"the fastest wrote {outcome.unfairness:.1f} times as much as the slowest")
    return conclude(
        f"{flags.processes} processes for {flags.minutes:g} minutes, build "
        f"{'without the lock' if flags.broken else 'as it is'}: {sum(outcome.commits)} commits, "
        f"{min(outcome.commits)} to {max(outcome.commits)} a process, longest wait "
        f"{outcome.longest:.2f} s, {len(outcome.faults)} errors",
        faults,
        expected=flags.broken,
    )


if __name__ == "__main__":
    sys.exit(main())
