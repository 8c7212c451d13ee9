"""Processes come, write and go, or are killed, and share one managed MongoDB that is killed too.

    python -m benchmarks.soak.managed --minutes 5
    python -m benchmarks.soak.managed --minutes 0.5 --broken early

Looked for: every write that was acknowledged, any error that a process met, two servers on the same
data, and what is left at the end. The broken build acknowledges a
write before it is done.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NoReturn

from attrs import define, field

from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory.core.values.commit import Commit, Put
from infinite_memory.storage.mongodb.managed import open_managed
from infinite_memory.testing.storage_contract.base import make_memory

BROKEN = ("early",)
"""The builds that must be noticed."""

_KILLED = 0.4
_SERVER_KILLED = 0.1
_LONGEST_SECONDS = 2.0
_AT_ONCE = 1000


@define(kw_only=True)
class Outcome:
    """How many processes lived, were killed and wrote, and what was wrong."""

    lifetimes: int = 0
    killed: int = 0
    servers_killed: int = 0
    servers_started: int = 0
    acknowledged: list[str] = field(factory=list)
    longest: float = 0.0
    faults: list[str] = field(factory=list)


@define
class _Process:
    pid: int
    pipe: int
    killed_at: float | None


def run(
    home: Path, *, seconds: float, processes: int = 4, seed: int = 1, broken: str | None = None
) -> Outcome:
    """Keep so many processes alive for so long, then look."""
    random, outcome = Random(seed), Outcome()
    end = time.monotonic() + seconds
    alive: list[_Process] = []
    while time.monotonic() < end or alive:
        while len(alive) < processes and time.monotonic() < end:
            alive.append(_started(home, outcome.lifetimes, random, broken))
            outcome.lifetimes += 1
        time.sleep(0.02)
        if random.random() < _SERVER_KILLED / 20:
            outcome.servers_killed += _kill_server(home)
        alive = [each for each in alive if not _ended(each, outcome)]
    _look(home, outcome)
    return outcome


def _started(home: Path, number: int, random: Random, broken: str | None) -> _Process:
    seconds = random.uniform(0, _LONGEST_SECONDS)
    killed = random.random() < _KILLED
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _live(home, f"l{number}", seconds, write_end, broken)
    os.close(write_end)
    os.set_blocking(read_end, False)
    # The first second or so is spent opening the store: also killed there.
    at = time.monotonic() + random.uniform(0, 1.5 + seconds) if killed else None
    return _Process(child, read_end, at)


def _live(home: Path, name: str, seconds: float, pipe: int, broken: str | None) -> NoReturn:
    try:
        storage = open_managed(home)
        end = time.monotonic() + seconds
        number = 0
        while number == 0 or time.monotonic() < end:
            if broken == "early":
                os.write(pipe, f"A {name}-{number} 0\n".encode())
            began = time.monotonic()
            storage.commit(Commit(puts=[Put(memory=make_memory(f"{name}-{number}"), expected=0)]))
            took = time.monotonic() - began
            os.write(pipe, f"A {name}-{number} {took:.3f}\n".encode())
            number += 1
        storage.close()
    except BaseException as error:  # noqa: BLE001 - told to the parent, which counts it
        os.write(pipe, f"E {type(error).__name__}: {error}"[:400].encode() + b"\n")
    os._exit(0)


def _kill_server(home: Path) -> int:
    with suppress(OSError, ValueError):
        os.kill(int((home / "mongo_server" / "pid").read_text()), signal.SIGKILL)
        return 1
    return 0


def _ended(process: _Process, outcome: Outcome) -> bool:
    if process.killed_at is not None and time.monotonic() > process.killed_at:
        os.kill(process.pid, signal.SIGKILL)
        outcome.killed += 1
        process.killed_at = None
    pid, _ = os.waitpid(process.pid, os.WNOHANG)
    if pid == 0:
        return False
    os.set_blocking(process.pipe, True)
    with os.fdopen(process.pipe) as file:
        for line in file:
            if line.startswith("E "):
                outcome.faults.append(line[2:].strip())
            elif line.endswith("\n"):
                _, name, took = line.split()
                outcome.acknowledged.append(name)
                outcome.longest = max(outcome.longest, float(took))
    return True


def _look(home: Path, outcome: Outcome) -> None:
    storage = open_managed(home)
    for begin in range(0, len(outcome.acknowledged), _AT_ONCE):
        wanted = outcome.acknowledged[begin : begin + _AT_ONCE]
        found = storage.get(wanted)
        outcome.faults += [f"{name} is lost" for name in wanted if name not in found]
    server = int((home / "mongo_server" / "pid").read_text())
    storage.close()
    log = (home / "logs" / "mongo.log").read_text(errors="replace")
    outcome.servers_started = log.count('"msg":"MongoDB starting"')
    outcome.faults += ["two servers on the same data"] * log.count("DBPathInUse")
    left = [path.name for path in (home / "mongo_server").iterdir() if path.name in _TRANSIENT]
    outcome.faults += [f"{name} is left" for name in left]
    with suppress(ProcessLookupError):
        os.kill(server, 0)
        if Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            outcome.faults.append(f"process {server} is left")


_TRANSIENT = ("mongodb-27017.sock", "pid", "socket", "output")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", choices=BROKEN)
    parser.add_argument("--home", help="a folder on the disk to be tested")
    flags = parser.parse_args()
    with scratch(flags.home) as folder:
        outcome = run(
            folder / "home",
            seconds=flags.minutes * 60,
            processes=flags.processes,
            seed=flags.seed,
            broken=flags.broken,
        )
    acknowledged = len(outcome.acknowledged)
    lost = sum("is lost" in fault for fault in outcome.faults)
    return conclude(
        f"{outcome.lifetimes} lifetimes, {outcome.killed} of them killed, and "
        f"{outcome.servers_killed} kills of the server, which was started "
        f"{outcome.servers_started} times: {acknowledged} acknowledged writes, {lost} lost"
        f"{bound(lost, acknowledged)}, longest write {outcome.longest:.1f} s, "
        f"{len(outcome.faults)} faults",
        outcome.faults,
        expected=flags.broken is not None,
    )


if __name__ == "__main__":
    sys.exit(main())
