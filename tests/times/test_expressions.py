"""The contract: what words of time mean, and what is no word of time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from infinite_memory import InvalidInput, TimeRange, find_range, read_range
from infinite_memory.times.parser import read_exactly

HERE = Path(__file__).parent
MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T([\d:]+))?([ws])")


def rows() -> Iterator[tuple[str, str, str, str, datetime | None, datetime | None]]:
    """Yield zone, now, week start, words, first moment and the first moment after it."""
    zone = now = week_start = ""
    offsets: dict[str, str] = {}
    for line in (HERE / "expressions.txt").read_text("utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.removeprefix("@").split("|")]
        if line.startswith("@"):
            zone, now, week_start, *rest = parts
            offsets = dict(part.split("=") for part in rest)
            continue
        words, start, end = parts
        yield zone, now, week_start, words, moment(start, offsets), moment(end, offsets)


def moment(text: str, offsets: dict[str, str]) -> datetime | None:
    if text == "*":
        return None
    match = MOMENT.fullmatch(text)
    assert match, text
    day, time, season = match.groups()
    return datetime.fromisoformat(f"{day}T{time or '00:00'}{offsets[season]}").astimezone(UTC)


TABLE = list(rows())
SENTENCES = [
    line
    for line in (HERE / "no_expressions.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_the_tables_are_as_large_as_they_are_said_to_be() -> None:
    assert len(TABLE) >= 300
    assert len({zone for zone, *_ in TABLE}) == 6
    assert sum(not words.isascii() for _, _, _, words, _, _ in TABLE) >= 100
    assert len(SENTENCES) >= 60


@pytest.mark.parametrize(
    ("zone", "now", "week_start", "words", "start", "end"),
    TABLE,
    ids=[f"{zone}-{now[:10]}-{words}" for zone, now, _, words, _, _ in TABLE],
)
def test_words_of_time_mean(
    zone: str,
    now: str,
    week_start: str,
    words: str,
    start: datetime | None,
    end: datetime | None,
) -> None:
    moment = datetime.fromisoformat(now)
    exact = read_exactly(words, now=moment, zone=zone, week_start=week_start)
    assert (exact.start, exact.end) == (start, end)
    reading = read_range(words, now=moment, zone=zone, week_start=week_start)
    if reading.range != exact:
        assert start is not None
        assert end is not None
        margin = (timedelta(hours=1) - (end - start)) / 2
        assert reading.range == TimeRange(start - margin, end + margin), "a moment is an hour"
    assert reading.words == words
    assert reading.span == (0, len(words))
    assert reading.said.startswith(f"{words}: ")


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_without_a_time_has_none(sentence: str) -> None:
    now = datetime(2026, 11, 22, 11, tzinfo=UTC)
    assert find_range(sentence, now=now, zone="Europe/Berlin") is None


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("what did we decide last Friday about caching", "last Friday"),
        ("What happened yesterday?", "yesterday"),
        ("the budget of March 2023, please", "March 2023"),
        ("what changed in 2024?", "2024"),
        ("which bugs did we fix in the past 10 days", "the past 10 days"),
        ("what did Alice say in May about tea", "May"),
        ("everything since March that mentions Bob", "since March"),
        ("notes between March and May 2024 on hiring", "between March and May 2024"),
        ("where was I last night", "last night"),
        ("did we meet on the 15th of last month", "the 15th of last month"),
        ("the call on Friday at 3 pm with Bob", "Friday at 3 pm"),
        ("what was on my mind two weeks ago", "two weeks ago"),
        ("May 4th was a good day", "May 4th"),
        ("the party on may 4", "may 4"),
        ("our trip in summer 2024 to Rome", "summer 2024"),
        ("emails from last week", "from last week"),
        ("what did April say in June", "June"),
        ("the last Friday of March", "the last Friday of March"),
        ("what did we ship in the first week of June?", "the first week of June"),
        ("it broke half an hour ago", "half an hour ago"),
        ("what I said earlier today please", "earlier today"),
        ("我们半年前决定了什么", "半年前"),
        ("三月第一周的会议", "三月第一周"),
        ("最近半年的笔记", "最近半年"),
        ("the talk of last week in Berlin", "last week"),
        ("on Friday the 13th", "Friday the 13th"),
        ("yesterday's meeting", "yesterday"),
        ("log of 2026-11-20T14:30 please", "2026-11-20T14:30"),
        ("yesterday I said that yesterday was fine", "yesterday"),
        ("我们上周决定了什么", "上周"),
        ("去年三月的会议记录", "去年三月"),
        ("三天前我说了什么", "三天前"),
        ("昨天晚上的讨论", "昨天晚上"),
        ("三月会议的结论", "三月"),
        ("我们在三月和五月之间做了什么", "在三月和五月之间"),
        ("where did we meet last winter in Oslo", "last winter"),
        ("what happened from 5 to 10 March 2024", "from 5 to 10 March 2024"),
        ("the retreat of March 3-5, 2024", "March 3-5, 2024"),
        ("the call between 2 and 4 pm yesterday", "between 2 and 4 pm yesterday"),
        ("who came in March '24", "March '24"),
        ("the report of the week ending June 14", "the week ending June 14"),
        ("what did I eat every day last week", "last week"),
        ("we meet every Friday, what was it last week", "last week"),
        ("三天前提到的那本书", "三天前"),
        ("三天前面试了谁", "三天前"),
        ("是不是昨天说的", "昨天"),
        ("昨晚8:30的电话", "昨晚8:30"),
        ("去年初中毕业", "去年"),
        ("the mornings in March", "March"),
        ("what did we do every Monday in June 2025", "June 2025"),
        ("we met once a week in June", "June"),
        ("去年底层重构", "去年"),
        ("who rang at quarter past nine yesterday", "quarter past nine yesterday"),
        ("who came at half past nine yesterday evening", "half past nine yesterday evening"),
        ("we met at 5 yesterday afternoon", "5 yesterday afternoon"),
        ("we met at half past two yesterday", "half past two yesterday"),
        ("we raised the limit from 5 to 10 this morning", "this morning"),
        ("we won ten to nine yesterday evening", "yesterday evening"),
        ("we met between nine and eleven this morning", "this morning"),
        (
            "from half past nine to eleven this morning",
            "from half past nine to eleven this morning",
        ),
        ("I met Bill Nye on Monday", "Monday"),
        ("where were we at NYE", "NYE"),
        ("what happened in the last week?", "the last week"),
        ("what did I say two weeks back?", "two weeks back"),
        ("what did I do in the month of March?", "the month of March"),
        ("what was decided in Q1-Q2 2025", "Q1-Q2 2025"),
        ("the report of 20240305", "20240305"),
        ("I was in Rome from Monday to Friday", "from Monday to Friday"),
        ("on March first we slept", "March first"),
        ("In March first we slept", "March"),
        ("What did I do last Christmas?", "last Christmas"),
        ("Where were we on Christmas Eve?", "Christmas Eve"),
        ("on Christmas morning we slept", "Christmas morning"),
        ("where did we go for Christmas 2023", "Christmas 2023"),
        ("What have I done since Christmas?", "since Christmas"),
        ("what did I get for Christmas last year", "Christmas last year"),
        ("the party on New Year's Eve 2022 in Rome", "New Year's Eve 2022"),
        ("去年圣诞节我们在哪里", "去年圣诞节"),
        ("在国庆节那天", "国庆节"),
        ("今年五一我们去了哪里", "今年五一"),
        ("去年国庆期间去了哪里", "去年"),
        ("去年圣诞树多高", "去年"),
        ("去年三月五日前完成的任务", "去年三月五日前"),
        ("上周五前女友来了", "上周五"),
        ("昨天下午三点二十五个人开会", "昨天下午三点"),
        ("今天三点的会", "今天三点"),
    ],
)
def test_a_time_within_a_sentence_is_found_with_its_place(sentence: str, words: str) -> None:
    now = datetime(2026, 11, 22, 11, tzinfo=UTC)
    reading = find_range(sentence, now=now, zone="Europe/Berlin")
    assert reading is not None
    assert reading.words == words
    start, end = reading.span
    assert sentence[start:end] == words
    assert reading.range == read_range(words, now=now, zone="Europe/Berlin").range


def test_a_sentence_with_two_times_says_neither() -> None:
    now = datetime(2026, 11, 22, 11, tzinfo=UTC)
    assert find_range("was it last week or last month", now=now, zone="UTC") is None


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("tea", "no time is recognised"),
        ("Labour Day", "differs between countries"),
        ("圣诞节前三天", "no time is recognised"),
        ("New Year's Eve at midnight", "cannot be read"),
        ("midnight on Christmas Eve", "cannot be read"),
        ("昨晚两点", "the night before or after"),
        ("a week ago Friday", "it may be a day of that week"),
        ("20241305", "no time is recognised"),
        ("2024-03-05/2024-03-03", "ends before it begins"),
        ("last", "no time is recognised"),
        ("the last three Mondays", "no time is recognised"),
        ("half a week ago", "no time is recognised"),
        ("over a year ago", "no time is recognised"),
        ("the last 40 days of June", "it does not have that many"),
        ("yesterday 14:00-25:00", "no time 25:00"),
        ("the fifth Friday of February 2026", "it does not have that many"),
        ("the sixth week of March", "no such day"),
        ("Thursday, 20 November 2026", "is not understood"),
        ("yesterday yesterday", "'yesterday' is not understood"),
        ("03/04/2026", "may be day and month"),
        ("the 20s", "'20s' is not understood|no time is recognised"),
        ("二十年代", "no time is recognised"),
        ("30 February", "has no day 30"),
        ("2026-02-30", "day"),
        ("13pm", "1 to 12"),
        ("25:10", "hour"),
        ("99999 years ago", "outside the years"),
        ("999999999 days ago", "outside the years"),
        ("2026-11-22 to 2026-11-20", "ends before it begins"),
        ("now", "ends before it begins"),
        ("三月前", "no time is recognised"),
        ("十三月", "no month 13"),
        ("2 am on 29 March 2026", "an hour that the clocks leap over"),
        ("last week " * 30, "the limit is 200"),
        ("yesterday 15:00 IST", "'IST' is the zone of no region for sure: write UTC"),
        ("what we said on Monday 3.5", "no time is recognised"),
        ("yesterday 14:00 +1", "is not understood"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(words: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        read_range(words, now=datetime(2026, 11, 22, 11, tzinfo=UTC), zone="Europe/Berlin")


def test_a_moment_without_a_zone_or_an_unknown_week_start_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no time zone"):
        read_range("today", now=datetime(2026, 11, 22), zone="UTC")  # noqa: DTZ001
    with pytest.raises(InvalidInput, match="friday"):
        read_range("today", now=datetime(2026, 11, 22, tzinfo=UTC), zone="UTC", week_start="friday")
    with pytest.raises(InvalidInput, match="Nowhere"):
        read_range("today", now=datetime(2026, 11, 22, tzinfo=UTC), zone="Nowhere/Land")


def test_hours_are_counted_the_same_from_a_moment_in_any_zone() -> None:
    now = datetime(2026, 11, 1, 15, tzinfo=ZoneInfo("America/New_York"))
    readings = [
        read_range("the last 24 hours", now=moment, zone="America/New_York")
        for moment in (now, now.astimezone(UTC))
    ]
    assert readings[0] == readings[1]
    assert readings[0].range.start == now.astimezone(UTC) - timedelta(hours=24)


def test_without_a_zone_the_machine_s_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.fromisoformat("2026-03-29T12:00+02:00")
    reading = read_range("today", now=now, zone=None)
    local = now.astimezone()
    first = datetime(local.year, local.month, local.day).astimezone()
    assert reading.range.start == first
