"""How long it takes to find attachments by the caller's own embedding, beside plain numpy.

    python -m benchmarks.similar_attachments [--attachments 10000,50000] [--dimensions 512]

Stores on a disk are filled with attachments that have random embeddings. "first" is the first
call of an open store, which reads all of them; "after a change" are calls after each of which one
attachment was added; "numpy" is the product of a matrix in memory and a vector, and its order. The
ten nearest must be the same.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.environment import describe_environment
from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

_CALLS = 50
_CHANGES = 10
_MODEL = "made"


def drafts(vectors: NDArray[np.float32]) -> Iterator[dict[str, Any]]:
    """Yield attachments as `MemoryStore.attachments` stores them."""
    for number, vector in enumerate(vectors):
        values = {"type": "image", "uri": f"https://example.org/{number}.png", "model": _MODEL}
        numbers = [float(str(value)) for value in vector]
        yield {
            "id": f"{number:08}",
            "text": f"picture {number}",
            "kind": "attachment",
            "context": {"attachment": {**values, "embedding": numbers}},
        }


def measure(size: int, dimensions: int) -> None:
    """Print a row of the table."""
    generator = np.random.default_rng(size)
    vectors = generator.normal(size=(size, dimensions)).astype(np.float32)
    queries = generator.normal(size=(_CALLS, dimensions)).astype(np.float32)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory() as home:
        with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
            store.remember_many(drafts(vectors))
        with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
            first = _time(store, queries[0])
            warm = [_time(store, query) for query in queries]
            nearest = [m.attachment.id for m in _find(store, queries[0])]
            changed = []
            for number in range(_CHANGES):
                store.attachments.attach(
                    uri=f"new-{number}.png", embedding=queries[number], model=_MODEL
                )
                changed.append(_time(store, queries[number + 1]))
    plain = []
    for query in queries:
        start = time.perf_counter()
        order = np.argsort(-(units @ (query / np.linalg.norm(query))), kind="stable")
        plain.append(1000 * (time.perf_counter() - start))
        if query is queries[0] or (query == queries[0]).all():
            expected = [f"{row:08}" for row in order[:10]]
    assert nearest == expected, "the ten nearest differ"
    print(
        f"| {size:,} | {first:.0f} | {np.median(warm):.1f} | {np.percentile(warm, 95):.1f}"
        f" | {np.median(changed):.1f} | {np.median(plain):.1f} |",
        flush=True,
    )


def _find(store: MemoryStore, query: NDArray[np.float32]) -> Any:
    return store.attachments.find_similar(query, model=_MODEL)


def _time(store: MemoryStore, query: NDArray[np.float32]) -> float:
    start = time.perf_counter()
    _find(store, query)
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--attachments", default="10000,50000", help="sizes, with commas between")
    parser.add_argument("--dimensions", type=int, default=512)
    options = parser.parse_args()
    print(f"{describe_environment()}; {options.dimensions} dimensions, ms\n")
    print("| attachments | first | p50 | p95 | after a change, p50 | numpy, p50 |")
    print("|---|---|---|---|---|---|")
    for size in map(int, options.attachments.split(",")):
        measure(size, options.dimensions)


if __name__ == "__main__":
    main()
