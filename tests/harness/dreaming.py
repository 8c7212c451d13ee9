"""Memories about known topics, and the views of cycles that link them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from infinite_memory import MemoryStore
from infinite_memory.core.protocols import Storage
from infinite_memory.features.background.dreamer.view import CycleView
from infinite_memory.features.background.upkeep.context import JobContext
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder

TOLD = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""When the first memory was told."""

NOW = datetime(2026, 11, 1, tzinfo=UTC)
"""When the store is opened."""

TOPICS = {
    "ferry": "ferry harbour Calais crossing",
    "orchard": "orchard apples pruning ladder",
    "choir": "choir rehearsal soprano chapel",
    "kiln": "kiln glaze pottery firing",
    "router": "router firmware antenna reboot",
    "marathon": "marathon training blister shoes",
    "lease": "lease landlord deposit Lyon",
    "beehive": "beehive honey queen swarm",
}
"""Words that the memories of each topic have in common."""

StorageAndStore = tuple[Storage, MemoryStore]


@contextmanager
def open_store(**options: Any) -> Iterator[StorageAndStore]:
    """Open a store in memory, whose clock stands at `NOW`."""
    storage = options.pop("storage", None) or InMemoryStorage()
    options = {"embedder": HashingEmbedder(256), "clock": lambda: NOW, **options}
    with MemoryStore.open("memory://", storage=storage, **options) as store:
        yield storage, store


def words_about(topic: str, number: int) -> str:
    """Return a text about a topic, with four words that no other text has."""
    letters = f"{chr(97 + number // 26)}{chr(97 + number % 26)}"
    own = " ".join(f"{word}{topic}{letters}" for word in ("al", "be", "ga", "de"))
    return f"{own} {TOPICS[topic]}"


def tell_topics(
    store: MemoryStore, *, number: int = 3, scope: str = "Global", prefix: str = "", **fields: Any
) -> None:
    """Store `number` memories of each topic, with ids such as "ferry-0", a day apart."""
    store.remember_many(
        {
            "text": words_about(topic, place),
            "id": f"{prefix}{topic}-{place}",
            "scope": scope,
            "happened_at": TOLD + timedelta(days=row + len(TOPICS) * place),
            **fields,
        }
        for row, topic in enumerate(TOPICS)
        for place in range(number)
    )


def view_of(
    store: MemoryStore,
    *,
    scope: str = "Global",
    seed: int = 0,
    notes: Mapping[str, str] | None = None,
    deadline: float = float("inf"),
) -> CycleView:
    """Return the view of a cycle on a scope, with the notes of the cycle before."""
    context = JobContext(store._services, notes=notes or {})
    return CycleView(context=context, scope=scope, random=Random(seed), deadline=deadline)
