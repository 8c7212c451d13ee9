"""What a search, a write and the memory of a process cost as the store grows.

    python -m benchmarks.scale.growth [--sizes 1000 10000 100000 1000000] [--out FILE]
    python -m benchmarks.scale.growth --plot growth.svg [--out FILE]

Each size is measured in a process of its own, on a copy of the store, so that the corpus stays as
it is. `write` is `remember` with its embedding; `first search` the search after it, which folds the
new memory in; `search` the whole call on everything, `filtered` the same in a scope of 1 %. `plot`
needs matplotlib, and draws what `out` holds if that is there already.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from benchmarks.scale.processes import memory_of
from benchmarks.scale.timing import timed
from infinite_memory import MemoryStore

_QUESTIONS = 60
_WRITES = 100


def measure(home: Path, memories: int) -> dict[str, float]:
    """Return the figures of one store, which is changed."""
    with MemoryStore.open(home, counts_usage=False) as store:
        start = time.perf_counter()
        store.models.warm_up()
        opened = time.perf_counter() - start
        asked = corpus.questions(4 * _QUESTIONS)
        search = timed(lambda q: store.search(q, scope="ALL"), asked[:_QUESTIONS])
        filtered = timed(
            lambda q: store.search(q, scope=corpus.RARE), asked[_QUESTIONS : 2 * _QUESTIONS]
        )
        resident = memory_of()
        writes = timed(store.remember, corpus.texts(_WRITES, seed=300))
        firsts = []
        for text, question in zip(
            corpus.texts(_QUESTIONS, seed=301), asked[2 * _QUESTIONS :], strict=False
        ):
            store.remember(text)
            start = time.perf_counter()
            store.search(question, scope="ALL")
            firsts.append(1000 * (time.perf_counter() - start))
        shutil.rmtree(home / "index", ignore_errors=True)
    return {
        "memories": memories,
        "search_p50_ms": search.p50,
        "search_p99_ms": search.p99,
        "filtered_p50_ms": filtered.p50,
        "first_search_p50_ms": sorted(firsts)[len(firsts) // 2],
        "write_p50_ms": writes.p50,
        "write_p99_ms": writes.p99,
        "open_s": opened,
        "resident_mb": resident["Rss"] / 1e6,
        "own_mb": resident["Anonymous"] / 1e6,
    }


def in_a_process(folder: Path, memories: int) -> dict[str, float]:
    """Measure a copy of the store in another process."""
    corpus.build(folder, memories)
    source = corpus.store_folder(folder, memories)
    with MemoryStore.open(source, counts_usage=False) as store:
        store.models.warm_up()  # closing writes the snapshot, if there was none yet
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        home = Path(scratch) / "store"
        shutil.copytree(source, home)
        command = [sys.executable, "-m", "benchmarks.scale.growth", "--measure", str(home)]
        command += ["--sizes", str(memories)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot, ticker

    sizes = [float(row["memories"]) for row in rows]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2))
    for name, label in (
        ("search_p50_ms", "search, everything"),
        ("first_search_p50_ms", "search right after a write"),
        ("filtered_p50_ms", "search, scope of 1 %"),
        ("write_p50_ms", "write with embedding"),
    ):
        left.plot(sizes, [float(row[name]) for row in rows], marker="o", label=label)
    left.set(xscale="log", yscale="log", xlabel="memories", ylabel="p50, ms", ylim=(3, 100))
    left.set_yticks([3, 5, 10, 20, 50, 100])
    for name, label in (("resident_mb", "resident"), ("own_mb", "of it not the mapped index")):
        right.plot(sizes, [float(row[name]) for row in rows], marker="o", label=label)
    right.set(xscale="log", yscale="log", xlabel="memories", ylabel="MB", ylim=(50, 2000))
    right.set_yticks([50, 100, 200, 500, 1000, 2000])
    for axes in (left, right):
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axis.set_minor_formatter(ticker.NullFormatter())
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--out", type=Path, help="a CSV file of the figures")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure is not None:
        print(json.dumps(measure(arguments.measure, arguments.sizes[0])))
        return
    print(describe_environment())
    if arguments.plot and arguments.out and arguments.out.exists():
        with arguments.out.open(newline="", encoding="utf-8") as file:
            rows: list[Any] = list(csv.DictReader(file))
    else:
        rows = []
        for memories in arguments.sizes:
            rows.append(in_a_process(arguments.folder, memories))
            print(", ".join(f"{name} {value:,.1f}" for name, value in rows[-1].items()), flush=True)
        if arguments.out:
            with arguments.out.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
    if arguments.plot:
        plot(rows, arguments.plot)


if __name__ == "__main__":
    main()
