"""Whatever the range and whatever the text: reading gives the range back, or the one error."""

from __future__ import annotations

import cProfile
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import InvalidInput, TimeRange, find_range, format_range, read_range
from infinite_memory.times import sentences
from infinite_memory.times.calendar import calendar_at
from infinite_memory.times.tokenizer import Cursor, tokenize
from tests.harness.costs import count_calls

NOW = datetime(2026, 11, 22, 11, tzinfo=UTC)
ZONES = st.sampled_from(
    [
        *("Europe/Berlin", "America/New_York", "Asia/Shanghai", "Australia/Lord_Howe"),
        *("Asia/Kathmandu", "America/Sao_Paulo", "Africa/Cairo", "Pacific/Apia", "UTC"),
    ]
)
MOMENTS = st.datetimes(timezones=st.just(UTC))
NEAR = st.datetimes(
    datetime(2026, 3, 28),  # noqa: DTZ001
    datetime(2026, 11, 3),  # noqa: DTZ001
    timezones=st.just(UTC),
)


@st.composite
def ranges(draw: st.DrawFn) -> TimeRange:
    start, end = draw(st.one_of(st.tuples(MOMENTS, MOMENTS), st.tuples(NEAR, NEAR)))
    if start == end:
        end = start + timedelta(microseconds=1) if start.year < 9999 else None
    elif start > end:
        start, end = end, start
    return TimeRange(draw(st.sampled_from([start, None])), draw(st.sampled_from([end, None])))


@given(stretch=ranges(), zone=ZONES, other=ZONES)
def test_a_range_that_is_written_and_read_is_the_same(
    stretch: TimeRange, zone: str, other: str
) -> None:
    written = format_range(stretch, zone)
    assert read_range(written, now=NOW, zone=other).range == stretch
    assert format_range(stretch, zone) == written


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Tokyo", "America/New_York"])
def test_the_first_and_the_last_moment_there_are_can_be_written(zone: str) -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    for stretch in (TimeRange(first, last), TimeRange(None, first), TimeRange(last, None)):
        assert read_range(format_range(stretch, zone), now=NOW, zone=zone).range == stretch


WORDS = st.sampled_from(
    "last next this past two 3 99999999 week days ago in on at of the since until before between"
    " and from to March may Friday sun 2024 0000 9999 31 2026-11-20 00:00 24:00 3pm Q2 H1 W12 now"
    " end early mid- night 15th , - – ' 's 去年 上 下 个 三 十 月 日 号 点 半 周 天 前 后 到 从 在"
    " 的 之间 初 底 第 季度 下午 零 ０ ： \x00 \ud800 İ ſ ² ٣"
    " half past quarter o'clock evening back 9 Christmas Eve New Year's 20240305 Q1-Q2 圣诞节 国庆"
    " 五 一 时 晚上".split(" ")
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(WORDS, max_size=12).map(" ".join),
    st.lists(WORDS, max_size=12).map("".join),
)
MOMENTS_OF_SPEAKING = st.one_of(MOMENTS, st.just(NOW))


@given(text=TEXTS, now=MOMENTS_OF_SPEAKING, zone=ZONES)
def test_no_text_raises_anything_but_the_documented_error(
    text: str, now: datetime, zone: str
) -> None:
    with suppress(InvalidInput):
        start, end = read_range(text, now=now, zone=zone).span
        assert 0 <= start < end <= len(text)
    with suppress(InvalidInput):
        found = find_range(text, now=now, zone=zone)
        assert found is None or 0 <= found.span[0] < found.span[1] <= len(text)


@given(text=TEXTS, zone=ZONES)
def test_no_sentence_is_refused_in_our_days(text: str, zone: str) -> None:
    found = find_range(text, now=NOW, zone=zone)
    assert found is None or text[found.span[0] : found.span[1]].strip()


@given(text=TEXTS)
def test_tokens_stand_in_order_and_show_the_text(text: str) -> None:
    end = 0
    for token in tokenize(text):
        assert end <= token.start < token.end
        assert text[token.start : token.end].translate({}) == text[token.start : token.end]
        end = token.end
    assert end <= len(text)


HOSTILE = [
    *(
        "march ",
        "may ",
        "2024 ",
        "1",
        "1 ",
        "a",
        "a-",
        "a.",
        "a-1.",
        "2024-",
        "2024/",
        "12:",
        "'s ",
    ),
    *("early ", "the ", "the end of ", "between ", "between march and ", "from ", "since "),
    *("last ", "last last ", "two ", "twenty-", "of ", ",", "- ", " ", "\n", "\x00", "\ud800"),
    *("三", "月", "三月", "上", "上个", "第", "从", "在", "到", "三月到", "的", "十", "三十"),
    *("Q2 ", "Q2-", "2024-Q", "+01:00", "2026-11-20T", "2026-11-20T14:30:05.123456", "p.m."),
    *("3-5 ", "March 3-5", "2 to ", "3-5月", "24h", "'24 ", "every ", "Jan-", "first 10 days of "),
    *("1st ", "3pm", "é", "aé", "İ", "１", "mid-", "Nov. ", "in 3 days "),
    *("half past ", "quarter to nine ", "at 9 ", "9 to ", "@ "),
    # Thousands of clauses, each with a time of day: the reading takes half a minute.
    pytest.param("Monday at 9 in the evening ", marks=pytest.mark.slow("time-expressions")),
    *(
        "Christmas ",
        "New Year's ",
        "last Christmas Eve ",
        "圣诞节",
        "去年国庆",
        "五一",
        "三点",
        "三点到",
    ),
    *(
        "20240305 ",
        "Q1-",
        "Q1-Q2 ",
        "2024-1-1",
        "9.30am ",
        "twenty-first ",
        "the last ",
        "the first of ",
    ),
]


def count_reading(text: str) -> int:
    """Return how many Python calls the reading of `text` takes: unlike a time, it never varies."""
    return count_calls(lambda: find_range(text, now=NOW, zone="Europe/Berlin"), builtins=False)


@pytest.mark.parametrize("piece", HOSTILE, ids=ascii)
def test_a_long_text_takes_as_much_longer_as_it_is_longer(piece: str) -> None:
    find_range(piece, now=NOW, zone="Europe/Berlin")  # Compiles the patterns, once for all texts.
    # Pieces differ by a factor of thousands: as much text as some 15,000 calls read.
    # An even number, since 月月 is one word.
    repeats = 2 * max(1, min(15_000 // count_reading(piece), 1_000 // len(piece)) // 2)
    short, middle, long = (count_reading(piece * repeats * times) for times in (1, 2, 4))
    # The second step adds twice as much text as the first; in quadratic code, four times the calls.
    assert long - middle <= 2.05 * (middle - short) + 100


def test_a_text_beyond_the_limit_is_refused_unread() -> None:
    calls = count_reading("March")
    profile = cProfile.Profile(builtins=False)
    with profile, pytest.raises(InvalidInput, match="the limit is 200"):
        read_range("march " * 1_000_000, now=NOW, zone="Europe/Berlin")
    assert sum(entry.callcount for entry in profile.getstats()) < calls


# The words of all examples, and of the tables of the reader.
FILES = [
    *Path(__file__).parent.glob("*.txt"),
    *Path(sentences.__file__).parent.glob("*.py"),
]
UNTELLING = sorted(
    {
        word
        for path in FILES
        for word in re.findall(r"[A-Za-z]+", path.read_text("utf-8"))
        if not sentences.may_name_time(word)
    }
)


@given(words=st.lists(st.sampled_from(UNTELLING), min_size=1, max_size=8))
def test_without_a_telling_word_no_time_is_read(words: list[str]) -> None:
    sentence = " ".join(words)
    assert not sentences.may_name_time(sentence)
    cursor = Cursor(tokenize(sentence), calendar_at(NOW, "Europe/Berlin", "monday"))
    assert sentences.find_in_sentence(sentence, cursor) is None
