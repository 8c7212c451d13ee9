"""What a search, a write, a read and a list of tools cost in counts, which no load can blur."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from benchmarks.call_counts import BUDGETS, Count, measure

SHOWN = 25


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Count]:
    return measure(tmp_path_factory.mktemp("counts"))


@pytest.mark.parametrize("name", BUDGETS)
def test_a_call_does_no_more_than_its_budget_allows(name: str, counts: Mapping[str, Count]) -> None:
    found = counts[name]
    most_called = "\n".join(f"{calls:>7,}  {code}" for code, calls in found.functions[:SHOWN])
    assert found.number <= BUDGETS[name], f"{name} calls most often:\n{most_called}"
