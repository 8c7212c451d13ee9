"""How long short-term memory takes, by how much of it there is.

    python -m benchmarks.scale.short_term [--sizes 512,5000,20000] [--conversations 1,50]

Stores on disk as many current short-term memories as a size says, in one conversation or spread
over several, and then times `search_short_term` and `add_short_term`, for the latter with the
embedding of the text by words, which takes no time. The upkeep is switched off: it would archive
most of the memories. Another store has the same file open and adds a memory between two calls where
the row says so, as a second client does.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from benchmarks.environment import describe_environment
from benchmarks.scale.timing import timed
from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

_CALLS = 40
_KEYWORDS = 30
_VOCABULARY = [f"word{number}" for number in range(5000)]


def make_drafts(count: int, conversations: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield short-term memories of the last months, as `add_short_term` stores them."""
    chance = random.Random(seed)
    now = datetime.now(UTC)
    for number in range(count):
        words = chance.sample(_VOCABULARY, k=_KEYWORDS)
        weights = {word: round(chance.uniform(0.8, 9.0), 4) for word in words}
        yield {
            "text": f"user: {' '.join(words)}",
            "kind": "discussion",
            "origin": "assistant",
            "conversation_id": f"chat-{number % conversations}",
            "happened_at": now - timedelta(minutes=11 * (count - number)),
            "context": {"short_term": {"keywords": weights}},
        }


def _message(chance: random.Random) -> list[dict[str, str]]:
    return [{"role": "user", "content": " ".join(chance.sample(_VOCABULARY, k=20))}]


def measure(size: int, conversations: int) -> Iterator[str]:
    """Yield the rows of the table for a size."""
    chance = random.Random(5)
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryStore.open(folder, embedder=HashingEmbedder()) as store,
        MemoryStore.open(folder, embedder=HashingEmbedder()) as other,
    ):
        store.remember_many(make_drafts(size, conversations, 7))

        def search(_: int) -> None:
            store.conversations.search_short_term(_message(chance), "chat-0")

        def add(memory: MemoryStore, _: int) -> None:
            memory.conversations.add_short_term(_message(chance), "chat-0")

        def search_after_another(number: int) -> None:
            add(other, number)
            search(number)

        rows = {
            "search": search,
            "add": partial(add, store),
            "another adds, then search": search_after_another,
        }
        for name, call in rows.items():
            yield f"{size:>7,} {conversations:>13}  {name:26} {timed(call, range(_CALLS))}"


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    """Measure every size with every number of conversations, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=_numbers, default=[512, 5000, 20_000])
    parser.add_argument("--conversations", type=_numbers, default=[1, 50])
    flags = parser.parse_args()
    print(describe_environment())
    print(
        "memories conversations  call                             p50       p95       p99     least"
    )
    for size in flags.sizes:
        for conversations in flags.conversations:
            for row in measure(size, conversations):
                print(row, flush=True)


if __name__ == "__main__":
    main()
