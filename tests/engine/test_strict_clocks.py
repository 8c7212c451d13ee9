"""What holds now is found though the clock runs behind the one of the last write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infinite_memory import Config, MemoryStore
from infinite_memory.core.values.hits import Step
from infinite_memory.testing.embedders import HashingEmbedder

NOW = datetime(2026, 5, 4, 9, tzinfo=UTC)
BEHIND = timedelta(hours=3)


def at(home: Path, moment: datetime) -> MemoryStore:
    """Open the store as a process whose clock stands at `moment`."""
    return MemoryStore.open(
        home, config=Config(home=home), embedder=HashingEmbedder(), clock=lambda: moment
    )


def strict(store: MemoryStore, query: str) -> set[str]:
    """Return the ids of what a strict search finds, and a strict list with it."""
    found = {hit.memory.id for hit in store.search(query, mode="strict", threshold=0)}
    assert found == {memory.id for memory in store.browse(mode="strict").memories}
    recalled = store.recall_by_time(since=NOW - 2 * BEHIND, until=NOW + 2 * BEHIND, mode="strict")
    assert {memory.id for memory in recalled} <= found
    return found


def test_strict_finds_what_a_clock_that_was_ahead_has_stored(tmp_path: Path) -> None:
    with at(tmp_path, NOW) as ahead:
        ahead.remember("Alice likes tea", id="tea")
        ahead.remember("Berlin", id="berlin", key="city")
    with at(tmp_path, NOW - BEHIND) as behind:
        assert strict(behind, "Alice tea Berlin") == {"tea", "berlin"}
        assert behind.why_not("Alice tea", "tea", mode="strict").step is Step.FOUND
        # Also where the last write is by this clock.
        behind.remember("Bob likes coffee", id="coffee")
        behind.remember("Rome", id="rome", key="city")
        assert strict(behind, "Alice tea Bob coffee Rome") == {"tea", "coffee", "rome"}
    with at(tmp_path, NOW - BEHIND) as behind:
        assert strict(behind, "Alice tea Bob coffee Rome") == {"tea", "coffee", "rome"}


@pytest.mark.parametrize("now", [NOW, NOW - BEHIND])
def test_what_begins_after_both_clocks_does_not_hold(tmp_path: Path, now: datetime) -> None:
    with at(tmp_path, NOW) as ahead:
        ahead.remember("The office moves to Oslo", id="oslo", valid_from=NOW + BEHIND)
        ahead.remember("The meeting in Oslo", id="meeting", happened_at=NOW + BEHIND)
        ahead.remember("The office is in Bonn", id="bonn")
    with at(tmp_path, now) as store:
        assert strict(store, "where is the office?") == {"bonn"}
        assert store.why_not("office Oslo", "oslo", mode="strict").step is Step.MODE
    with at(tmp_path, NOW + 2 * BEHIND) as later:
        assert strict(later, "where is the office?") == {"oslo", "meeting", "bonn"}


def test_what_is_over_does_not_hold_whatever_the_clock_of_its_writer(tmp_path: Path) -> None:
    with at(tmp_path, NOW) as ahead:
        end = NOW - 2 * BEHIND
        ahead.remember("Ann was in Rome", id="rome", valid_from=end - BEHIND, valid_to=end)
    with at(tmp_path, NOW - BEHIND) as behind:
        assert strict(behind, "Ann in Rome") == set()


def test_one_clock_far_in_the_future_changes_nothing_for_other_memories(tmp_path: Path) -> None:
    with at(tmp_path, NOW) as store:
        store.remember("The lease ends in 2030", id="lease", valid_to=NOW + timedelta(days=1460))
        store.remember("The next lease", id="next", valid_from=NOW + timedelta(days=1460))
    with at(tmp_path, NOW + timedelta(days=30_000)) as far:
        far.remember("stored by a broken clock", id="far")
    with at(tmp_path, NOW) as store:
        assert strict(store, "lease broken clock") == {"lease", "far"}
