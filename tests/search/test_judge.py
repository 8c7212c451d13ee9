"""The judge's weights are those that its benchmark fits from the labelled data that ships."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.judge import FEATURES, WEIGHTS, Case, digest_labelled, fit, write
from infinite_memory.search.judge import DIMENSIONS, Told, load_judge, multilingual


def test_the_weights_are_of_the_labelled_data_that_ships() -> None:
    # If this fails, the labelled data changed: python -m benchmarks.judge --write
    assert json.loads(WEIGHTS.read_text("utf-8"))["labelled"] == digest_labelled()


def test_the_weights_fit_the_features() -> None:
    judge = load_judge()
    assert judge.features.shape == (len(FEATURES),)
    assert judge.earlier.shape == judge.later.shape == (DIMENSIONS,)
    assert 0.3 <= judge.least < 1


def test_what_is_written_judges_as_what_was_fitted(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(7)
    path = tmp_path_factory.mktemp("weights") / "judge.json"
    monkeypatch.setattr("benchmarks.judge.WEIGHTS", path)
    monkeypatch.setattr("infinite_memory.search.judge.WEIGHTS", path)

    def told() -> Told:
        vector = random.normal(size=2 * DIMENSIONS).astype(np.float32)
        return Told(text=f"It is {random.integers(9)}", vector=vector)

    cases = []
    for number in range(80):
        later, earlier = told(), [told(), told()]
        scores = random.random(2)
        cases.append(
            (
                (later, earlier, scores.tolist()),
                Case.of(
                    later,
                    earlier,
                    scores.tolist(),
                    source="pairs",
                    group=str(number),
                    replaced=np.array([1.0, 0.0]) if scores[0] > scores[1] else np.zeros(2),
                    is_real=np.ones(2),
                ),
            )
        )
    fitted = fit([case for _, case in cases])
    write(fitted, "some-model@digest", 0.5)
    judge = load_judge.__wrapped__()
    assert judge.model == "some-model"
    for arguments, case in cases[:5]:
        expected = 1 / (1 + np.exp(-fitted.total(case)))
        assert np.allclose(judge.judge(*arguments), expected, atol=0.01)


def test_the_direction_of_a_vector_has_length_one() -> None:
    vector = np.ones(2 * DIMENSIONS, np.float32)
    assert np.isclose(np.linalg.norm(multilingual(Told(text="", vector=vector))), 1)
