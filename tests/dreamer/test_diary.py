"""The words that the diary says two memories have in common."""

from __future__ import annotations

import pytest

from infinite_memory.features.background.dreamer.diary import list_common_words


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        ("The ferry leaves at ten", "Two ferries to Bergen", ("ferry",)),
        ("in a house of 12 rooms", "the houses 12 and a", ("house",)),
        ("里昂的办公室租约六月到期", "我们五月把办公室搬到里昂", ("办公室", "里昂")),
        ("The ferry 里昂", "里昂 ferries", ("ferry", "里昂")),
        ("walnuts", "a marathon", ()),
    ],
)
def test_words_in_common_are_those_that_say_something(
    first: str, second: str, common: tuple[str, ...]
) -> None:
    assert list_common_words(first, second) == common


def test_of_many_words_the_longest_five_are_said() -> None:
    text = "ferry cabin harbour departure passenger lighthouse"
    assert list_common_words(text, text) == (
        "lighthouse",
        "departure",
        "passenger",
        "harbour",
        "ferry",
    )
