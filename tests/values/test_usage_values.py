"""Usage: what can be said of it, and how two are added."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given

from infinite_memory import InvalidInput
from infinite_memory.core.values.record import Usage
from infinite_memory.testing.strategies import usages

NOW = datetime(2026, 6, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "value", [-1, -0.5, float("nan"), float("inf"), 10**400, True, "5", None, [5.0]]
)
def test_an_activation_that_cannot_be_kept_is_refused_by_its_value(value: Any) -> None:
    with pytest.raises(InvalidInput, match="activation") as refusal:
        Usage(count=0, activation=value, activated_at=NOW)
    assert repr(value)[:100] in str(refusal.value)


def test_numbers_without_their_moment_are_refused() -> None:
    with pytest.raises(InvalidInput, match="give last"):
        Usage(count=1)
    with pytest.raises(InvalidInput, match="give activated_at"):
        Usage(count=0, activation=5)


def test_an_activation_is_a_float_without_a_sign() -> None:
    for value in (5, 0, -0.0):
        activation = Usage(count=0, activation=value, activated_at=NOW).activation
        assert (type(activation), str(activation)) == (float, str(abs(float(value))))


@given(one=usages, other=usages)
def test_the_order_of_adding_does_not_matter_and_nothing_adds_nothing(
    one: Usage, other: Usage
) -> None:
    both = one.plus(other)
    assert both == other.plus(one)
    assert one.plus(Usage(count=0)) == one
    assert one.activation <= both.activation <= sys.float_info.max
    assert both.is_empty is (one.is_empty and other.is_empty)


def test_an_activation_alone_leaves_the_last_recall() -> None:
    recalled = Usage(count=2, last=datetime(2026, 1, 1, tzinfo=UTC))
    both = recalled.plus(Usage(count=0, activation=5.0, activated_at=NOW))
    assert both.to_dict() == {
        "count": 2,
        "last": "2026-01-01T00:00:00Z",
        "activation": 5.0,
        "activated_at": "2026-06-05T00:00:00Z",
    }
