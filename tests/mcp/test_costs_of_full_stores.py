"""No call reads more because more is stored: each tool, in a small and in a greater store."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scale.toolsets import WHOLE, find_excesses, list_calls, measure_calls
from tests.harness.growing_calls import SPECS

# Of these no page is greater than the smaller store.
UNPAGED = {
    *(
        "store_memory",
        "store_conversation_chunk",
        "search_by_tag without a tag",
    ),
    *("add_short_term_memory", "search_short_term_memories", "analyze_memory_patterns"),
    *("add_long_term_memory", "search_long_term_memories", "search_memories", "cleanup_memories"),
    *("memory://stats/conversation/{+id}", "log_conversation"),
}


def test_what_reads_no_page_reads_the_same_of_four_times_as_much(tmp_path: Path) -> None:
    small, large = (
        measure_calls(tmp_path / str(count), count, UNPAGED.__contains__) for count in (80, 320)
    )
    assert small.keys() == UNPAGED
    assert find_excesses(small, large) == {}


@pytest.mark.thorough
def test_no_call_reads_more_than_twice_as_much_of_four_times_as_much(tmp_path: Path) -> None:
    assert {tool for tool, _ in list_calls().values()} == SPECS.keys()
    assert SPECS.keys() >= WHOLE
    small, large = (measure_calls(tmp_path / str(count), count) for count in (1000, 4000))
    assert find_excesses(small, large) == {}
