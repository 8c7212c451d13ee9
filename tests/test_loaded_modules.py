"""How many of our modules a start loads. A count that grows is a start that takes longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.loaded_modules import STARTS, count_modules

# What `python -m benchmarks.loaded_modules` printed, and a few more for what is to come.
MOST = {
    "from infinite_memory import MemoryStore": 190,
    "infinite-memory --version": 16,
    "infinite-memory remember The key to the shed hangs behind the door": 295,
    "infinite-memory search where is the key?": 312,
    "infinite-memory scopes": 292,
    "infinite-memory list": 298,
    "infinite-memory log": 270,
    "infinite-memory due": 292,
    "infinite-memory stats": 290,
    "infinite-memory briefing": 284,
    "infinite-memory keys list": 215,
    "tools/list": 125,
}


@pytest.mark.parametrize("start", STARTS)
def test_a_start_loads_only_the_modules_that_it_needs(start: str, tmp_path: Path) -> None:
    assert count_modules(STARTS[start], tmp_path).own <= MOST[start]
