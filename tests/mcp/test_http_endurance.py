"""Clients over HTTP while their server is restarted: what was acknowledged is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak.http_clients import run


@pytest.mark.slow("http-endurance")
@pytest.mark.parametrize("store", ["sqlite", "managed"])
def test_nothing_acknowledged_is_lost_over_restarts(tmp_path: Path, store: str) -> None:
    outcome = run(tmp_path, clients=16, seconds=60, restarts=3, store=store, broken_build=False)
    assert outcome.faults == []
    assert outcome.restarts == 3
    assert len(outcome.acknowledged) > 50


@pytest.mark.slow("http-endurance")
def test_a_server_that_answers_before_it_writes_is_noticed(tmp_path: Path) -> None:
    outcome = run(tmp_path, clients=8, seconds=30, restarts=2, store="sqlite", broken_build=True)
    assert any("never stored" in fault or "lost" in fault for fault in outcome.faults)
