"""The moment that "as of" some words means."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.core.errors import InvalidInput
from infinite_memory.times import read_as_of, read_range

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
ZONE = "Europe/Berlin"


def as_of(words: str) -> datetime:
    return read_as_of(words, now=NOW, zone=ZONE)


@pytest.mark.parametrize(
    ("words", "moment"),
    [
        # Over: the last microsecond, in the time zone of the reader.
        ("March 2024", "2024-03-31T23:59:59.999999+02:00"),
        ("last March", "2026-03-31T23:59:59.999999+02:00"),
        ("2024-03-31", "2024-03-31T23:59:59.999999+02:00"),
        ("last week", "2026-11-15T23:59:59.999999+01:00"),
        ("before 2024", "2023-12-31T23:59:59.999999+01:00"),
        ("去年三月", "2025-03-31T23:59:59.999999+02:00"),
        # Under way: now.
        ("this year", "2026-11-22T13:00:00+01:00"),
        ("2026", "2026-11-22T13:00:00+01:00"),
        ("today", "2026-11-22T13:00:00+01:00"),
        ("since March", "2026-11-22T13:00:00+01:00"),
        ("until 2030", "2026-11-22T13:00:00+01:00"),
        ("always", "2026-11-22T13:00:00+01:00"),
        ("  NOW ", "2026-11-22T13:00:00+01:00"),
        # Yet to come: its end as well.
        ("next month", "2026-12-31T23:59:59.999999+01:00"),
        # With a time of day: just then.
        ("2024-03-31T14:30", "2024-03-31T14:30:00+02:00"),
        ("2024-03-31 14:30:01.5Z", "2024-03-31T14:30:01.5+00:00"),
        ("2024-03-31 14:30 EST", "2024-03-31T14:30:00-05:00"),
        ("2030-03-31T14:30", "2030-03-31T14:30:00+02:00"),
    ],
)
def test_words_mean_one_moment(words: str, moment: str) -> None:
    assert as_of(words) == datetime.fromisoformat(moment)


@pytest.mark.parametrize(
    "words", ["", "tea", "since next March", "2024-03-31T25:00", "2024-13", "3/4/2024"]
)
def test_what_means_no_moment_is_refused(words: str) -> None:
    with pytest.raises(InvalidInput):
        as_of(words)


@given(st.datetimes(timezones=st.just(UTC)), st.sampled_from(["March", "2024", "last week"]))
def test_a_time_that_is_over_is_a_moment_within_it(now: datetime, words: str) -> None:
    try:
        stretch = read_range(words, now=now, zone="UTC").range
    except InvalidInput:
        return
    moment = read_as_of(words, now=now, zone="UTC")
    assert stretch.start is not None
    assert stretch.end is not None
    assert stretch.start <= moment < stretch.end
    assert moment == now or stretch.end <= now or stretch.start > now
