"""The dreamer killed at random moments, and that the soak notices a broken build."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.soak import dream_kills

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it forks")


@pytest.mark.thorough
def test_two_kills_of_the_dreamer_change_nothing_that_was_told(tmp_path: Path) -> None:
    assert dream_kills.run(tmp_path, kills=2).faults == ()


@pytest.mark.slow("dreamer")
def test_every_cycle_of_a_killed_dreamer_is_undone(tmp_path: Path) -> None:
    outcome = dream_kills.run(tmp_path, kills=15)
    assert outcome.faults == ()
    assert len(outcome.states) > 3


@pytest.mark.slow("dreamer")
@pytest.mark.parametrize("broken", dream_kills.SABOTAGES)
def test_the_soak_of_kills_notices_what_is_broken(tmp_path: Path, broken: str) -> None:
    assert dream_kills.run(tmp_path, kills=5, broken=broken).faults
