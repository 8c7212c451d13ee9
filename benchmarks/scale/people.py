"""What each of many people pays for the others, in one store of a scope for each.

    python -m benchmarks.scale.people [--folder FOLDER] [--people 1000] [--memories 1000]
        [--active 200] [--seconds 60]

Texts and vectors are generated, so that no model is loaded; the memories of all people are stored
by turns. Each of the active people has a handle and asks every ten seconds. A time of a search is
from the moment at which it was due, so that what waits for others counts; beside it is the time of
the processor in its thread, which other programs on the machine do not lengthen. A folder keeps the
store for another run.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.environment import describe_environment
from benchmarks.scale.corpus import texts
from benchmarks.scale.handles import fill, resident_mb
from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

Spent = tuple[float, float]
"""The time of a call, and that of the processor, in milliseconds."""

EVERY_SECONDS = 10
_THREADS = 8
_PAIRS = 300
_DIMENSIONS = 384


def _question(number: int) -> str:
    return " ".join(texts(1, seed=1000 + number)[0].split()[:8])


def _timed(handle: MemoryStore, question: str, *, since: float | None = None) -> Spent:
    start, worked = time.perf_counter() if since is None else since, time.thread_time()
    handle.search(question)
    return 1000 * (time.perf_counter() - start), 1000 * (time.thread_time() - worked)


def _show(what: str, times: Sequence[Spent]) -> None:
    """Print the median, the 99th percentile and the greatest of both times."""
    quantiles = np.quantile(np.array(times), [0.5, 0.99, 1], axis=0).T
    both = (" / ".join(f"{value:.1f}" for value in values) for values in quantiles)
    print("{}: {} ms, processor {} ms".format(what, *both), flush=True)


@contextmanager
def _open(home: Path, embedder: HashingEmbedder) -> Iterator[MemoryStore]:
    with MemoryStore.open(home, config=Config(home=home), embedder=embedder) as store:
        yield store


def _confine(store: MemoryStore, people: Sequence[int]) -> list[MemoryStore]:
    return [store.confine(scopes=f"team/{n}", client=f"person {n}") for n in people]


def _ask_for_a_while(
    handles: Sequence[MemoryStore], questions: Sequence[str], seconds: float, writing: int
) -> list[Spent]:
    """Return the times of searches that are due evenly; `writing` of ten calls store a memory."""
    calls = int(seconds * len(handles) / EVERY_SECONDS)
    begin = time.perf_counter()

    def call(number: int) -> Spent | None:
        due = begin + number * EVERY_SECONDS / len(handles)
        time.sleep(max(0.0, due - time.perf_counter()))
        handle = handles[number % len(handles)]
        if number % 10 < writing:
            handle.remember(f"{questions[number % len(questions)]} {time.time_ns()}")
            return None
        return _timed(handle, questions[number % len(questions)], since=due)

    with ThreadPoolExecutor(_THREADS) as pool:
        return [spent for spent in pool.map(call, range(calls)) if spent is not None]


def _measure_writes_of_another(handles: Sequence[MemoryStore], questions: Sequence[str]) -> None:
    """Print the processor time of a search after nothing, and after a write of somebody else."""
    other, *rest = handles
    quiet, after = list[float](), list[float]()
    for number in range(_PAIRS):
        handle, question = rest[number % len(rest)], questions[number % len(questions)]
        handle.search(question)
        quiet.append(_timed(handle, question)[1])
        other.remember(f"a note {number} of one person {time.time_ns()}")
        after.append(_timed(handle, question)[1])
    print(
        f"processor time of a search: median {np.median(quiet):.2f} ms,"
        f" after one person has written {np.median(after):.2f} ms",
        flush=True,
    )


def _measure(home: Path, embedder: HashingEmbedder, people: int, active: int, spent: float) -> None:
    chosen = list(range(0, people, max(1, people // active)))[:active]
    questions = [_question(number) for number in range(100)]
    shutil.rmtree(home / "index", ignore_errors=True)
    print("median / 99th percentile / most, on the clock and of the processor:")
    with _open(home, embedder) as store:
        handles = _confine(store, chosen)
        first = [_timed(handle, questions[0]) for handle in handles]
        _show("the first search of the process", first[:1])
        _show(f"the first search of {len(first) - 1} people, never searched before", first[1:])
    with _open(home, embedder) as store:
        handles = _confine(store, chosen)
        cold = [_timed(handle, questions[1]) for handle in handles]
        _show("the first search of another process", cold[:1])
        _show(f"the first search of {len(cold) - 1} people in it", cold[1:])
        print(f"resident with these people: {resident_mb():.0f} MB", flush=True)
        rate = len(handles) / EVERY_SECONDS
        for writing, what in ((0, "searches alone"), (2, "a fifth of the calls writes")):
            times = _ask_for_a_while(handles, questions, spent, writing)
            _show(f"{rate:.0f} calls a second of {len(handles)} people, {what}", times)
        _measure_writes_of_another(handles, questions)
        print(f"resident at the end: {resident_mb():.0f} MB")


def _measure_one(home: Path, embedder: HashingEmbedder) -> None:
    """Print the figures of a store of one person, who is confined to nothing."""
    questions = [_question(number) for number in range(100)]
    with _open(home, embedder) as store:
        store.search(questions[0])
    with _open(home, embedder) as store:
        _show("one person alone, the first search", [_timed(store, questions[0])])
        _show("one person alone", [_timed(store, question) for question in questions])


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, help="keeps the store, for another run")
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--memories", type=int, default=1000, help="of each")
    parser.add_argument("--active", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    print(describe_environment())
    embedder = HashingEmbedder(_DIMENSIONS)
    with TemporaryDirectory() as scratch:
        folder = Path(options.folder or scratch)
        for people in (options.people, 1):
            home = folder / f"{people} x {options.memories}"
            if not home.exists():
                begin = time.perf_counter()
                total = people * options.memories
                fill(home, total, embedder, per_scope=options.memories)
                size = sum(f.stat().st_size for f in home.rglob("*") if f.is_file()) / 1e9
                print(f"{total:,} memories took {time.perf_counter() - begin:.0f} s, {size:.1f} GB")
        _measure(
            home.with_name(f"{options.people} x {options.memories}"),
            embedder,
            options.people,
            options.active,
            options.seconds,
        )
        _measure_one(home, embedder)


if __name__ == "__main__":
    main()
