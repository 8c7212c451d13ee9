"""Upkeep never joins two scopes, whatever happens; benchmarks/soak/upkeep_scopes.py runs longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.upkeep_scopes import run_life


@pytest.mark.parametrize("seed", range(6))
def test_nothing_of_a_scope_shows_in_another(seed: int, tmp_path: Path) -> None:
    assert run_life(seed, tmp_path / "home") == []
