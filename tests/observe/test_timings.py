from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.core.observe.timings import BOUNDS, Histogram, Timing

BUCKET = 2 ** (1 / 4)


def measured(*seconds: float, error: str | None = None) -> Histogram:
    histogram = Histogram()
    for duration in seconds:
        histogram.add(duration, error)
    return histogram


@given(
    st.lists(st.floats(BOUNDS[1], BOUNDS[-1]), min_size=1, max_size=300),
    st.sampled_from([0.5, 0.95, 0.99, 1.0]),
)
def test_a_percentile_is_in_the_bucket_of_the_true_one(seconds: list[float], share: float) -> None:
    true = sorted(seconds)[math.ceil(share * len(seconds)) - 1]
    estimate = measured(*seconds).read().quantile(share)
    assert estimate is not None
    assert true / BUCKET * 0.999 <= estimate <= true * BUCKET * 1.001
    assert estimate <= max(seconds)


def test_the_numbers_of_many_calls_are_what_they_are_by_hand() -> None:
    timing = measured(*(0.001 * n for n in range(1, 1001))).read().to_timing()
    assert timing.calls == 1000
    assert timing.total_seconds == pytest.approx(500.5)
    assert (timing.p50_ms, timing.p95_ms, timing.p99_ms) == (
        pytest.approx(500, rel=0.1),
        pytest.approx(950, rel=0.1),
        pytest.approx(990, rel=0.1),
    )
    assert timing.max_ms == 1000


def test_without_calls_there_is_no_percentile() -> None:
    assert measured().read().to_timing() == Timing(
        calls=0,
        errors={},
        p50_ms=None,
        p95_ms=None,
        p99_ms=None,
        max_ms=None,
        total_seconds=0.0,
    )


def test_durations_beyond_every_bound_are_counted() -> None:
    state = measured(0.0, 1e-9, 500.0).read()
    assert state.calls == 3
    assert state.quantile(0.99) == pytest.approx(500, rel=0.8)
    assert state.quantile(1) == 500
    bounds, counts = zip(*state.cumulate(4), strict=True)
    assert counts == tuple(2 for _ in bounds)


def test_cumulated_counts_are_those_of_all_buckets_before() -> None:
    state = measured(0.00005, 0.0003, 0.02, 0.02, 3).read()
    for bound, number in state.cumulate(4):
        assert number == sum(duration <= bound for duration in (0.00005, 0.0003, 0.02, 0.02, 3))


def test_its_size_does_not_grow_with_the_calls_or_the_kinds_of_errors() -> None:
    histogram = Histogram()
    for number in range(1000):
        histogram.add(number / 7, f"Error{number}")
    state = histogram.read()
    assert len(state.counts) == len(BOUNDS) + 1
    assert len(state.errors) <= 33
    assert sum(state.errors.values()) == 1000
    assert state.errors["other"] == 968
