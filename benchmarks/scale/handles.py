"""What the first search of a handle of one scope costs, and what many open handles hold.

    python -m benchmarks.scale.handles [--folder FOLDER] [--memories 100000] [--handles 1000]

The scopes have ten memories each, with random vectors, so that no model is loaded. Times are those
of the processor, of all threads.
"""

from __future__ import annotations

import argparse
import re
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.environment import describe_environment
from benchmarks.scale.corpus import texts
from infinite_memory import Config, MemoryStore
from infinite_memory.core.values.commit import Attach, Commit, Put
from infinite_memory.core.values.record import Embedding
from infinite_memory.core.values.scope import Scope
from infinite_memory.storage.sqlite import SqliteStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory.testing.storage_contract import make_memory

PER_SCOPE = 10
_BATCH = 4096
# So many texts are made at once.
_TOLD = 32 * _BATCH
_QUESTION = "When does the ferry of the harbour leave?"


def fill(
    folder: Path, memories: int, embedder: HashingEmbedder, *, per_scope: int = PER_SCOPE
) -> None:
    """Store `memories` with random vectors, ten in each of the scopes `team/0`, `team/1`, ..."""
    scopes, told = memories // per_scope, list[str]()
    draw = np.random.default_rng(5)
    with closing(SqliteStorage.open(folder)) as storage:
        made = [Scope(name=f"team/{number}") for number in range(scopes)]
        storage.commit(Commit(scopes=made, active_model=embedder.model))
        for start in range(0, memories, _BATCH):
            if start % _TOLD == 0:
                told = texts(min(_TOLD, memories - start), seed=3 + start // _TOLD)
            stored = [
                make_memory(f"m-{n}", text=told[n % _TOLD], scope=f"team/{n % scopes}")
                for n in range(start, min(memories, start + _BATCH))
            ]
            vectors = draw.standard_normal((len(stored), 1, embedder.dimensions), np.float32)
            vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
            embeddings = [
                Embedding(
                    model=embedder.model,
                    spans=np.array([[0, len(memory.text)]], np.int32),
                    vectors=vector,
                )
                for memory, vector in zip(stored, vectors, strict=True)
            ]
            storage.commit(
                Commit(
                    puts=[Put(memory=memory, expected=0) for memory in stored],
                    attaches=[
                        Attach(id=memory.id, revision=1, embedding=embedding)
                        for memory, embedding in zip(stored, embeddings, strict=True)
                    ],
                )
            )


def resident_mb() -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def _time_search(store: MemoryStore) -> float:
    start = time.process_time()
    store.search(_QUESTION)
    return 1000 * (time.process_time() - start)


def _measure(home: Path, embedder: HashingEmbedder, number: int) -> None:
    def open_store() -> MemoryStore:
        return MemoryStore.open(home, config=Config(home=home), embedder=embedder)

    with open_store() as store:
        print(f"the first search of the store, without a snapshot: {_time_search(store):,.0f} ms")
    with open_store() as store:
        print(f"the first one of a process, with the snapshot: {_time_search(store):,.0f} ms")
    with open_store() as store:
        _time_search(store)
        before = resident_mb()
        handles = [store.confine(scopes=f"team/{n}", client=f"key {n}") for n in range(number)]
        first = [_time_search(handle) for handle in handles]
        print(f"the first search of the first handle: {first[0]:.1f} ms")
        print(f"of the others: median {median(first[1:]):.1f} ms, most {max(first[1:]):.1f} ms")
        print(f"a second search of each: median {median(map(_time_search, handles)):.1f} ms")
        print(f"{number:,} open handles that searched: {resident_mb() - before:.0f} MB")
    with open_store() as store:
        _time_search(store)
        wide = store.confine(scopes="team/*")
        print(f"a pattern that matches every scope: first {_time_search(wide):.0f} ms, ", end="")
        print(f"then {_time_search(wide):.0f} ms")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, help="keeps the store, for another run")
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--handles", type=int, default=1000)
    options = parser.parse_args()
    print(describe_environment())
    embedder = HashingEmbedder(384)
    with TemporaryDirectory() as scratch:
        home = Path(options.folder or scratch) / str(options.memories)
        if not home.exists():
            fill(home, options.memories, embedder)
        _measure(home, embedder, options.handles)


if __name__ == "__main__":
    main()
