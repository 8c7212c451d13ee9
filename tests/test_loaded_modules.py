"""How many of our modules a start loads. A count that grows is a start that takes longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.loaded_modules import STARTS, count_modules

# What `python -m benchmarks.loaded_modules` printed, and a few more for what is to come.
MOST = {
    "from infinite_memory import MemoryStore": 194,
    "infinite-memory --version": 18,
    "infinite-memory remember The key to the shed hangs behind the door": 302,
    "infinite-memory search where is the key?": 320,
    "infinite-memory scopes": 299,
    "infinite-memory list": 305,
    "infinite-memory log": 276,
    "infinite-memory due": 299,
    "infinite-memory stats": 295,
    "infinite-memory briefing": 289,
    "infinite-memory keys list": 220,
    "tools/list": 133,
}


@pytest.mark.process
@pytest.mark.parametrize("start", STARTS)
def test_a_start_loads_only_the_modules_that_it_needs(start: str, tmp_path: Path) -> None:
    assert count_modules(STARTS[start], tmp_path).own <= MOST[start]
