"""Twenty facts that change, told over stdio by a caller without keys, as in `benchmarks.year`."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.year.telling import OWN_FACTS, facts_of, live_a_year


@pytest.mark.thorough
def test_facts_that_change_are_answered_with_what_holds(tmp_path: Path) -> None:
    facts = list(facts_of(OWN_FACTS))
    assert len(facts) == 20
    asked = live_a_year(tmp_path, [], facts)
    assert sum(one.is_named for one in asked) >= 17
    assert sum(one.is_stale for one in asked) <= 1
    assert all(one.says_later for one in asked if one.is_stale)
    assert all(one.has_history for one in asked if one.is_named)


@pytest.mark.thorough
def test_facts_that_nobody_superseded_say_that_another_was_told_later(tmp_path: Path) -> None:
    asked = live_a_year(tmp_path, [], list(facts_of(OWN_FACTS)), supersedes=False)
    stale = [one for one in asked if one.is_stale]
    assert 0 < len(stale) <= 8
    assert sum(one.says_later for one in stale) >= len(stale) - 1
    # What matches much less well than the best is not shown, but named by the hit it comes after.
    assert sum(one.has_later for one in asked) >= 18
