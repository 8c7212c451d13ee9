"""Cycles of the dreamer over a large scope, and searches while a worker dreams.

    python -m benchmarks.scale.dreaming [--memories 100000] [--cycles 20] [--seconds 30]

All memories are in one scope, which a cycle looks at as a whole. First the cycles run alone: how
long each takes, and how far the memory of the process grows beyond what it has after 200 searches.
Then searches are timed alone, and while a worker runs one cycle after the other, where a server
runs one in 30 minutes. A search is a whole call, with a question that was not asked before. The
worker makes way for calls, as in a server: between two searches there is a pause as long as
`--pause`, in which it works.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import numpy as np
from attrs import evolve

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from benchmarks.scale.upkeep import search_for, show
from infinite_memory import Config, MemoryStore
from infinite_memory.features.background.dreamer.job import DREAM
from infinite_memory.features.background.upkeep.report import JobReport, StepAction
from infinite_memory.features.background.worker.worker import Pace, Worker

_COPIED = "memory.db*"
_WARM_SEARCHES = 200
_LINKS = (StepAction.LINK, StepAction.STRENGTHEN)
_SAMPLED_SECONDS = 0.02


class PeakMemory:
    """The most resident memory of this process since the last `reset`, in bytes; Linux alone."""

    def __init__(self) -> None:
        self.most = 0
        self._ended = threading.Event()

    @staticmethod
    def now() -> int:
        """Return the resident memory that is no mapped file."""
        status = Path("/proc/self/status").read_text(encoding="ascii")
        (line,) = (line for line in status.splitlines() if line.startswith("RssAnon:"))
        return 1024 * int(line.split()[1])

    @contextmanager
    def watching(self) -> Iterator[PeakMemory]:
        """Sample the memory every 20 ms."""
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(_SAMPLED_SECONDS):
            self.most = max(self.most, self.now())


def dream_alone(store: MemoryStore, cycles: int) -> None:
    """Run cycles one after the other, and print how long they took and what they needed."""
    before = PeakMemory.now()
    seconds: list[float] = []
    steps = links = 0
    with PeakMemory().watching() as memory:
        for seed in range(cycles):
            start = time.perf_counter()
            report = store.dream(seed, scope=corpus.TOPICAL)
            seconds.append(time.perf_counter() - start)
            if report.failure is not None:
                raise SystemExit(f"cycle {seed} failed: {report.failure}")
            steps += len(report.steps)
            links += sum(step.action in _LINKS for step in report.steps)
        grown, most = PeakMemory.now() - before, memory.most - before
    p50, longest = np.median(seconds), max(seconds)
    print(
        f"{cycles} cycles alone: p50 {p50:.2f} s, longest {longest:.2f} s;"
        f" {links:,} links and {steps - links:,} summaries\n"
        f"memory of the process beyond that after {_WARM_SEARCHES} searches: at most"
        f" {most / 1e6:.0f} MB, {grown / 1e6:.0f} MB after the last cycle",
        flush=True,
    )


def dream_beside_searches(
    store: MemoryStore, questions: list[str], *, seconds: float, pause: float
) -> None:
    """Print how long searches take alone, and while a worker dreams."""
    print(f"{'':28} {'p50':>9} {'p95':>9} {'p99':>9} {'most':>9}   (ms)")
    show("search, idle", search_for(store, questions, seconds, pause))
    reports: list[JobReport] = []
    stop = threading.Event()
    worker = Worker(
        store._services,
        stop,
        on_report=reports.append,
        jobs=[evolve(DREAM, every=timedelta(0))],
        pace=Pace(first=0, look=0.01, more=0.01),
    )
    thread = threading.Thread(target=worker.run)
    thread.start()
    show("search, while dreaming", search_for(store, questions, seconds, pause))
    stop.set()
    begun_to_stop = time.perf_counter()
    thread.join()
    failures = [report.failure for report in reports if report.failure]
    print(
        f"the worker ended {len(reports)} cycles, and stopped after"
        f" {time.perf_counter() - begun_to_stop:.2f} s; failures: {failures or 'none'}"
    )
    show("search, idle again", search_for(store, questions, seconds, pause))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--cycles", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--pause", type=float, default=0.05, help="between two searches, seconds")
    asked = parser.parse_args()
    corpus.build(asked.folder, asked.memories, topics=True)
    print(describe_environment())
    source = corpus.store_folder(asked.folder, asked.memories, topics=True)
    with tempfile.TemporaryDirectory(prefix="im-dreaming-") as folder:
        home = Path(folder)
        for path in source.glob(_COPIED):
            shutil.copy(path, home)
        with MemoryStore.open(home, counts_usage=False) as store:
            store.models.warm_up()  # closing writes the snapshot of the index
        with MemoryStore.open(config=Config(home=home), counts_usage=False) as store:
            questions = corpus.questions(20_000)
            for question in questions[:_WARM_SEARCHES]:
                store.search(question, scope=corpus.TOPICAL)
            dream_alone(store, asked.cycles)
            rest = questions[_WARM_SEARCHES:]
            dream_beside_searches(store, rest, seconds=asked.seconds, pause=asked.pause)


if __name__ == "__main__":
    main()
