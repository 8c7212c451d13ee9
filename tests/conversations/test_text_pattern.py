"""Patterns of texts: words, phrases and regular expressions."""

from __future__ import annotations

import pytest

from infinite_memory import InvalidInput
from infinite_memory.features.chats.text_pattern import read_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("cat", "The CAT sleeps", True),
        ("cat", "education", False),
        ("the cat", "see\nthe  cat.", True),
        ("生日", "今天是我的生日快乐", True),
        ("生日", "昨日", False),
        ("電腦", "我的电脑坏了", True),
        ("ＡＰＩ", "the api key", True),
        ("apple", "买apple吗", True),
        ("café", "a cafe", True),
        ("/rattl(e|ing)/", "it rattles", True),
        ("/RATTL/", "it rattles", False),
        ("/RATTL/i", "it rattles", True),
        ("/^second/", "first\nsecond", False),
        ("/^second/m", "first\nsecond", True),
        ("/first.second/s", "first\nsecond", True),
        ("/first.second/", "first\nsecond", False),
        ("/生日/gu", "今天是我的生日", True),
        ("a/b/c", "the path a/b/c", True),
        ("/", "either / or", True),
    ],
)
def test_a_pattern_matches(pattern: str, text: str, matches: bool) -> None:
    assert read_pattern(pattern)(text) is matches


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("", "give a word"),
        ("   ", "give a word"),
        (None, "give a word"),
        (7, "give a word"),
        ("/(/", "RE2"),
        ("/(?=x)/", "RE2"),
        (r"/(a)\1/", "RE2"),
        ("/x/y", "'y'"),
        ("/" + "x" * 2000 + "/", "1,000 characters"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(pattern: object, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        read_pattern(pattern)


def test_a_hostile_expression_takes_linear_time() -> None:
    matches = read_pattern("/(a+)+$/")
    # `re` takes 2^28 steps for 28 letters, and would not end.
    assert matches("a" * 100_000 + "!") is False
