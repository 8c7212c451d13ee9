"""The worker of a server: a thread after the store is warm, which never delays anybody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.raw_server import RawServer, server_command
from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.lazy_store import LazyStore

LONG = 60.0


def opener(home: Path, *, worker: bool = True) -> Callable[[], MemoryStore]:
    config = Config.model_validate({"home": home, "upkeep": {"worker": worker}})
    return lambda: MemoryStore.open(config=config, embedder=HashingEmbedder())


def thread_names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def wait_for_lease(home: Path) -> str | None:
    """Return who holds the lease as soon as somebody does."""
    pause = threading.Event()
    with MemoryStore.open(home, embedder=HashingEmbedder()) as store:
        for _ in range(int(LONG / 0.05)):
            holder = store.health().worker
            # Its name follows when it holds the lease already.
            if holder not in (None, "another process"):
                return holder
            pause.wait(0.05)
    return None


def test_the_store_of_a_server_is_kept_in_the_background(tmp_path: Path) -> None:
    with LazyStore(opener(tmp_path), quiet_seconds=0, works=True) as memory:
        memory.warm_up_when_quiet()
        assert wait_for_lease(tmp_path) is not None
        assert thread_names().count("upkeep") == 1
        memory.embed_when_quiet()
        memory.warm_up_when_quiet()
    assert "upkeep" not in thread_names()
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        assert store.health().worker is None


@pytest.mark.parametrize(("works", "setting"), [(False, True), (True, False)])
def test_nothing_is_done_where_it_is_not_wanted(tmp_path: Path, works: bool, setting: bool) -> None:
    with LazyStore(opener(tmp_path, worker=setting), quiet_seconds=0, works=works) as memory:
        memory._make_ready()
        assert "upkeep" not in thread_names()
    assert not (tmp_path / "store.upkeep").exists()


@pytest.mark.process
def test_a_server_over_standard_input_does_the_upkeep(tmp_path: Path) -> None:
    with RawServer(server_command(tmp_path)) as server:
        server.handshake()
        server.call("store_memory", text="one", id="one")
        holder = wait_for_lease(tmp_path)
        assert holder is not None
        assert f"process {server.process.pid} on " in holder
        out, err = server.end_input()
        assert (server.process.returncode, out, err) == (0, b"", b"")


@pytest.mark.thorough
@pytest.mark.parametrize("flags", [("--read-only",), ("--scopes", "Global")])
def test_a_server_that_may_only_read_or_see_some_scopes_does_not(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    with RawServer(server_command(tmp_path, *flags)) as server:
        server.handshake()
        server.call("retrieve_memory", query="anything")
        server.end_input()
    assert not (tmp_path / "store.upkeep").exists()
