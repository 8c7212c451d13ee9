"""Whether a search finds what was acknowledged before it began, while writers are busy.

    python -m benchmarks.scale.freshness [--seconds 60] [--memories 10000]
    python -m benchmarks.scale.freshness --stale

Four writers, each a process, store memories that hold a word of their own, and say so to everybody
once the receipt is there. Four readers, each a process, take the latest word that was said before
their search began and look for it. `--stale` gives the readers an index that never looks at the
store again: then the harness must report misses.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Callable
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from infinite_memory import MemoryStore

_WRITERS = _READERS = 4


def write(home: str, number: int, said: Synchronized[int], end: float, results: Any) -> None:
    with MemoryStore.open(home, counts_usage=False) as store:
        count = 0
        while time.monotonic() < end:
            store.remember(f"the parcel zq{number}x{count} is on its way", id=f"w{number}-{count}")
            count += 1
            said.value = count
    results.put(("writes", count))


def read(home: str, seed: int, said: list[Synchronized[int]], end: float, results: Any) -> None:
    draw = Random(seed)
    taken, misses, stale = [], [], seed < 0
    with MemoryStore.open(home, counts_usage=False) as store:
        if stale:
            view = store._services.index.refresh()
            store._services.index.refresh = lambda: view  # type: ignore[method-assign]
        while time.monotonic() < end:
            writer = draw.randrange(_WRITERS)
            count = said[writer].value
            if not count:
                continue
            wanted = f"w{writer}-{count - 1}"
            start = time.perf_counter()
            hits = store.search(f"where is zq{writer}x{count - 1}?", limit=10)
            taken.append(1000 * (time.perf_counter() - start))
            if wanted not in {hit.memory.id for hit in hits}:
                misses.append(wanted)
    results.put(("reads", taken, misses))


def run(home: Path, seconds: float, *, stale: bool) -> int:
    said = [multiprocessing.Value("q", 0) for _ in range(_WRITERS)]
    results: Any = multiprocessing.Queue()
    end = time.monotonic() + seconds
    seeds = [-number if stale else number for number in range(1, _READERS + 1)]
    jobs: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
        *((write, (str(home), n, said[n], end, results)) for n in range(_WRITERS)),
        *((read, (str(home), seed, said, end, results)) for seed in seeds),
    ]
    processes = [multiprocessing.Process(target=work, args=args) for work, args in jobs]
    for process in processes:
        process.start()
    found = [results.get(timeout=seconds + 120) for _ in processes]
    for process in processes:
        process.join()
    writes = sum(result[1] for result in found if result[0] == "writes")
    taken = np.concatenate([result[1] for result in found if result[0] == "reads"])
    misses = [miss for result in found if result[0] == "reads" for miss in result[2]]
    p50, p95, p99 = np.percentile(taken, [50, 95, 99])
    print(
        f"{writes:,} memories acknowledged, {len(taken):,} searches, {len(misses)} misses;"
        f" a search took p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f}, at most {taken.max():.1f} ms"
    )
    return len(misses)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--stale", action="store_true")
    arguments = parser.parse_args()
    print(describe_environment())
    corpus.build(arguments.folder, arguments.memories)
    multiprocessing.set_start_method("spawn")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        home = Path(scratch) / "store"
        shutil.copytree(corpus.store_folder(arguments.folder, arguments.memories), home)
        misses = run(home, arguments.seconds, stale=arguments.stale)
    if bool(misses) != arguments.stale:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
