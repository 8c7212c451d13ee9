"""A score is a share of questions, whatever the arms."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.search.calibration import Calibration, choose_calibration
from infinite_memory.search.scoring import DEFAULT_WEIGHTS, without_meaning, without_words

CURVES = [
    choose_calibration(weights)
    for weights in (
        DEFAULT_WEIGHTS,
        without_words(DEFAULT_WEIGHTS),
        without_meaning(DEFAULT_WEIGHTS),
    )
]


@pytest.mark.parametrize("curve", CURVES)
def test_half_of_the_questions_have_an_answer_at_the_middle(curve: Calibration) -> None:
    assert curve.score(curve.middle) == 0.5


@given(st.sampled_from(CURVES), st.floats(0, 3), st.floats(0, 3))
def test_a_higher_total_never_has_a_lower_score(
    curve: Calibration, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    assert 0 <= curve.score(low) <= curve.score(high) <= 1


@given(st.sampled_from(CURVES), st.floats(0.02, 0.99))
def test_the_total_of_a_score_has_that_score(curve: Calibration, score: float) -> None:
    total = curve.total(score)
    found = curve.score(total)
    assert found == pytest.approx(score, abs=1e-5) or (total == 0 and found == 0)


def test_any_shared_word_passes_the_default_threshold() -> None:
    by_words = choose_calibration(without_meaning(DEFAULT_WEIGHTS))
    assert by_words.score(1e-6) >= 0.02
    assert by_words.score(0) == 0
    assert by_words.total(1) == math.inf
