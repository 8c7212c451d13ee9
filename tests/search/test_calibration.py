"""A score is a share of questions, whatever the arms."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.search.calibration import Calibration, calibrate
from infinite_memory.search.cosine import ABSENT, mean_of_greatest
from infinite_memory.search.doc_filter import DocFilter
from infinite_memory.search.scoring import (
    DEFAULT_WEIGHTS,
    Weights,
    without_meaning,
    without_words,
)
from infinite_memory.search.segment import Segment

ARMS = (DEFAULT_WEIGHTS, without_words(DEFAULT_WEIGHTS), without_meaning(DEFAULT_WEIGHTS))
BOTH, BY_MEANING, BY_WORDS = CURVES = [calibrate((), 0, 0.0, weights, 5) for weights in ARMS]


def curve_of(
    *cosines: float, weights: Weights = DEFAULT_WEIGHTS, words: int = 5, asking: int = 0
) -> Calibration:
    """Return the curve of memories with these cosines, of which so many ask.

    The background of the model is 0.
    """
    column = np.array(cosines, np.float32)
    asks = (np.arange(len(column)) < asking).astype(np.int8)
    segment = cast(Segment, SimpleNamespace(is_question=asks))
    compared = [(segment, DocFilter(size=len(column)), column)]
    return calibrate(compared, len(column), 0.0, weights, words)


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


def test_nothing_in_common_scores_nothing() -> None:
    assert BY_WORDS.score(0) == 0
    assert BY_WORDS.total(1) == math.inf


@pytest.mark.parametrize("weights", ARMS[:2])
def test_a_total_means_less_where_every_memory_is_near(weights: Weights) -> None:
    middles = [curve_of(*[cosine] * 200, weights=weights).middle for cosine in (0.0, 0.2, 0.4, 0.6)]
    assert middles == sorted(middles)
    assert len({*middles}) == len(middles)


def test_a_single_near_memory_does_not_make_a_store_near() -> None:
    usual, with_answer = ([0.1] * 199, [0.1] * 198 + [0.8])
    difference = curve_of(*with_answer).middle - curve_of(*usual).middle
    assert 0 < difference < 0.01


def test_the_same_question_of_other_days_does_not_make_a_store_near() -> None:
    alone, asked, told = (
        curve_of(*[0.9] * number, *[0.1] * 200, asking=asking).middle
        for number, asking in ((0, 0), (30, 30), (30, 0))
    )
    assert asked - alone < 0.4 * (told - alone)


def test_a_total_means_less_in_a_large_store() -> None:
    small, large = (curve_of(*[0.0] * n) for n in (10, 10_000))
    assert small.score(0.5) > large.score(0.5)


def test_words_alone_of_a_long_question_mean_more() -> None:
    short, long = (curve_of(0.0, weights=ARMS[2], words=words) for words in (3, 100))
    assert long.score(0.2) > short.score(0.2)


def test_a_large_store_is_measured_on_a_sample() -> None:
    cosines = np.random.default_rng(5).normal(0.1, 0.1, 100_000)
    middle = curve_of(*cosines).middle
    greatest = float(np.sort(cosines)[-10_000:].mean())
    whole = curve_of(*[greatest] * 100_000).middle
    assert middle == pytest.approx(whole, abs=0.01)


def test_the_mean_of_the_greatest_cosines_leaves_out_memories_without_a_vector() -> None:
    cosines = np.array([0.9, 0.5, 0.1, ABSENT], np.float32)
    assert mean_of_greatest(cosines, 2, 0.2) == pytest.approx((0.9 + 0.5 + 5 * 0.2) / 7)
    assert mean_of_greatest(cosines, 50, 0.2) == pytest.approx((1.5 + 5 * 0.2) / 8)
    assert mean_of_greatest(cosines[3:], 50, 0.2) == pytest.approx(0.2)
