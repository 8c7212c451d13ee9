"""How long MongoDB takes to find memories by a conversation or a key, and to store a keyed fact.

    python -m benchmarks.scale.mongo_lookups --memories 50000
    python -m benchmarks.scale.mongo_lookups --memories 50000 --scan

The store is a replica set of one on the loopback interface. With `--scan` the queries leave out
that they look for a text, so that MongoDB cannot use the partial indexes, and scans.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from infinite_memory.core.values.commit import Commit, Expect, ExpectKey
from infinite_memory.core.values.criteria import Criteria
from infinite_memory.storage.mongodb import MongoStorage, commit, queries
from infinite_memory.storage.mongodb.connection import connect
from infinite_memory.testing.storage_contract.base import put
from tests.mongodb.mongo_servers import deployment

_BATCH = 5000
_REPEATS = 9
_SCOPE = "team"


def _fill(storage: MongoStorage, memories: int) -> None:
    for first in range(0, memories, _BATCH):
        numbers = range(first, min(first + _BATCH, memories))
        puts = [
            put(
                f"m{number}",
                scope=_SCOPE,
                conversation_id=f"c{number // 20}",
                key=None if number % 5 else f"k{number}",
            )
            for number in numbers
        ]
        storage.commit(Commit(puts=puts))


def _store_fact(storage: MongoStorage, number: int) -> None:
    name = f"new{number}"
    expect = Expect(keys=[ExpectKey(scope=_SCOPE, key=name, ids=frozenset())])
    storage.commit(Commit(expect=expect, puts=[put(name, scope=_SCOPE, key=name)]))


def _measure(work: Callable[[int], object]) -> float:
    seconds = []
    for number in range(_REPEATS):
        began = time.perf_counter()
        work(number)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds) * 1000


def main() -> None:
    """Print the median of each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--memories", type=int, default=50_000)
    parser.add_argument("--scan", action="store_true")
    flags = parser.parse_args()
    if flags.scan:
        queries.is_text = commit.is_text = lambda value: {"$eq": value}  # type: ignore[attr-defined]
    in_scope = frozenset({_SCOPE})
    with deployment(1) as servers:
        storage = MongoStorage(connect(servers.address("lookups")))
        _fill(storage, flags.memories)
        calls: dict[str, Callable[[int], object]] = {
            "find a conversation": lambda n: storage.find(
                Criteria(conversation_id=f"c{n}"), limit=50
            ),
            "find a key": lambda n: storage.find(
                Criteria(key=f"k{5 * n}", scopes=in_scope), limit=5
            ),
            "store a keyed fact": lambda n: _store_fact(storage, n),
        }
        for name, work in calls.items():
            print(f"{name}: {_measure(work):.1f} ms")
        storage.close()


if __name__ == "__main__":
    main()
