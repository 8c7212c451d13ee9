"""How many of our modules a start loads. A count that grows is a start that takes longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.loaded_modules import FILL, STARTS, count_modules

# What `python -m benchmarks.loaded_modules` printed, and a few more for what is to come.
MOST = {
    "from infinite_memory import MemoryStore": 124,
    "infinite-memory --version": 18,
    "infinite-memory remember The key to the shed hangs behind the door": 240,
    "infinite-memory search where is the key?": 248,
    "infinite-memory scopes": 148,
    "infinite-memory list": 164,
    "infinite-memory show shed": 156,
    "infinite-memory forget shed": 176,
    "infinite-memory log": 148,
    "infinite-memory due": 170,
    "infinite-memory stats": 205,
    "infinite-memory briefing": 215,
    "infinite-memory keys list": 158,
    "tools/list": 125,
}
WITHOUT_VECTORS = ("scopes", "list", "show shed", "forget shed", "log", "due")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home folder whose store holds a memory."""
    folder = tmp_path_factory.mktemp("home")
    count_modules(FILL, folder)
    return folder


@pytest.mark.parametrize("start", STARTS)
def test_a_start_loads_only_the_modules_that_it_needs(start: str, home: Path) -> None:
    assert count_modules(STARTS[start], home).own <= MOST[start]


@pytest.mark.parametrize("command", WITHOUT_VECTORS)
def test_a_command_without_vectors_loads_neither_numpy_nor_the_search(
    command: str, home: Path
) -> None:
    loaded = count_modules(STARTS[f"infinite-memory {command}"], home).names
    assert not loaded & {
        "numpy",
        "infinite_memory.search.index",
        "infinite_memory.search.embedding",
    }
