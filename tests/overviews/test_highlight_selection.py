"""Memories are chosen by relevance and by what they add, in meaning, words and time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import Memory
from infinite_memory.features.overviews.knowledge import choose_diverse, measure_likeness

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NOTHING = np.zeros(3)


def memory_of(text: str, *, days: float = 0) -> Memory:
    moment = NOON + timedelta(days=days)
    return Memory(id=text[:8], text=text, happened_at=moment, stored_at=moment)


def test_a_memory_like_a_chosen_one_comes_after_a_less_relevant_other() -> None:
    relevance = np.array([1.0, 0.95, 0.8])
    likeness = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert choose_diverse(relevance, likeness, NOTHING, 3) == [0, 2, 1]
    assert choose_diverse(relevance, np.eye(3), NOTHING, 3) == [0, 1, 2]


def test_what_is_told_already_comes_later() -> None:
    told = np.array([0.5, 0.0, 0.0])
    assert choose_diverse(np.array([0.9, 0.8, 0.7]), np.eye(3), told, 3) == [1, 2, 0]


@given(st.lists(st.floats(0, 1), max_size=8), st.integers(0, 10), st.randoms())
def test_each_is_chosen_once_and_the_most_relevant_first(
    relevance: list[float], limit: int, random: object
) -> None:
    number = len(relevance)
    seed = np.random.default_rng(random.randrange(2**31))  # type: ignore[attr-defined]
    likeness = seed.random((number, number))
    likeness = (likeness + likeness.T) / 2
    values, told = np.array(relevance, np.float64), np.zeros(number)
    chosen = choose_diverse(values, likeness, told, limit)
    assert len(chosen) == len(set(chosen)) == min(limit, number)
    if chosen:
        assert values[chosen[0]] == values.max()
    assert not told.any()


def test_memories_with_vectors_are_alike_above_the_mean_of_all_pairs() -> None:
    memories = [memory_of(f"note {n}") for n in range(3)]
    rows = [
        np.array([[1.0, 0.0]], np.float32),
        # Its second passage is that of the first memory.
        np.array([[0.0, 1.0], [1.0, 0.0]], np.float32),
        np.array([[0.0, 1.0]], np.float32),
    ]
    likeness = measure_likeness(memories, rows)
    # The cosines of the pairs are 1, 1 and 0, their mean 2/3; all happened at one moment.
    expected = 0.85 * 1.0 + 0.15
    assert likeness[0, 1] == likeness[1, 2] == pytest.approx(expected)
    assert likeness[0, 2] == pytest.approx(0.15)
    assert np.diag(likeness) == pytest.approx(1)


def test_without_vectors_words_of_few_memories_make_alike() -> None:
    memories = [
        memory_of("Apollo is late because of the parser"),
        memory_of("the parser of Apollo was written anew"),
        memory_of("Apollo has a new logo"),
    ]
    likeness = measure_likeness(memories, [None, None, None])
    assert likeness[0, 1] > likeness[0, 2]
    assert likeness == pytest.approx(likeness.T)


def test_what_happened_at_another_time_is_less_alike() -> None:
    memories = [memory_of("one"), memory_of("two", days=1), memory_of("three", days=3000)]
    likeness = measure_likeness(memories, [None] * 3)
    # The order of the moments counts, so that one old memory does not make all others alike.
    assert likeness[0, 1] == likeness[1, 2] == pytest.approx(0.075)
    assert likeness[0, 2] == pytest.approx(0)


def test_a_single_memory_is_like_itself() -> None:
    assert measure_likeness([memory_of("alone")], [None]).tolist() == [[1.0]]
