"""Fixtures for the tests of a program with a memory, for the `pytest_plugins` of its conftest.

They load nothing until a test asks for one. Override `memory_embedder` with a fixture that returns
None to search by the model in the package, and `memory_clock` to begin at another moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from infinite_memory.core.protocols import Embedder
    from infinite_memory.store.memory_store import MemoryStore

__all__ = ["StoppedClock", "memory_clock", "memory_embedder", "memory_store"]


class StoppedClock:
    """Stands still at `now`, which a test may set."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def memory_clock() -> StoppedClock:
    """Return the clock of `memory_store`, which begins at noon of Monday, 1 June 2026, in UTC."""
    return StoppedClock(datetime(2026, 6, 1, 12, tzinfo=UTC))


@pytest.fixture
def memory_embedder() -> Embedder | None:
    """Return a quick embedder without a model: texts are near that share words."""
    from infinite_memory.testing.embedders import HashingEmbedder

    return HashingEmbedder()


@pytest.fixture
def memory_store(
    memory_clock: StoppedClock, memory_embedder: Embedder | None
) -> Iterator[MemoryStore]:
    """Yield an empty store in memory, in UTC, which ends with the test."""
    from infinite_memory.core.config import Config
    from infinite_memory.store.memory_store import MemoryStore

    with MemoryStore.open(
        "memory://",
        config=Config(time_zone="UTC"),
        clock=memory_clock,
        embedder=memory_embedder,
    ) as store:
        yield store
