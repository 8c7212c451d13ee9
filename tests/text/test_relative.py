"""What is said of a day or a week is said of another one on another day."""

from __future__ import annotations

import pytest

from infinite_memory.text.relative import Span, relative_to


@pytest.mark.parametrize(
    "text",
    [
        *("Bob flies today", "TOMORROW we ship", "it broke yesterday", "dinner tonight"),
        *("this morning", "next week", "last Friday", "two days ago", "in an hour", "in 3 months"),
        *("it is currently down", "just now", "next time", "this weekend", "see you tommorow"),
        *("明天开会", "他昨天来了", "上周", "下个月", "今晚", "目前没有"),
    ],
)
def test_words_for_a_day_mean_that_day(text: str) -> None:
    assert relative_to(text) is Span.DAY


@pytest.mark.parametrize("text", ["We meet on Friday", "monday: standup", "周五开会", "星期天休息"])
def test_a_weekday_means_the_one_of_its_week(text: str) -> None:
    assert relative_to(text) is Span.WEEK


@pytest.mark.parametrize(
    "text",
    [
        "We meet every Friday",
        "the deadline is June 5",
        "每周一开会",
        "Customer data",
        "",
        "a dayan",
    ],
)
def test_other_texts_mean_the_same_on_every_day(text: str) -> None:
    assert relative_to(text) is Span.EVER
