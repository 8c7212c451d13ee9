from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.timestamps import in_zone, read_moment, show_moment

BERLIN = "Europe/Berlin"


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-06-05", utc(2026, 6, 4, 22)),
        ("2026-06-05T14:30", utc(2026, 6, 5, 12, 30)),
        ("2026-06-05 14:30:15", utc(2026, 6, 5, 12, 30, 15)),
        ("2026-06-05T14:30:15.250", utc(2026, 6, 5, 12, 30, 15, 250_000)),
        ("2026-06-05T14:30:15.123456789Z", utc(2026, 6, 5, 14, 30, 15, 123_456)),
        ("2026-06-05t14:30z", utc(2026, 6, 5, 14, 30)),
        ("2026-06-05T14:30-0730", utc(2026, 6, 5, 22)),
        (" 2026-01-05T14:30+02 ", utc(2026, 1, 5, 12, 30)),
    ],
)
def test_a_time_is_read_in_the_zone_unless_it_has_an_offset(text: str, moment: datetime) -> None:
    assert read_moment(text, BERLIN) == moment
    assert read_moment(text, BERLIN).tzinfo is UTC


def test_of_an_hour_that_comes_twice_the_first_is_meant() -> None:
    assert read_moment("2026-10-25T02:30", BERLIN) == utc(2026, 10, 25, 0, 30)


def test_a_time_that_the_clocks_leap_over_is_as_much_later_as_they_leap() -> None:
    moment = read_moment("2026-03-29T02:30", BERLIN)
    assert moment == utc(2026, 3, 29, 1, 30)
    assert show_moment(moment, BERLIN) == "2026-03-29 03:30+02:00"


@pytest.mark.parametrize(
    "text",
    ["", "June 5", "2026", "2026-06", "20260605", "2026-W23-5", "2026-06-05T14", "2026-06-05x14:30",
     "2026-13-01", "2026-02-30", "2026-06-05T24:00", "2026-06-05T14:30+99:00", "1780000000",
     "0001-01-01", "9999-12-31T23:59-10:00", "٢٠٢٦-٠٦-٠٥", "2026-06-05T14:30 Berlin"],
)  # fmt: skip
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be read .* such as\s2026-06-05, "):
        read_moment(text, BERLIN)


def test_without_a_zone_the_one_of_the_machine_counts() -> None:
    local = datetime(2026, 6, 5, 14, 30).astimezone()
    assert read_moment("2026-06-05T14:30", None) == local
    assert in_zone(local, None).utcoffset() == local.utcoffset()


@given(
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),  # noqa: DTZ001 - given one below
    st.sampled_from([None, BERLIN, "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati"]),
)
def test_what_is_shown_is_read_as_the_same_minute(naive: datetime, zone: str | None) -> None:
    moment = naive.replace(tzinfo=UTC)
    shown = show_moment(moment, zone)
    # Long ago offsets had seconds, which the form cannot hold.
    if in_zone(moment, zone).utcoffset() % timedelta(minutes=1) == timedelta(0):  # type: ignore[operator]
        assert read_moment(shown, BERLIN) == moment.replace(second=0, microsecond=0)


@pytest.mark.parametrize("moment", [utc(1, 1, 1), utc(9999, 12, 31, 23, 59)])
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_the_ends_of_time_can_be_shown(moment: datetime, zone: str) -> None:
    assert show_moment(moment, zone)
