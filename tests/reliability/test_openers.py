"""Processes that open, write and close the same store on a slow disk, beside each other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.soak.openers import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


@pytest.mark.parametrize(
    "minutes", [0.02, pytest.param(0.5, marks=pytest.mark.slow("sqlite-endurance"))]
)
def test_openers_of_a_sound_store_are_told_of_no_damage(tmp_path: Path, minutes: float) -> None:
    outcome = run(tmp_path, minutes=minutes)
    assert outcome.faults == ()
    assert outcome.looks >= 8


@pytest.mark.slow("broken-storage")
def test_openers_that_believe_every_look_are_told_of_damage(tmp_path: Path) -> None:
    broken = run(tmp_path, minutes=5, broken=True)
    assert any("called damaged" in fault for fault in broken.faults)
