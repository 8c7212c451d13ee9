"""A year of a conversation through a server process whose clock is a file.

`benchmarks.soak.conversation_year` lives the same year with 10,000 messages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak.conversing.life import BROKEN, live_a_year


@pytest.mark.thorough
@pytest.mark.parametrize("keep", [512, 12])
def test_the_rules_of_choice_and_of_fading_hold_at_every_search(tmp_path: Path, keep: int) -> None:
    year = live_a_year(tmp_path, turns=160, seed=keep, keep=keep)
    assert year.faults == []
    assert (year.searches, sum(year.messages.values())) == (160, 320)
    assert year.came_up > 100
    current = [len(ledger.memories) for ledger in year.ledgers.values()]
    assert year.archived == 80 - sum(current)
    assert (year.archived > 20) is (keep == 12)


@pytest.mark.thorough
@pytest.mark.parametrize("broken", list(BROKEN))
def test_a_server_that_breaks_a_rule_is_noticed(tmp_path: Path, broken: str) -> None:
    keep = 4 if broken == "fading" else 512
    assert live_a_year(tmp_path, turns=60, seed=3, keep=keep, broken=broken).faults
