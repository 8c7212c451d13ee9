"""The days that a text names, as somebody means them who plans."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from infinite_memory.times import find_days

# A Thursday.
TOLD = datetime(2026, 11, 5, 7, tzinfo=UTC)


def days(text: str, *, since: datetime = TOLD, zone: str = "UTC") -> list[tuple[str, str]]:
    """Return the words and the local beginning of each day."""
    found = find_days(text, told_at=TOLD, since=since, zone=zone, week_start="monday")
    return [(text[slice(*day.span)], f"{day.start:%Y-%m-%d %H:%M}") for day in found]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("The launch is planned for November 20", "2026-11-20 00:00"),
        ("Parents' evening is on December 2 at 18:30", "2026-12-02 18:30"),
        ("He starts on February 1", "2027-02-01 00:00"),
        ("Winter covers must be on by December 15", "2026-12-15 00:00"),
        ("The lawyer comes on Tuesday", "2026-11-10 00:00"),
        ("The tyres are changed tomorrow at 8 am", "2026-11-06 08:00"),
        ("Review on 2026-11-12", "2026-11-12 00:00"),
        ("Elternabend am 2. Dezember um 18:30 Uhr", "2026-12-02 18:30"),
        ("Anna ist vom 9. bis 12. November in Berlin", "2026-11-09 00:00"),
        ("Am Freitag, 27.11., kommt der Maler", "2026-11-27 00:00"),
        ("Abgabe bis 15. Dezember", "2026-12-15 23:59"),
        ("Le rendez-vous est le 3 décembre", "2026-12-03 00:00"),
        ("La reunión es el 5 de diciembre", "2026-12-05 00:00"),
        ("会议在12月5日", "2026-12-05 00:00"),
    ],
)
def test_a_day_without_a_year_is_the_coming_one(text: str, day: str) -> None:
    assert [found for _, found in days(text)] == [day]


@pytest.mark.parametrize(
    "text",
    [
        "The coffee machine is broken",
        "The rain was awful today",
        "She moves to Rome in January",
        "The firm was founded in 1998",
        "The party on October 20 was loud",
        "The server is at 10.20.4.17, release 2.1.3",
        "p95 went from 2.4 s to 180 ms",
        "30.02. ist kein Tag",
    ],
)
def test_what_is_past_vague_or_no_day_names_none(text: str) -> None:
    assert days(text) == []


@pytest.mark.parametrize(
    "text", ["Class moved from Tuesday to Thursday", "Yoga every Thursday", "Yoga jeden Donnerstag"]
)
def test_a_habit_comes_in_every_week(text: str) -> None:
    weeks = [TOLD, TOLD + timedelta(days=1), TOLD + timedelta(days=40)]
    assert [days(text, since=since)[0][1][:10] for since in weeks] == [
        "2026-11-05",
        "2026-11-12",
        "2026-12-17",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Sitzung jeden Montag",
        "Reunión cada lunes",
        "Reunión todos los lunes",
        "Réunion chaque lundi",
        "Réunion tous les lundis",
        "Собрание каждый понедельник",
        "每周一开会",
        "每週一開會",
        "每个星期一开会",
        "每逢礼拜一开会",
    ],
)
def test_every_monday_recurs_in_six_languages(text: str) -> None:
    for since, monday in ((TOLD, "2026-11-09"), (TOLD + timedelta(days=40), "2026-12-21")):
        (day,) = find_days(text, told_at=TOLD, since=since, zone="UTC", week_start="monday")
        assert (f"{day.start:%Y-%m-%d}", day.recurs) == (monday, True)


@pytest.mark.parametrize(
    "text",
    [
        "每周一次开会",
        "每周一起吃饭",
        "每周五天",
        "每周三人",
        "每周二十小时",
        "每周一、三、五",
        "每周一到周五",
        "每隔周一开会",
        "Les trois derniers lundis",
        "Réunion tous les deux lundis",
    ],
)
def test_a_count_a_week_or_a_list_of_weekdays_is_no_recurring_day(text: str) -> None:
    assert days(text) == []


def test_a_day_is_that_of_the_time_zone() -> None:
    assert days("Review on December 2", zone="Asia/Kolkata")[0][1] == "2026-12-01 18:30"


def test_a_day_that_is_over_is_left_out() -> None:
    assert days("Review on November 9", since=TOLD + timedelta(days=20)) == []
