"""Clients over HTTP while their server, or its MongoDB, is away: what was acknowledged is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scale import team
from benchmarks.soak import http_outage, http_primary
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


@pytest.mark.slow("http-endurance")
def test_nothing_is_lost_while_mongodb_is_away_for_a_minute(tmp_path: Path) -> None:
    outcome = http_outage.run(tmp_path, clients=16, seconds=60, broken_build=False)
    assert outcome.faults == []
    assert len(outcome.acknowledged) > 50
    # Otherwise nobody was refused, and nothing was proved.
    assert outcome.away.total() > 0


@pytest.mark.slow("http-endurance")
def test_a_server_that_answers_while_mongodb_is_away_is_noticed(tmp_path: Path) -> None:
    outcome = http_outage.run(tmp_path, clients=8, seconds=5, broken_build=True)
    assert any("is lost" in fault for fault in outcome.faults)


@pytest.mark.slow("http-endurance")
def test_nothing_is_lost_when_the_primary_and_one_of_three_servers_are_killed(
    tmp_path: Path,
) -> None:
    outcome = http_primary.run(tmp_path, clients=8, kills=1, broken_build=False)
    assert outcome.faults == []
    assert outcome.restarts == 1
    assert len(outcome.acknowledged) > 30


@pytest.mark.slow("http-endurance")
def test_three_servers_that_answer_before_they_write_are_noticed(tmp_path: Path) -> None:
    outcome = http_primary.run(tmp_path, clients=8, kills=1, broken_build=True)
    assert any("never stored" in fault or "is lost" in fault for fault in outcome.faults)


@pytest.mark.slow("http-endurance")
def test_a_team_loses_nothing_in_a_day_and_nobody_is_shown_what_is_not_theirs(
    tmp_path: Path,
) -> None:
    outcome = team.run(tmp_path, people=6, calls=20, pause=0, members=1)
    assert outcome.faults == []
    assert len(outcome.acknowledged) > 20
