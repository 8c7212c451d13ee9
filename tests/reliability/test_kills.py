from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak.kills import run
from infinite_memory.core.errors import StorageUnavailable
from infinite_memory.core.protocols import Storage
from tests.harness.kills import Writer


@pytest.mark.parametrize(
    ("kills", "writes"),
    [(20, 500), pytest.param(200, 5000, marks=pytest.mark.slow("sqlite-endurance"))],
)
def test_no_kill_loses_what_was_acknowledged(tmp_path: Path, kills: int, writes: int) -> None:
    outcome = run(tmp_path / "store", kills=kills, writes=writes, processes=3)
    assert outcome.faults == ()
    assert outcome.kills >= kills
    assert outcome.at_once >= 1
    assert outcome.acknowledged >= writes


@pytest.mark.slow("broken-storage")
@pytest.mark.parametrize(("broken", "found"), [("report-first", "lost"), ("two-commits", "torn")])
def test_kills_catch_a_writer_that_cheats(tmp_path: Path, broken: str, found: str) -> None:
    outcome = run(tmp_path / "store", kills=16, writes=800, processes=3, broken=broken)
    assert any(found in fault for fault in outcome.faults)


def test_a_writer_that_fails_says_why(tmp_path: Path) -> None:
    def refuse(_home: Path) -> Storage:
        raise StorageUnavailable("no disk")

    writer = Writer(0, tmp_path, refuse)
    assert writer.reported() == []
    assert writer.error == "StorageUnavailable: no disk"
