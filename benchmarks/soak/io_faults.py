"""Let every call to the disk fail, once and for ever, and look at what the store kept.

python -m benchmarks.soak.io_faults
python -m benchmarks.soak.io_faults --every 20 --broken
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

from attrs import frozen

from benchmarks.soak.report import bound, conclude, scratch
from infinite_memory.storage.sqlite.writer import Writer
from tests.harness.io_faults import fault_points, meet_fault


@frozen(kw_only=True)
class Outcome:
    """How many points of fault were met, and what was wrong after them."""

    points: int
    faults: tuple[str, ...]


def run(
    folder: Path, *, every: int = 1, first: int = 0, seed: int = 1, broken: bool = False
) -> Outcome:
    """Meet every point of fault, or each `every`-th; `broken` acknowledges failed commits."""
    points = list(fault_points(folder / "work", seed=seed))[first::every]
    build = patch.object(Writer, "_is_durable", lambda *_: True) if broken else nullcontext()
    with build:
        found = [meet_fault(folder / "work", point, seed=seed) for point in points]
    return Outcome(points=len(points), faults=tuple(fault for fault in found if fault is not None))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broken", action="store_true", help="acknowledge commits that failed")
    flags = parser.parse_args()
    started = time.perf_counter()
    with scratch(None, in_memory=True) as folder:
        outcome = run(folder, every=flags.every, seed=flags.seed, broken=flags.broken)
    return conclude(
        f"{outcome.points} points of fault, seed {flags.seed}, build "
        f"{'broken' if flags.broken else 'as it is'}: {len(outcome.faults)} lost, doubled or half"
        f"{bound(len(outcome.faults), outcome.points)}; {time.perf_counter() - started:.0f} s",
        outcome.faults,
        expected=flags.broken,
    )


if __name__ == "__main__":
    sys.exit(main())
