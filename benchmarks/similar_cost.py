"""What the look for similar memories costs a write.

    python -m benchmarks.similar_cost [--sizes 0,1000,10000] [--calls 100] [--in-memory]

A store of each size is filled with made sentences by the bundled
model. Then single memories are stored, in turns with and without the look, each turn a new
sentence; the ratio is that of the medians. "first" is the first write of a new process, with the
look, which reads the index: a snapshot of it is there where the store was closed after the fill.
With `--in-memory` nothing is written to a disk, so that the look is a larger share.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.environment import describe_environment
from infinite_memory import MemoryStore

_SUBJECTS = "Alice Bob the-choir the-boat our-server the-greenhouse Apollo the-mill".split()
_VERBS = "moved painted sold repaired booked measured cancelled ordered".split()
_OBJECTS = "rehearsal boiler licence backup tomatoes contract bicycle meeting router".split()
_FIRST = """
import sys, time
from infinite_memory import MemoryStore
with MemoryStore.open(sys.argv[1]) as store:
    start = time.perf_counter()
    store.remember(f"Sentence {sys.argv[2]} of a new process", similar=sys.argv[2] == "1")
    print(1000 * (time.perf_counter() - start))
"""


def sentence(draw: random.Random) -> str:
    """Return a sentence that shares words with many others, and has a number of its own."""
    return (
        f"{draw.choice(_SUBJECTS)} {draw.choice(_VERBS)} the {draw.choice(_OBJECTS)}"
        f" on day {draw.randrange(10**6)}"
    )


def first_write_ms(home: Path, *, similar: bool) -> float:
    """Return how long the first write of a new process takes."""
    command = [sys.executable, "-c", _FIRST, str(home), str(int(similar))]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(home: Path | None, size: int, calls: int) -> None:
    """Fill a store, one in memory where there is no `home`, and print a row of the table."""
    draw = random.Random(size)
    with MemoryStore.open(home or "memory://") as store:
        if size:
            store.remember_many({"text": sentence(draw)} for _ in range(size))
        for similar in (False, True):
            store.remember(sentence(draw), similar=similar)
        taken: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(calls):
            for similar, times in taken.items():
                text = sentence(draw)
                start = time.perf_counter()
                store.remember(text, similar=similar)
                times.append(1000 * (time.perf_counter() - start))
    without, with_look = (np.percentile(taken[similar], [50, 95]) for similar in (False, True))
    first = ["", ""]
    if home is not None:
        first = [f"{first_write_ms(home, similar=similar):.0f}" for similar in (False, True)]
    print(
        f"| {size:,} | {without[0]:.2f} | {with_look[0]:.2f} | {with_look[0] / without[0]:.2f}"
        f" | {without[1]:.2f} | {with_look[1]:.2f} | {first[0]} | {first[1]} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="0,1000,10000", metavar="N,N,...")
    parser.add_argument("--calls", default=100, type=int, metavar="N")
    parser.add_argument("--in-memory", action="store_true", help="store nothing on disk")
    arguments = parser.parse_args()
    print(f"{describe_environment()}\n\nmilliseconds of one `remember`\n")
    print(
        "| memories | p50 without | p50 with | ratio | p95 without | p95 with | first without"
        " | first with |\n" + "|---" * 8 + "|"
    )
    for size in map(int, arguments.sizes.split(",")):
        with tempfile.TemporaryDirectory() as scratch:
            home = None if arguments.in_memory else Path(scratch) / "home"
            measure(home, size, arguments.calls)


if __name__ == "__main__":
    main()
