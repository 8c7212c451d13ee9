"""What is said of a day is said of another one on another day."""

from __future__ import annotations

import pytest

from infinite_memory.search.text.relative_time import is_relative


@pytest.mark.parametrize(
    "text",
    [
        *("Bob flies today", "TOMORROW we ship", "it broke yesterday", "dinner tonight"),
        *("this morning", "next week", "last Friday", "two days ago", "in an hour", "in 3 months"),
        *("it is currently down", "just now", "next time", "this weekend", "see you tommorow"),
        *("next June", "last Christmas", "3 days from now", "in half an hour", "a couple of weeks"),
        *("within 3 days", "within five days", "this sprint", "I now live", "next Tues", "See Fri"),
        *("We meet on Friday", "monday: standup", "We meet every Friday", "Termin morgen um 9"),
        *("明天开会", "他昨天来了", "上周", "下个月", "今晚", "目前没有", "周五开会", "星期天休息"),
        *("三天后", "两周后", "十天前", "一个月后", "半小时后", "下个礼拜", "来年", "每周一开会"),
        *("明日は休み", "Встреча завтра", "hẹn gặp ngày mai"),
    ],
)
def test_words_of_time_mean_the_moment_at_which_they_are_said(text: str) -> None:
    assert is_relative(text)


@pytest.mark.parametrize(
    "text",
    ["the deadline is June 5", "Customer data", "", "a dayan", "10:30", "我喜欢喝茶", "“a” – b"],
)
def test_other_texts_mean_the_same_at_every_moment(text: str) -> None:
    assert not is_relative(text)
