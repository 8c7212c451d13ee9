"""No call reads more because more is stored, and none more than its budget says."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scale.toolsets import (
    WHOLE,
    Reads,
    describe_excesses,
    find_excesses,
    list_calls,
    load_budgets,
    measure_calls,
)
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
    *("memory://stats/conversation/{+id}", "log_conversation", "store_summary"),
}

# These count the links that a dream wrote, which are more where it has more time.
OF_A_DREAM = {"get_memory_stats": 100, "memory://stats/overview": 100, "related_memories": 100}

# What these look at is bounded, and less than that at 1,000 of everything, which are of a week.
OF_LONGER = {
    "build_session_context": "the work of a month",
    "find_past_solutions": "the sessions of the problems that it found, in pages of work",
    "summaries_wanted": "what is old enough for a summary, by the page",
}


def test_what_reads_no_page_reads_the_same_of_four_times_as_much(tmp_path: Path) -> None:
    small, large = (
        measure_calls(tmp_path / str(count), count, UNPAGED.__contains__) for count in (80, 320)
    )
    assert small.keys() == UNPAGED
    assert find_excesses(small, large) == {}


def test_no_tool_takes_more_statements_or_rows_than_its_budget(tmp_path: Path) -> None:
    # Resources are made by the calls of tools, and what follows a dream knows of it.
    left_out = WHOLE - {"dream"}
    tools = {name for name in load_budgets(1000) if not name.startswith("memory://")} - left_out
    costs = measure_calls(tmp_path / "home", 1000, tools.__contains__)
    assert describe_excesses(1000, costs) == []


@pytest.mark.thorough
@pytest.mark.parametrize("count", [1000, 4000, 20_000])
def test_no_call_takes_more_statements_or_rows_than_its_budget(count: int, tmp_path: Path) -> None:
    costs = measure_calls(tmp_path / "home", count)
    assert describe_excesses(count, costs, OF_A_DREAM) == []


def test_every_call_has_a_budget_that_hardly_grows_with_what_is_stored() -> None:
    small, medium, large = (
        {name: (reads, 0.0) for name, reads in load_budgets(count).items()}
        for count in (1000, 4000, 20_000)
    )
    assert {tool for tool, _ in list_calls().values()} == SPECS.keys()
    assert small.keys() >= list_calls().keys()
    assert find_excesses(small, medium).keys() <= OF_LONGER.keys()
    assert find_excesses(small, large).keys() <= OF_LONGER.keys()


def test_a_call_that_takes_more_is_named_with_both_counts() -> None:
    budget = load_budgets(1000)["store_memory"]
    grown = Reads(budget.statements, budget.rows + 1, budget.steps)
    (line,) = describe_excesses(1000, {"store_memory": (grown, 0.0)}, OF_A_DREAM)
    assert line == f"store_memory takes {grown} of 1,000 of everything, where it took {budget}"
    assert describe_excesses(1000, {"store_memory": (budget, 0.0)}) == []
