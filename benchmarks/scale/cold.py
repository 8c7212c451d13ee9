"""From a cold process to the first result at a million memories, and where the time goes.

    python -m benchmarks.scale.cold [--memories 1000000] [--runs 15]

Starts `infinite-memory search` again and again, each time as a new process that maps the snapshot,
loads the model and answers; then accounts for one such process step by step. The files are in the
page cache of the system, as they are when the machine has just been used.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

from benchmarks.cold_search import CLI, STEPS, timed
from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from infinite_memory import MemoryStore


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    print(describe_environment())
    corpus.build(arguments.folder, arguments.memories)
    home = str(corpus.store_folder(arguments.folder, arguments.memories))
    with MemoryStore.open(home, counts_usage=False) as store:
        store.models.warm_up()  # closing writes the snapshot, if there was none yet
    asked = corpus.questions(arguments.runs + 1)
    for name, options in (("all", ["--scope", "ALL"]), ("1 %", ["--scope", corpus.RARE])):
        runs = [timed(*CLI, "--home", home, "search", q, *options) for q in asked[1:]]
        print(
            f"cold process to result, {name}: median {statistics.median(runs):.3f} s,"
            f" worst {max(runs):.3f} s, of {arguments.runs} runs"
        )
    bare = [timed(sys.executable, "-c", "pass") for _ in range(arguments.runs)]
    print(f"an empty Python process: median {statistics.median(bare):.3f} s")
    print("one process, step by step, after the start of Python:")
    steps = STEPS.replace("store.search(sys.argv[2])", 'store.search(sys.argv[2], scope="ALL")')
    command = [sys.executable, "-c", steps, home, asked[0]]
    print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="")


if __name__ == "__main__":
    main()
