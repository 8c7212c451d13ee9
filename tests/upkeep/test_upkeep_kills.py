"""The upkeep killed at random moments, and that the soak notices a broken build."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.soak import upkeep_kills

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it forks")


@pytest.mark.thorough
def test_two_kills_of_the_upkeep_lose_nothing(tmp_path: Path) -> None:
    assert upkeep_kills.run(tmp_path, kills=2).faults == ()


@pytest.mark.slow("upkeep")
def test_a_killed_upkeep_loses_nothing_and_a_repeat_finishes(tmp_path: Path) -> None:
    outcome = upkeep_kills.run(tmp_path, kills=10)
    assert outcome.faults == ()
    assert {"archive", "backup", "embed", "limit", "link-duplicates"} <= set(+outcome.jobs)


@pytest.mark.slow("upkeep")
@pytest.mark.parametrize("broken", upkeep_kills.SABOTAGES)
def test_the_soak_of_kills_notices_what_is_broken(tmp_path: Path, broken: str) -> None:
    assert upkeep_kills.run(tmp_path, kills=10, broken=broken).faults
