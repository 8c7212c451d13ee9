"""Searches while the worker runs its jobs in the same process, beside searches alone.

    python -m benchmarks.scale.upkeep [--memories 100000] [--seconds 30]

The store is that of the other benchmarks, two years later, so that every job has work; the clock
goes on by a day for every second, so that each is due again. A search is a whole call, with a
question that was not asked before. The worker makes way for calls, as in a server: between two
searches there is a pause as long as `--pause`, in which it works.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from infinite_memory import Config, MemoryStore
from infinite_memory.features.background.upkeep.report import JobReport
from infinite_memory.features.background.worker.worker import Pace, Worker

_COPIED = "memory.db*"
_LATER = timedelta(days=730)


def search_for(store: MemoryStore, asked: list[str], seconds: float, pause: float) -> list[float]:
    """Search for so many seconds; return how long each search took, in seconds, sorted."""
    spent: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        question = asked.pop()
        start = time.perf_counter()
        store.search(question, scope="ALL")
        spent.append(time.perf_counter() - start)
        time.sleep(pause)
    return sorted(spent)


def show(name: str, spent: list[float]) -> None:
    points = [spent[min(len(spent) - 1, int(len(spent) * share))] for share in (0.5, 0.95, 0.99)]
    figures = " ".join(f"{1000 * point:9.2f}" for point in (*points, spent[-1]))
    print(f"{name:28} {figures}   {len(spent):,} searches", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--pause", type=float, default=0.05, help="between two searches, seconds")
    asked = parser.parse_args()
    corpus.build(asked.folder, asked.memories)
    print(describe_environment())
    with tempfile.TemporaryDirectory(prefix="im-upkeep-") as folder:
        home = Path(folder)
        for path in corpus.store_folder(asked.folder, asked.memories).glob(_COPIED):
            shutil.copy(path, home)
        begun = time.monotonic()

        def clock() -> datetime:
            return datetime.now(UTC) + _LATER + timedelta(days=time.monotonic() - begun)

        upkeep = {"daily_backups": 0, "weekly_backups": 0}
        with MemoryStore.open(
            config=Config(home=home, upkeep=upkeep), clock=clock, counts_usage=False
        ) as store:
            store.models.warm_up()
            questions = corpus.questions(20_000)
            search_for(store, questions, 2, 0)
            print(f"{'':28} {'p50':>9} {'p95':>9} {'p99':>9} {'most':>9}   (ms)")
            show("search, idle", search_for(store, questions, asked.seconds, asked.pause))
            runs: Counter[str] = Counter()

            def count(report: JobReport) -> None:
                runs[report.job] += 1

            stop = threading.Event()
            worker = Worker(
                store._services, stop, on_report=count, pace=Pace(first=0, look=0.01, more=0.01)
            )
            thread = threading.Thread(target=worker.run)
            thread.start()
            show("search, during upkeep", search_for(store, questions, asked.seconds, asked.pause))
            stop.set()
            begun_to_stop = time.perf_counter()
            thread.join()
            print(f"the worker stopped after {time.perf_counter() - begun_to_stop:.2f} s; {runs}")
            show("search, idle again", search_for(store, questions, asked.seconds, asked.pause))


if __name__ == "__main__":
    main()
