"""Let processes open, bring forward, fill, checkpoint and close a store on a slow disk.

python -m benchmarks.soak.openers --minutes 10 --processes 8
python -m benchmarks.soak.openers --minutes 1 --broken

A round has a store of an older schema, copied without its lock, and processes that begin at the
same moment. Each opens it again and again, writes little or 5 MB, empties the log, reads, verifies
it and closes it, or diagnoses it as `doctor` does, at random. Any read and write of theirs may be
slow. No byte is damaged, so that every report of damage is false. After a round all that was
acknowledged must be there.

`--broken` believes the first look, also where somebody may write meanwhile.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from attrs import field, frozen

from benchmarks.soak.report import bound, conclude, scratch
from benchmarks.soak.starting import Start
from infinite_memory.core.errors import StorageError
from infinite_memory.storage.sqlite import SqliteStorage
from tests.harness.notes import Notes
from tests.harness.older_stores import OLDER_SCHEMAS, make_older_store
from tests.harness.opening import Opener, believe_every_look

_ROUND_SECONDS = (0.2, 0.2, 0.2, 0.5, 3.0)
_COUNTED = ("opened", "diagnosed", "verified", "large", "checkpointed", "stored", "refused")


@frozen(kw_only=True)
class Outcome:
    """How many rounds, how often each thing was done in them, and what was wrong."""

    rounds: int
    counts: Counter[str] = field(factory=Counter)
    seconds: float
    faults: tuple[str, ...]

    @property
    def looks(self) -> int:
        """How often a process looked whether the store is sound."""
        return self.counts["opened"] + self.counts["diagnosed"] + self.counts["verified"]


def run(
    folder: Path, *, minutes: float, processes: int = 8, seed: int = 1, broken: bool = False
) -> Outcome:
    """Play rounds for so long; a broken run ends with the first round that shows a fault."""
    random, counts, faults = Random(seed), Counter[str](), list[str]()
    started = time.monotonic()
    for rounds in itertools.count(1):
        home, notes = folder / "home", Notes(folder / "notes")
        make_older_store(home, random.choice(OLDER_SCHEMAS))
        _play(home, notes, processes, random, broken=broken)
        counts.update({kind: len(notes.read(kind)) for kind in _COUNTED})
        faults += [f"round {rounds}: {fault}" for fault in _find_faults(home, notes)]
        shutil.rmtree(home)
        shutil.rmtree(notes.folder)
        seconds = time.monotonic() - started
        if seconds > 60 * minutes or (broken and faults):
            return Outcome(rounds=rounds, counts=counts, seconds=seconds, faults=tuple(faults))
    raise AssertionError


def _play(home: Path, notes: Notes, processes: int, random: Random, *, broken: bool) -> None:
    """Let so many processes work on the store for some seconds, and wait for them."""
    start, length = Start(), random.choice(_ROUND_SECONDS)
    children = []
    for number in range(processes):
        own = Random(random.randrange(1 << 40))
        child = os.fork()
        if child == 0:
            try:
                if broken:
                    believe_every_look()
                start.wait()
                opener = Opener(f"p{number}", home, notes, own)
                opener.work_until(time.monotonic() + length)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    start.give(len(children))
    for number, child in enumerate(children):
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            notes.add(f"p{number}", "error", "the process died")


def _find_faults(home: Path, notes: Notes) -> Iterator[str]:
    """Yield every false report, every error of another kind, and what is lost."""
    yield from (f"called damaged: {text}" for text in sorted(set(notes.read("damaged"))))
    yield from (f"an error of another kind: {text}" for text in sorted(set(notes.read("error"))))
    try:
        storage = SqliteStorage.open(home)
        yield from (f"verify: {finding.what}" for finding in storage.verify().findings)
        ids = notes.read("stored")
        for start in range(0, len(ids), 500):
            found = storage.get(ids[start : start + 500])
            yield from (f"lost: {each}" for each in ids[start : start + 500] if each not in found)
        storage.close()
    except StorageError as error:
        yield f"the store does not open or read: {error}"


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
    done = ", ".join(f"{outcome.counts[kind]} {kind}" for kind in _COUNTED)
    return conclude(
        f"{flags.processes} processes, seed {flags.seed}, {outcome.rounds} older stores, {done},"
        f" build {'broken' if flags.broken else 'as it is'}: {len(outcome.faults)} false reports,"
        f" errors and losses{bound(len(outcome.faults), outcome.looks)}; {outcome.seconds:.0f} s",
        outcome.faults,
        expected=flags.broken,
    )


if __name__ == "__main__":
    sys.exit(main())
