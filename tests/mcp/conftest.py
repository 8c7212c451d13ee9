"""Servers in this process, in both eras of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from mcp import Client

from infinite_memory import MemoryStore
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server
from infinite_memory_mcp.settings import ALL_TOOLSETS


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["auto", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    """The era of the protocol: discovery, or the older handshake."""
    return str(request.param)


@pytest.fixture
def store(open_store: Callable[..., MemoryStore]) -> MemoryStore:
    return open_store(time_zone="Europe/Berlin")


@pytest.fixture
def connect(store: MemoryStore, era: str) -> Iterator[Callable[[], Client]]:
    """Connects a client to a server that works on `store`."""
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        yield lambda: Client(build_server(memory, ALL_TOOLSETS, structured=True), mode=era)
