"""A short form of the soak of imports, and that it notices a broken build."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak import import_kills


@pytest.mark.slow("imports")
def test_a_killed_import_loses_nothing_and_a_repeat_finishes(tmp_path: Path) -> None:
    outcome = import_kills.run(tmp_path, kills=10)
    assert outcome.faults == ()


@pytest.mark.slow("imports")
@pytest.mark.parametrize("broken", import_kills.SABOTAGES)
def test_the_soak_of_imports_notices_a_broken_build(tmp_path: Path, broken: str) -> None:
    assert import_kills.run(tmp_path, kills=4, broken=broken).faults
