"""Cut the power of a simulated disk at random moments, and look at what the store kept.

python -m benchmarks.soak.power_cuts --cuts 10000
python -m benchmarks.soak.power_cuts --cuts 1000 --broken normal    (or: lying)
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random
from unittest.mock import patch

from attrs import frozen

from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory.storage.sqlite.connection import RULES
from tests.harness.power_cuts import Cut, cut_power, find_fault

BROKEN = ("normal", "lying")
"""Builds that must lose something: `synchronous` at NORMAL, and a disk that only says it synced."""

_GENERATIONS = 4


@frozen(kw_only=True)
class Outcome:
    """How many cuts, how many acknowledged changes they should have kept, and what was wrong."""

    cuts: int
    acknowledged: int
    faults: tuple[str, ...]


def run(folder: Path, *, cuts: int, seed: int, broken: str | None = None) -> Outcome:
    """Make at least so many cuts; three of four stores start from what an earlier cut left."""
    random = Random(seed)
    done = acknowledged = generation = 0
    faults: list[str] = []
    start: Cut | None = None
    with _build(broken):
        while done < cuts:
            sound = []
            for cut in cut_power(folder / "work", random, start=start, lying=broken == "lying"):
                fault = find_fault(cut, folder / "left")
                done += 1
                acknowledged += sum(len(commit.changes) for commit in cut.commits)
                if fault is not None:
                    faults.append(f"cut {done}: {fault}")
                elif cut.identity is not None and cut.under_way is None:
                    sound.append(cut)
            generation = (generation + 1) % _GENERATIONS
            start = random.choice(sound) if sound and generation else None
    return Outcome(cuts=done, acknowledged=acknowledged, faults=tuple(faults))


def _build(broken: str | None) -> AbstractContextManager[object]:
    return patch.dict(RULES, synchronous=1) if broken == "normal" else nullcontext()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", choices=BROKEN)
    flags = parser.parse_args()
    started = time.perf_counter()
    with scratch(None, in_memory=True) as folder:
        outcome = run(folder, cuts=flags.cuts, seed=flags.seed, broken=flags.broken)
    seconds = time.perf_counter() - started
    return conclude(
        f"{outcome.cuts} power cuts, seed {flags.seed}, build {flags.broken or 'as it is'}: "
        f"{len(outcome.faults)} lost, torn or corrupt{bound(len(outcome.faults), outcome.cuts)}; "
        f"{outcome.acknowledged} acknowledged writes looked for; "
        f"{seconds:.0f} s, {outcome.cuts / seconds:.0f} cuts/s",
        outcome.faults,
        expected=flags.broken is not None,
    )


if __name__ == "__main__":
    sys.exit(main())
