"""Words of time that stand far into a Chinese sentence, which is one run of characters."""

from __future__ import annotations

from datetime import datetime

import pytest

from infinite_memory import find_range, read_range

NOW = datetime.fromisoformat("2026-11-22T12:00+01:00")
ZONE = "Europe/Berlin"
# 42 characters without a time; those that look most like one are 会议 and 记录.
PADDING = "请根据我们在杭州和上海的多次会议上所做的详细记录，结合团队成员的意见和客户的反馈，"
WORDS = ("过去十八个月", "未来24个月", "十五个月前", "三天前", "去年三月", "昨天晚上", "上周五下午")


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("times", [0, 1, 3, 10, 100])
def test_it_is_found_there_and_means_what_it_means_alone(words: str, times: int) -> None:
    before = PADDING * times + "告诉我"
    reading = find_range(f"{before}{words}的决定", now=NOW, zone=ZONE)
    assert reading is not None
    assert (reading.words, reading.span) == (words, (len(before), len(before) + len(words)))
    assert reading.range == read_range(words, now=NOW, zone=ZONE).range


@pytest.mark.parametrize("words", WORDS)
def test_it_is_found_behind_signs_and_characters_of_other_widths(words: str) -> None:
    before = "😀 Café ＡＢＣ １２ ，" * 20
    reading = find_range(f"{before}{words}？", now=NOW, zone=ZONE)
    assert reading is not None
    assert (reading.words, reading.span[0]) == (words, len(before))


def test_a_long_sentence_without_a_time_has_none() -> None:
    assert find_range(PADDING * 100, now=NOW, zone=ZONE) is None
