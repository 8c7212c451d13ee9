"""Hostile calls of every tool over the real wire: each is answered, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak.fuzz import Outcome, run
from benchmarks.soak.fuzzing.broken import BUILDS

LEAST_SUCCESSES = 0.3
CAUGHT_AS = {
    "dies-on-surrogates": "death",
    "sends-surrogates": "invalid",
    "never-answers": "hang",
    "answers-twice": "invalid",
    "lacks-a-field": "invalid",
    "alters-texts": "lost",
    "loses-texts": "lost",
    "has-a-defect": "invalid",
}
# This one takes a kill to be noticed.
FOR_THE_KILLS = {"answers-first"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "calls", [500, pytest.param(3000, marks=pytest.mark.slow("server-endurance"))]
)
def test_a_server_answers_every_call_and_keeps_what_it_acknowledged(
    tmp_path: Path, calls: int
) -> None:
    outcome = run(tmp_path / "store", calls=calls, seed=3, frames=0.15)
    assert outcome.faults == ()
    assert outcome.calls == calls
    assert outcome.succeeded > LEAST_SUCCESSES * calls
    assert outcome.frames > 0
    assert len(outcome.kinds) == 8


def test_every_broken_build_is_tried_by_a_test() -> None:
    assert set(BUILDS) == {*CAUGHT_AS, *FOR_THE_KILLS}


@pytest.mark.slow("broken-servers")
@pytest.mark.parametrize("name", CAUGHT_AS)
def test_a_broken_server_is_noticed(tmp_path: Path, name: str) -> None:
    # A short limit finds a hang early, and would find one where a busy machine is only slow.
    limit = 8 if name == "never-answers" else 60
    outcome: Outcome = run(
        tmp_path / "store", calls=300, seed=1, broken=name, limit=limit, patience=1
    )
    assert outcome.faults
    # The second of two answers may come when the input has ended.
    late = {"end"} if name == "answers-twice" else set()
    assert {fault.kind for fault in outcome.faults} <= {CAUGHT_AS[name], "lost", *late}
    assert outcome.count(CAUGHT_AS[name])
