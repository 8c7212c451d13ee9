"""How many of our modules a start loads. A count that grows is a start that takes longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.loaded_modules import FILL, STARTS, count_modules

# What `python -m benchmarks.loaded_modules` printed, and a few more for what is to come.
MOST = {
    "from infinite_memory import MemoryStore": 105,
    "infinite-memory --version": 18,
    "infinite-memory remember The key to the shed hangs behind the door": 214,
    "infinite-memory search where is the key?": 234,
    "infinite-memory scopes": 127,
    "infinite-memory list": 143,
    "infinite-memory show shed": 135,
    "infinite-memory forget shed": 140,
    "infinite-memory log": 129,
    "infinite-memory due": 156,
    "infinite-memory stats": 187,
    "infinite-memory briefing": 227,
    "infinite-memory keys list": 139,
    "tools/list": 117,
}
# To forget a memory moves its vectors to its next revision.
WITHOUT_NUMPY = ("scopes", "list", "show shed", "log", "due")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home folder whose store holds a memory."""
    folder = tmp_path_factory.mktemp("home")
    count_modules(FILL, folder)
    return folder


@pytest.mark.process
@pytest.mark.parametrize("start", STARTS)
def test_a_start_loads_only_the_modules_that_it_needs(start: str, home: Path) -> None:
    loaded = count_modules(STARTS[start], home)
    assert loaded.own <= MOST[start]
    # Importing it takes as long as ten searches.
    assert "numpy.ma" not in loaded.names


@pytest.mark.process
@pytest.mark.parametrize("command", [*WITHOUT_NUMPY, "forget shed"])
def test_a_command_that_compares_nothing_loads_neither_the_search_nor_the_model(
    command: str, home: Path
) -> None:
    names = count_modules(STARTS[f"infinite-memory {command}"], home).names
    heavy = {"infinite_memory.search.index", "infinite_memory.search.embedding", "onnxruntime"}
    assert not names & (heavy | ({"numpy"} if command in WITHOUT_NUMPY else set()))


@pytest.mark.process
def test_the_tools_are_listed_without_reading_the_settings(home: Path) -> None:
    names = count_modules(STARTS["tools/list"], home).names
    assert not names & {"infinite_memory.core.config", "infinite_memory.storage.sqlite", "numpy"}
