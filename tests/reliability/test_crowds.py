from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak import crowd, race


@pytest.mark.process
def test_a_crowd_of_processes_makes_no_error_and_starves_nobody(tmp_path: Path) -> None:
    outcome = crowd.run(tmp_path / "store", processes=6, seconds=3)
    assert outcome.faults == ()
    assert min(outcome.commits) > 0


@pytest.mark.thorough
def test_writers_that_race_checkpointers_corrupt_nothing(tmp_path: Path) -> None:
    outcome = race.run(tmp_path, seconds=3, writers=2, checkpointers=2, round_seconds=1.5)
    assert outcome.faults == ()
    assert outcome.refused == 0
    assert outcome.commits > 0
