"""A warm search of a store on MongoDB beside the same one on SQLite, in turns.

    python -m benchmarks.scale.backends [--memories 100000] [--questions 200]

Every call is whole: it embeds a question that was not asked before, asks the storage what is new,
and fetches the texts of the ten best. Both stores answer each question, one after the other, so
that whatever else the machine does meets both. `from the feed` is the first index, without a
snapshot. The server is one that is started for this, a replica set of one on a socket.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np

from benchmarks.environment import describe_environment
from benchmarks.scale import corpus
from infinite_memory import Config, MemoryStore, copy_store
from infinite_memory.core.values.address import MANAGED
from infinite_memory.storage.open import open_storage

_TEN = 10
_WARM = 3
_SCOPES = (("no filter", "ALL"), ("scope of 1 %", corpus.RARE))


def measure(stores: dict[str, MemoryStore], count: int) -> None:
    print(f"{'':34} {'p50':>9} {'p95':>9} {'p99':>9}   (ms)")
    for number, (what, scope) in enumerate(_SCOPES):
        taken: dict[str, list[float]] = {name: [] for name in stores}
        asked = corpus.questions(len(stores) * count, skip=number * len(stores) * count)
        for turn in range(count):
            found = []
            for place, (name, store) in enumerate(stores.items()):
                # Another question for each: an embedder remembers what it has embedded.
                question = asked[turn * len(stores) + place]
                start = time.perf_counter()
                found.append(store.search(question, scope=scope, limit=_TEN))
                taken[name].append(1000 * (time.perf_counter() - start))
        medians = []
        for name, all_of_them in taken.items():
            p50, p95, p99 = np.percentile(all_of_them[_WARM:], [50, 95, 99])
            medians.append((p50, p95))
            print(f"{name:10} {what:23} {p50:9.2f} {p95:9.2f} {p99:9.2f}", flush=True)
        (one, one95), (other, other95) = medians
        print(f"{'':10} MongoDB / SQLite        {other / one:9.2f} {other95 / one95:9.2f}")


def same_answers(stores: dict[str, MemoryStore]) -> None:
    one, other = stores.values()
    for question in corpus.questions(20, skip=5000):
        mine, theirs = (
            [(hit.memory.id, round(hit.score, 5)) for hit in store.search(question, scope="ALL")]
            for store in (one, other)
        )
        if mine != theirs:
            raise SystemExit(f"the answers to {question!r} differ: {mine} {theirs}")
    print("both give the same answers to 20 questions")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=corpus.DEFAULT_FOLDER)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=200)
    arguments = parser.parse_args()
    print(describe_environment())
    corpus.build(arguments.folder, arguments.memories)
    with tempfile.TemporaryDirectory(prefix="im-backends-") as scratch, ExitStack() as open_ones:
        home, config = Path(scratch) / "sqlite", Config(home=Path(scratch) / "home")
        folder = corpus.store_folder(arguments.folder, arguments.memories)
        home.mkdir()
        # Nobody has it open: a benchmark makes it and leaves it.
        for path in folder.glob("memory.db*"):
            shutil.copy(path, home)
        one, other = (
            open_ones.enter_context(closing(open_storage(address, home=config.home)))
            for address in (str(home), MANAGED)
        )
        if not copy_store(one, other).whole:
            raise SystemExit("the copy is not whole")
        print(f"{arguments.memories:,} memories")
        stores = {}
        for name, storage in (("SQLite", one), ("MongoDB", other)):
            store = open_ones.enter_context(
                MemoryStore.open(storage=storage, config=config, counts_usage=False)
            )
            start = time.perf_counter()
            store.models.warm_up()
            seconds = time.perf_counter() - start
            print(f"{name:10} index from the feed     {seconds:9.2f} s", flush=True)
            stores[name] = store
        same_answers(stores)
        measure(stores, arguments.questions)


if __name__ == "__main__":
    main()
