"""The deadline of a call: what is left is said, and what was committed is never unknown."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from infinite_memory import MemoryStore, OutOfTime
from infinite_memory.core.clock import Deadline, current_deadline, within
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.tool import _describe_outcome


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    return MemoryStore.open(tmp_path / "home", embedder=HashingEmbedder())


def test_a_call_that_has_changed_nothing_ends_when_its_time_is_over(store: MemoryStore) -> None:
    with store:
        store.remember("The deadline of project Apollo is June 5")
        with within(Deadline(at=0.0)):
            for call in (
                lambda: store.search("Apollo"),
                lambda: store.remember("Too late to be stored"),
                lambda: store.bulk.preview_forget(scope="Global"),
                store.verify,
                store.stats,
            ):
                with pytest.raises(OutOfTime, match="nothing was changed"):
                    call()
        assert store.stats().memories == 1


def test_a_call_that_has_stored_something_goes_on_to_its_receipt(store: MemoryStore) -> None:
    # The time is over as soon as something was committed.
    deadline = Deadline(at=1.0, clock=lambda: 2.0 if deadline.changes else 0.0)
    with store, within(deadline):
        receipt = store.remember("Stored at the last moment")
        assert (receipt.outcome, receipt.searchable) == ("stored", "words")
        assert deadline.changes == {store.journal.entries(limit=1)[0].number: 1}
        assert current_deadline().is_over


def test_the_upkeep_names_the_jobs_for_which_there_was_no_time(store: MemoryStore) -> None:
    with store:
        stopping = Deadline(at=time.monotonic() + 1000, is_stopping=lambda: True)
        with within(stopping):
            report = store.upkeep.optimize(jobs=["archive", "compact"])
        assert [job.failure for job in report.jobs] == [
            "the jobs before it took the time of the call; ask for it again"
        ] * 2


def test_a_part_of_a_call_never_has_more_time_than_the_call() -> None:
    deadline = Deadline(at=10.0, clock=lambda: 4.0)
    assert deadline.shortened_to(0.5).seconds_left == 0.5
    assert deadline.shortened_to(100).seconds_left == 6.0
    assert not Deadline().is_awaited
    with within(deadline):
        assert current_deadline() is deadline
    assert current_deadline() == Deadline()


def test_an_answer_that_is_no_longer_awaited_says_what_was_committed() -> None:
    said = _describe_outcome({1: 6000}, reads=False, is_over=False)
    assert "The change was made: 6,000 memories were written" in said
    assert "unknown" in _describe_outcome({}, reads=False, is_over=False)
    assert _describe_outcome({}, reads=True, is_over=False) == "Nothing was changed."
