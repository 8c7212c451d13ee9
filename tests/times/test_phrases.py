"""Times as people say them: the smallest range that holds every sensible meaning."""

from __future__ import annotations

from datetime import datetime

import pytest

from benchmarks.times import NOW, ZONE, Phrase, holds, read_phrases
from infinite_memory import InvalidInput, find_range, read_range
from infinite_memory.times.parser import read_exactly

PHRASES = list(read_phrases())
# Refused although they have a range: their grammar is not known.
UNKNOWN = frozenset(
    {
        *("third tuesday after christmas 2014", "after lunch", "8am until 6"),
        "later than 9:30 but before 11:00 on Thursday",
        *("今年前五个月", "零六年端午", "三个多月以来"),
    }
)


def test_the_table_holds_200_phrases() -> None:
    assert len({phrase.words for phrase in PHRASES}) == len(PHRASES) == 200


@pytest.mark.parametrize("phrase", PHRASES, ids=[phrase.words for phrase in PHRASES])
def test_the_reading_holds_every_sensible_meaning_or_is_refused_with_a_way_out(
    phrase: Phrase,
) -> None:
    if phrase.expected is None or phrase.words in UNKNOWN:
        with pytest.raises(InvalidInput, match="write one such as"):
            read_range(phrase.words, now=NOW, zone=ZONE)
    else:
        reading = read_range(phrase.words, now=NOW, zone=ZONE)
        assert holds(reading.range, phrase.expected), reading.said


@pytest.mark.parametrize(
    "spellings",
    [
        *(("yesterday at 9", "yesterday at 9:00"), ("yesterday at 9 o'clock", "yesterday at nine")),
        *(
            ("yesterday at 9", "yesterday at 9 o'clock"),
            ("昨天九点", "昨天9点"),
            ("昨天九点", "昨天9:00"),
        ),
        *(("yesterday at 9", "昨天九点"), ("half past nine yesterday", "yesterday at 9:30")),
        *(("昨天九点半", "yesterday at 9:30"), ("W46", "week 46"), ("a few days ago", "几天前")),
        *(
            ("春节", "Chinese New Year"),
            ("about a month ago", "大约一个月前"),
            ("recently", "最近"),
        ),
    ],
)
def test_a_time_means_the_same_in_every_spelling(spellings: tuple[str, str]) -> None:
    first, second = (read_range(words, now=NOW, zone=ZONE).range for words in spellings)
    assert first == second


@pytest.mark.parametrize("words", ["yesterday at 14:30", "2026-11-20T14:30", "10 minutes ago"])
def test_a_moment_is_the_hour_around_it_except_where_it_has_to_be_exact(words: str) -> None:
    reading = read_range(words, now=NOW, zone=ZONE).range
    exact = read_exactly(words, now=NOW, zone=ZONE)
    assert exact.start is not None
    assert exact.end is not None
    assert reading.start is not None
    assert reading.end is not None
    assert (reading.end - reading.start).total_seconds() == 3600
    assert exact.start - reading.start == reading.end - exact.end


@pytest.mark.parametrize("words", ["recently", "the other day", "notes from last week", "ever"])
def test_where_a_time_has_to_be_exact_vague_words_are_refused(words: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_exactly(words, now=NOW, zone=ZONE, vague=False)


@pytest.mark.parametrize(
    "sentence",
    [
        *("recently we moved", "I lost it the other day", "最近很忙", "all time is borrowed"),
        *("tell me about May", "W46 is the model of the pump", "before you go", "it was soon over"),
        *("the Easter eggs", "a Thanksgiving dinner", "the Labor Day parade"),
    ],
)
def test_vague_words_and_names_are_no_time_within_a_sentence(sentence: str) -> None:
    assert find_range(sentence, now=NOW, zone=ZONE) is None


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ("since I came back on Monday", "since Monday"),
        ("after the meeting last week", "since last week"),
        ("all we said before I moved on Monday", "before Tuesday"),
        ("the mail from Bob on Monday", "on Monday"),
    ],
)
def test_a_bound_at_the_head_of_a_sentence_opens_the_range(words: str, same: str) -> None:
    now = NOW.replace(day=25)
    assert read_range(words, now=now, zone=ZONE).range == read_range(same, now=now, zone=ZONE).range


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("a week from Monday", "2026-11-23", "2026-12-01"),
        ("a week from tomorrow", "2026-11-30", "2026-12-01"),
        ("until Monday", None, "2026-11-17"),
        ("until yesterday", None, "2026-11-22"),
        ("before Monday", None, "2026-11-16"),
        ("from Monday until Friday", "2026-11-16", "2026-11-21"),
        ("by Friday", None, "2026-11-28"),
        ("a couple of weeks back", "2026-10-26", "2026-11-09"),
        ("a year or two ago", "2024-01-01", "2026-01-01"),
        ("two or three days ago", "2026-11-19", "2026-11-21"),
        ("the 1st of the month", "2026-11-01", "2026-11-02"),
        ("YTD", "2026-01-01", "2026-11-22T12:00"),
        ("前一阵子", "2026-05-22", "2026-11-22"),
        ("不久前", "2026-08-22", "2026-11-22T12:00"),
        ("一个多月前", "2026-09-01", "2026-11-01"),
        ("三年多前", "2022-01-01", "2024-01-01"),
        ("十多年前", "2007-01-01", "2017-01-01"),
        ("大年初一", "2026-02-17", "2026-02-18"),
    ],
)
def test_words_with_several_meanings_are_read_as_the_range_that_holds_them(
    words: str, start: str | None, end: str
) -> None:
    reading = read_range(words, now=NOW, zone=ZONE).range
    zone = NOW.tzinfo
    assert reading.end == datetime.fromisoformat(end).replace(tzinfo=zone)
    begin = None if start is None else datetime.fromisoformat(start).replace(tzinfo=zone)
    assert reading.start == begin


@pytest.mark.parametrize("words", ["last time", "last session", "上次", "上一次"])
def test_the_last_time_is_refused_with_the_question_to_ask_instead(words: str) -> None:
    with pytest.raises(InvalidInput, match="What did we talk about last time"):
        read_range(words, now=NOW, zone=ZONE)


@pytest.mark.parametrize("sentence", ["it is due by Friday", "get a week from work", "不久就走"])
def test_a_deadline_or_a_length_alone_is_no_time_within_a_sentence(sentence: str) -> None:
    assert find_range(sentence, now=NOW, zone=ZONE) is None
