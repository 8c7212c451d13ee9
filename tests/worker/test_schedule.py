"""Which jobs are due: over sleep, quiet hours, and clocks that jump."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from infinite_memory.features.background.upkeep.job import Job, Plan
from infinite_memory.features.background.upkeep.notes import last_run, last_run_note
from infinite_memory.features.background.worker.schedule import due_jobs, is_quiet, notes_of_waiting

NOON = datetime(2026, 6, 5, 12, tzinfo=UTC)
LIGHT = Job(name="light", summary="", every=timedelta(hours=1), plan=lambda _: Plan())
HEAVY = Job(name="heavy", summary="", every=timedelta(days=1), plan=lambda _: Plan(), is_heavy=True)
JOBS = (LIGHT, HEAVY)


def ran(**moments: datetime) -> dict[str, str]:
    return {last_run_note(name): moment.isoformat() for name, moment in moments.items()}


def due(notes: dict[str, str], now: datetime = NOON, *, quiet: bool = False) -> list[str]:
    return [job.name for job in due_jobs(JOBS, notes, now, quiet=quiet)]


def test_what_never_ran_is_due_and_a_heavy_job_waits_for_the_quiet_hour() -> None:
    assert due({}) == ["light"]
    assert due({}, quiet=True) == ["light", "heavy"]


def test_a_job_is_due_again_when_its_time_has_passed() -> None:
    notes = ran(light=NOON)
    assert "light" not in due(notes, NOON + timedelta(minutes=59))
    assert "light" in due(notes, NOON + timedelta(hours=1))


def test_a_daily_job_keeps_its_hour_though_a_run_takes_some_time() -> None:
    notes = ran(heavy=NOON)
    assert due(notes, NOON + timedelta(hours=21), quiet=True) == ["light"]
    assert due(notes, NOON + timedelta(hours=23), quiet=True) == ["light", "heavy"]


def test_after_a_sleep_a_job_that_is_late_runs_once_at_any_hour() -> None:
    notes = ran(light=NOON, heavy=NOON)
    awake = NOON + timedelta(days=9)
    assert due(notes, awake) == ["light", "heavy"]
    assert due(ran(light=awake, heavy=awake), awake) == []


def test_a_machine_that_sleeps_through_every_quiet_hour_still_runs_a_heavy_job() -> None:
    notes = notes_of_waiting(JOBS, {}, NOON)
    assert notes.keys() == {"heavy/waits"}
    assert notes_of_waiting(JOBS, notes, NOON + timedelta(hours=5)) == {}
    assert due(notes, NOON + timedelta(hours=23)) == ["light"]
    assert due(notes, NOON + timedelta(hours=24)) == ["light", "heavy"]
    assert notes_of_waiting(JOBS, {**notes, **ran(heavy=NOON)}, NOON) == {}


def test_a_clock_that_was_set_back_makes_a_light_job_due_and_a_heavy_one_wait_again() -> None:
    notes = ran(light=NOON, heavy=NOON)
    earlier = NOON - timedelta(days=400)
    assert due(notes, earlier) == ["light"]
    notes |= notes_of_waiting(JOBS, notes, earlier)
    assert due(notes, earlier + timedelta(days=1)) == ["light", "heavy"]
    much_earlier = earlier - timedelta(days=400)
    assert notes_of_waiting(JOBS, notes, much_earlier).keys() == {"heavy/waits"}


def test_a_clock_that_was_set_forward_makes_jobs_due_once() -> None:
    later = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    assert due(ran(light=NOON, heavy=NOON), later) == ["light", "heavy"]
    assert due(ran(light=later, heavy=later), later) == []


@pytest.mark.parametrize("text", ["", "yesterday", "2026-06-05T12:00:00", "2026-06-05", "9" * 99])
def test_a_note_that_is_no_moment_counts_as_none(text: str) -> None:
    assert last_run({last_run_note("light"): text}, "light") is None


def test_the_quiet_hour_is_that_of_the_time_zone() -> None:
    utc_three = datetime(2026, 6, 5, 3, 30, tzinfo=UTC)
    assert is_quiet(utc_three, UTC, 3)
    assert not is_quiet(utc_three, ZoneInfo("Asia/Tokyo"), 3)
    assert is_quiet(utc_three, ZoneInfo("Asia/Tokyo"), 12)
    assert is_quiet(utc_three, ZoneInfo("Asia/Kolkata"), 9)
