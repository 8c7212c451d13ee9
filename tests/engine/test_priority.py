"""Priority follows the uses of a memory: golden values, and what holds for all of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import Kind, Link, LinkType, Memory
from infinite_memory.core.values.record import Usage
from infinite_memory.engine.priority import compute_priority, weights_of_links

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAYS = st.floats(0.01, 40_000)


def memory_of(age: float, **fields: Any) -> Memory:
    begun = NOW - timedelta(days=age)
    return Memory(id="a", text="a note", happened_at=begun, stored_at=begun, **fields)


def usage_of(count: int, days: float) -> Usage | None:
    return Usage(count=count, last=NOW - timedelta(days=days)) if count else None


@pytest.mark.parametrize(
    ("age", "count", "recalled", "fields", "weights", "priority"),
    [
        (1, 0, 0, {}, [], 1 / 2),
        (4, 0, 0, {}, [], 1 / 3),
        (100, 0, 0, {}, [], 1 / 11),
        (4, 1, 1, {}, [], 5 / 8),  # 1 + 1 · (2 - 1) / (0.5 · 3) = 5/3
        (9, 3, 1, {}, [], 5 / 7),  # 1 + 3 · (3 - 1) / (0.5 · 8) = 5/2
        (4, 1, 4, {}, [], 1 / 2),  # both uses four days ago: 2 · 1/2
        (1, 0, 0, {"important": True}, [], 2 / 3),
        (1, 0, 0, {"kind": Kind.SUMMARY}, [], 3 / 5),
        (1, 0, 0, {}, [0.5, 0.5], 7 / 11),  # 1 + (1 - 1/4) = 7/4
        (1, 0, 0, {"important": True, "kind": Kind.SUMMARY}, [1.0], 6 / 7),
    ],
)
def test_the_priority_is_as_computed_by_hand(
    age: float,
    count: int,
    recalled: float,
    fields: dict[str, Any],
    weights: list[float],
    priority: float,
) -> None:
    memory, usage = memory_of(age, **fields), usage_of(count, recalled)
    assert compute_priority(memory, usage, weights, NOW) == pytest.approx(priority, rel=1e-9)


@given(DAYS, DAYS, st.integers(0, 10_000), DAYS)
def test_without_a_recall_it_fades_and_never_to_nothing(
    age: float, recalled: float, count: int, later: float
) -> None:
    memory, usage = memory_of(age), usage_of(count, min(age, recalled))
    before = compute_priority(memory, usage, [], NOW)
    after = compute_priority(memory, usage, [], NOW + timedelta(days=later))
    assert 0 < after <= before < 1


@given(DAYS, DAYS, st.integers(0, 10_000))
def test_a_recall_lifts_it(age: float, recalled: float, count: int) -> None:
    memory, usage = memory_of(age), usage_of(count, min(age, recalled))
    again = Usage(count=count + 1, last=NOW)
    assert compute_priority(memory, again, [], NOW) > compute_priority(memory, usage, [], NOW)


def test_uses_at_even_intervals_are_summed_nearly_exactly() -> None:
    age, uses = 60, 20
    times = [age * number / uses for number in range(1, uses + 1)]
    exact = sum(days**-0.5 for days in times)
    priority = compute_priority(memory_of(age), usage_of(uses - 1, times[0]), [], NOW)
    assert priority / (1 - priority) == pytest.approx(exact, rel=0.1)


def test_a_clock_behind_the_store_is_no_error() -> None:
    memory = memory_of(-3)
    assert 0.9 < compute_priority(memory, usage_of(2, -2), [], NOW) < 1
    assert compute_priority(memory, Usage(count=0, activation=5, activated_at=NOW), [], NOW) < 1


def test_links_count_from_both_ends_unless_they_say_that_one_is_needed_less() -> None:
    def link(source: str, target: str, kind: LinkType, weight: float) -> Link:
        return Link(
            source=source, target=target, type=kind, weight=weight, made_by="x", made_at=NOW
        )

    links = [
        link("a", "b", LinkType.SEMANTIC, 0.5),
        link("c", "a", LinkType.DERIVED_FROM, 0.9),
        link("a", "d", LinkType.SUPERSEDES, 1.0),
        link("a", "b", LinkType.NEAR_DUPLICATE_OF, 1.0),
    ]
    assert weights_of_links(["a", "b", "z"], links) == {"a": [0.5, 0.9], "b": [0.5], "z": []}
