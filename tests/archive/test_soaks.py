"""Short forms of the soaks of archives, and that the soaks notice a broken build."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak import archive_kills, archives


@pytest.mark.thorough
def test_an_altered_archive_is_refused_or_the_same(tmp_path: Path) -> None:
    outcome = archives.run(tmp_path, mutants=60)
    assert outcome.faults == ()
    assert sum(outcome.results.values()) == 60


@pytest.mark.slow("archives")
def test_many_altered_archives_are_refused_or_the_same(tmp_path: Path) -> None:
    outcome = archives.run(tmp_path, mutants=600, seed=3)
    assert outcome.faults == ()


@pytest.mark.slow("archives")
@pytest.mark.parametrize("broken", archives.SABOTAGES)
def test_the_soak_of_altered_archives_notices_a_broken_build(tmp_path: Path, broken: str) -> None:
    assert archives.run(tmp_path, mutants=80, broken=broken).faults


@pytest.mark.slow("archives")
def test_a_kill_leaves_the_old_store_or_the_new(tmp_path: Path) -> None:
    outcome = archive_kills.run(tmp_path, kills=10)
    assert outcome.faults == ()
    assert set(outcome.kills) == set(archive_kills.SORTS)


@pytest.mark.slow("archives")
@pytest.mark.parametrize("broken", archive_kills.SABOTAGES)
def test_the_soak_of_kills_notices_a_broken_build(tmp_path: Path, broken: str) -> None:
    assert archive_kills.run(tmp_path, kills=8, broken=broken).faults
