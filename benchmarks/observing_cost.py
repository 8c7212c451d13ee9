"""What metrics, traces and the record of reads cost a search, with and without them by turns.

    python -m benchmarks.observing_cost
    python -m benchmarks.observing_cost --memories 1000 --rounds 200

A search without metrics is the method of the store beneath the one that measures.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from infinite_memory import Config, MemoryStore
from infinite_memory.core.config import Audit
from infinite_memory.search.embedding import CachedEmbedder
from infinite_memory.testing.embedders import HashingEmbedder

_QUESTIONS = [f"what was decided about project {number}" for number in range(50)]


def measure(calls: dict[str, Callable[[str], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each call, made by turns so that the machine treats all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    for number in range(rounds):
        question = _QUESTIONS[number % len(_QUESTIONS)]
        for name in order[number % len(order) :] + order[: number % len(order)]:
            begun = time.perf_counter()
            calls[name](question)
            seconds[name].append(time.perf_counter() - begun)
    return seconds


def fastest(seconds: list[float]) -> float:
    """Return the duration of the fastest twentieth, which a busy machine changes least."""
    return sorted(seconds)[len(seconds) // 20]


def fill(store: MemoryStore, memories: int) -> None:
    """Store that many short memories, and search once, so that the index is built."""
    store.remember_many(
        {"text": f"note {n}: project {n % 97} decided on plan {n % 31}", "kind": "message"}
        for n in range(memories)
    )
    for question in _QUESTIONS:
        store.search(question)


def start_traces() -> None:
    """Make spans from now on, kept by nobody."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    trace.set_tracer_provider(TracerProvider())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=1_000)
    options = parser.parse_args()
    embedder = CachedEmbedder(HashingEmbedder(384))
    with tempfile.TemporaryDirectory() as home:
        plain = Config(home=home)
        audited = Config(home=home, audit=Audit(reads=True))
        with (
            MemoryStore.open(config=plain, embedder=embedder) as store,
            MemoryStore.open(config=audited, embedder=embedder) as recording,
        ):
            fill(store, options.memories)
            fill(recording, 0)
            bare: Callable[..., Any] = MemoryStore.search.__wrapped__  # type: ignore[attr-defined]
            calls: dict[str, Callable[[str], Any]] = {
                "neither": lambda question: bare(store, question),
                "metrics": store.search,
                "metrics and reads": recording.search,
            }
            results = measure(calls, options.rounds)
            start_traces()
            traced = measure({"neither": calls["neither"], "traces": store.search}, options.rounds)
    print(f"{options.memories:,} memories, {options.rounds:,} searches each, by turns")
    for name, seconds in (*results.items(), ("metrics and traces", traced["traces"])):
        base = (traced if name.endswith("traces") else results)["neither"]
        print(
            f"{name:20} p50 {median(seconds) * 1000:8.3f} ms,"
            f" {median(seconds) / median(base):6.3f} times;"
            f" fastest twentieth {fastest(seconds) * 1000:8.3f} ms,"
            f" {fastest(seconds) / fastest(base):6.3f} times"
        )


if __name__ == "__main__":
    main()
