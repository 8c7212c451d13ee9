"""Recurrences: the same days as python-dateutil lists from the first one on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import InvalidInput
from infinite_memory.core.values.conversation.trigger import Occasion
from infinite_memory.features.reminders.triggers.builtin import RulesEvaluator
from tests.triggers.cases import holds

BERLIN = ZoneInfo("Europe/Berlin")
MORNING = {"recurs": "FREQ=DAILY", "start": "2026-01-01T09:30", "lasts_minutes": 30}
NIGHT = {"recurs": "FREQ=DAILY", "start": "2026-01-01T23:30", "lasts_minutes": 60}
MINUTES = ",".join(map(str, range(60)))
THREE = {"recurs": "FREQ=DAILY;BYHOUR=3;BYMINUTE=0", "lasts_minutes": 60}
FOUR_DAYS = {"recurs": "FREQ=WEEKLY;BYDAY=MO", "lasts_minutes": 4 * 24 * 60}


def at(text: str) -> Occasion:
    return Occasion(now=datetime.fromisoformat(text).replace(tzinfo=BERLIN))


@pytest.mark.parametrize(
    ("parts", "now", "expected"),
    [
        ({"recurs": "FREQ=DAILY"}, "2026-07-17T12:00", True),
        ({"recurs": "RRULE:FREQ=WEEKLY;BYDAY=FR"}, "2026-07-17T12:00", True),
        ({"recurs": "freq=weekly;byday=fr"}, "2026-07-18T00:00", False),
        ({"recurs": "FREQ=MONTHLY;BYDAY=3FR"}, "2026-07-17T12:00", True),
        ({"recurs": "FREQ=MONTHLY;BYDAY=-1FR"}, "2026-07-31T12:00", True),
        ({"recurs": "FREQ=MONTHLY;BYMONTHDAY=-1"}, "2028-02-29T12:00", True),
        ({"recurs": "FREQ=YEARLY", "start": "1990-07-17"}, "2026-07-17T12:00", True),
        ({"recurs": "FREQ=YEARLY", "start": "2027-07-17"}, "2026-07-17T12:00", False),
        ({"recurs": "FREQ=WEEKLY", "start": "2026-07-03"}, "2026-07-17T12:00", True),
        ({"recurs": "FREQ=WEEKLY;INTERVAL=2", "start": "2026-07-03"}, "2026-07-10T12:00", False),
        ({"recurs": "FREQ=WEEKLY;INTERVAL=2", "start": "2026-07-03"}, "2026-07-17T12:00", True),
        # A month without that day is left out.
        ({"recurs": "FREQ=MONTHLY", "start": "2026-01-31"}, "2026-03-31T12:00", True),
        ({"recurs": "FREQ=MONTHLY", "start": "2026-01-31"}, "2026-03-01T12:00", False),
        ({"recurs": "FREQ=DAILY;COUNT=3", "start": "2026-07-15"}, "2026-07-17T12:00", True),
        ({"recurs": "FREQ=DAILY;COUNT=3", "start": "2026-07-15"}, "2026-07-18T12:00", False),
        ({"recurs": "FREQ=DAILY;UNTIL=20260717"}, "2026-07-17T12:00", True),
        ({"recurs": "FREQ=DAILY;UNTIL=20260717"}, "2026-07-18T12:00", False),
        ({"recurs": "FREQ=DAILY;UNTIL=20260717T220000Z"}, "2026-07-18T00:30", True),
        ({"recurs": "FREQ=DAILY;UNTIL=20260717T215959Z"}, "2026-07-18T00:30", False),
        # From a time on, for the rest of the day, or for as long as it lasts.
        ({"recurs": "FREQ=DAILY;BYHOUR=9"}, "2026-07-17T08:59", False),
        ({"recurs": "FREQ=DAILY;BYHOUR=9"}, "2026-07-17T23:59", True),
        (MORNING, "2026-07-17T09:30", True),
        (MORNING, "2026-07-17T10:00", False),
        (NIGHT, "2026-07-17T00:29", True),
        (FOUR_DAYS, "2026-07-16T23:59", True),
        (FOUR_DAYS, "2026-07-17T00:00", False),
        # The nights in which the clocks of the zone skip an hour, and repeat it.
        ({"recurs": "FREQ=DAILY;BYHOUR=2"}, "2026-03-29T03:00", True),
        (THREE, "2026-10-25T03:59", True),
    ],
)  # fmt: skip
def test_a_recurrence_holds_on_the_clock_of_the_zone(
    rules: RulesEvaluator, parts: dict[str, Any], now: str, expected: bool
) -> None:
    assert holds(rules, parts, at(now)) is expected


def test_the_zone_of_the_occasion_decides_which_day_it_is(rules: RulesEvaluator) -> None:
    moment = datetime(2026, 7, 17, 23, 30, tzinfo=UTC)
    friday = {"recurs": "FREQ=WEEKLY;BYDAY=FR"}
    assert holds(rules, friday, Occasion(now=moment))
    assert not holds(rules, friday, Occasion(now=moment.astimezone(ZoneInfo("Asia/Shanghai"))))


@pytest.mark.parametrize(
    ("parts", "hint"),
    [
        ({"recurs": "every Monday"}, "no rule of iCalendar"),
        ({"recurs": ""}, "no rule of iCalendar"),
        ({"recurs": 7}, "no rule of iCalendar"),
        ({"recurs": "FREQ=HOURLY"}, '"between": "09:00-10:00"'),
        ({"recurs": "FREQ=SECONDLY;INTERVAL=1"}, "FREQ=SECONDLY cannot be used"),
        ({"recurs": "FREQ=WEEKLY"}, 'add "start"'),
        ({"recurs": "FREQ=DAILY;INTERVAL=2"}, 'add "start"'),
        ({"recurs": "FREQ=DAILY;COUNT=2"}, 'add "start"'),
        ({"recurs": "FREQ=YEARLY;BYMONTH=7"}, 'add "start"'),
        ({"recurs": "FREQ=DAILY;INTERVAL=0"}, "give 1 to 1,000"),
        ({"recurs": "FREQ=DAILY;INTERVAL=x"}, "give 1 to 1,000"),
        ({"recurs": "FREQ=DAILY;COUNT=99999999999", "start": "2026-01-01"}, "give 1 to 10,000"),
        ({"recurs": "FREQ=DAILY;COUNT=2;UNTIL=20270101", "start": "2026-01-01"}, "exclude each"),
        ({"recurs": "FREQ=DAILY;UNTIL=tomorrow"}, "write UNTIL=20261231"),
        ({"recurs": "FREQ=DAILY;BYDAY=XX"}, "cannot be used"),
        ({"recurs": "FREQ=DAILY;BYHOUR=25"}, "cannot be used"),
        ({"recurs": "FREQ=DAILY;BYSECOND=1"}, "no part 'BYSECOND'"),
        ({"recurs": "FREQ=DAILY;FREQ"}, "FREQ is empty"),
        ({"recurs": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}, "it does not come within 100"),
        # It takes seconds to follow this one day by day to the year 9999.
        ({"recurs": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"}, "it does not come within 100"),
        ({"recurs": f"FREQ=DAILY;BYHOUR=1,2,3,4;BYMINUTE={MINUTES}"}, "it comes 240 times a day"),
        ({"recurs": "FREQ=YEARLY;COUNT=100", "start": "2024-02-29"}, "so often within 100 years"),
        ({"recurs": "FREQ=DAILY", "start": "2026-01-01T09:00+01:00"}, "leave it out"),
        ({"recurs": "FREQ=DAILY", "start": "soon"}, "write a day as"),
        ({"recurs": "FREQ=DAILY", "lasts_minutes": 0}, "up to a year"),
        ({"recurs": "FREQ=DAILY", "lasts_minutes": "60"}, "up to a year"),
        ({"recurs": "FREQ=DAILY", "lasts_minutes": float("inf")}, "up to a year"),
    ],
)
def test_a_rule_that_cannot_recur_is_refused(
    rules: RulesEvaluator, parts: dict[str, Any], hint: str
) -> None:
    with pytest.raises(InvalidInput, match=hint):
        rules.prepare(parts)


RULES = st.sampled_from(
    [
        *("FREQ=DAILY", "FREQ=WEEKLY", "FREQ=MONTHLY", "FREQ=YEARLY"),
        *("FREQ=WEEKLY;BYDAY=MO,TH", "FREQ=WEEKLY;BYDAY=SU;WKST=SU", "FREQ=MONTHLY;BYDAY=2TU"),
        *("FREQ=MONTHLY;BYMONTHDAY=1,15,-1", "FREQ=YEARLY;BYMONTH=3,9;BYDAY=1SU"),
        *("FREQ=YEARLY;BYYEARDAY=100,-1", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO"),
        *("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "FREQ=DAILY;BYMONTH=7"),
    ]
)
STARTS = st.integers(0, 28 * 365 * 24 * 60).map(
    lambda minutes: datetime.fromisoformat("1999-01-01") + timedelta(minutes=minutes)
)


@given(
    rule=RULES,
    interval=st.integers(1, 5),
    start=STARTS,
    later=st.timedeltas(timedelta(), timedelta(days=3000)),
)
def test_skipping_to_the_present_changes_no_occurrence(
    rule: str, interval: int, start: datetime, later: timedelta
) -> None:
    now = start + later
    rule = f"{rule};INTERVAL={interval}"
    last = rrulestr(rule, dtstart=start).before(now, inc=True)
    expected = last is not None and last.date() == now.date()
    parts = {"recurs": rule, "start": start.isoformat(timespec="minutes")}
    assert holds(RulesEvaluator(), parts, Occasion(now=now.replace(tzinfo=UTC))) is expected


@given(start=STARTS, days=st.integers(0, 400))
def test_a_recurrence_asked_in_any_order_answers_the_same(start: datetime, days: int) -> None:
    rules = RulesEvaluator()
    prepared = {
        "it": rules.prepare({"recurs": "FREQ=WEEKLY;INTERVAL=2", "start": start.isoformat()})
    }
    for offset in (days, 0, days, days + 7, 14):
        moment = start + timedelta(days=offset)
        verdict = rules.evaluate(prepared, Occasion(now=moment.replace(tzinfo=UTC)))["it"]
        assert verdict.holds is (offset % 14 == 0)
