"""A store in a home folder of its own, which a test opens as often and as it likes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def open_home(home: Path) -> Iterator[Callable[..., MemoryStore]]:
    opened = []

    def open_store(**settings: Any) -> MemoryStore:
        config = Config(home=home, **settings)
        store = MemoryStore.open(home, config=config, embedder=HashingEmbedder())
        opened.append(store)
        return store

    yield open_store
    for store in opened:
        store.close()
