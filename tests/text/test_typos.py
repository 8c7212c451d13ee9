"""A typing error is told from another name, strictly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.search.text.typos import differs_by_typo, find_near_names


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("apollo", "apolo"),
        ("apollo", "appollo"),
        ("apollo", "aopllo"),
        ("apollo", "apollp"),
        ("apollo", "appolo"),
        ("kubernetes", "kuberntse"),
        ("infrastructure", "infrastucturre"),
        ("日本語資料集", "日本語資料收"),
    ],
)
def test_few_edits_of_a_long_word_are_a_typing_error(first: str, second: str) -> None:
    assert differs_by_typo(first, second, two_edits_from=9)
    assert differs_by_typo(second, first, two_edits_from=9)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("apollo", "apollo"),
        ("work", "wark"),
        ("north", "south"),
        ("apollo", "aplo"),
        ("apollo1", "apollo2"),
        ("room11", "room1"),
        ("apollo", "apollo2"),
        ("client12", "client21"),
        ("backend", "frontend"),
        ("alphabet", "alphabetic"),
    ],
)
def test_other_words_and_other_digits_are_none(first: str, second: str) -> None:
    assert not differs_by_typo(first, second, two_edits_from=9)


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("apolo", ["home", "Apollo", "Global"], ["Apollo"]),
        ("project-apolo", ["Project Apollo"], ["Project Apollo"]),
        ("project_apollo", ["Project Apollo"], ["Project Apollo"]),
        ("projectapollo", ["project-apollo"], ["project-apollo"]),
        ("Globl", ["Global"], ["Global"]),
        ("team-a", ["team-b"], []),
        ("team-alpha", ["tema-alpha"], []),
        ("projct-apolo", ["project-apollo"], []),
        ("phase 1", ["phase 2", "phase"], []),
        ("v1.2-notes", ["v1.3-notes"], []),
        ("2024-invoices", ["2025-invoices"], []),
        ("apollo-beta", ["apollo"], []),
        ("x", [], []),
        ("--", ["apollo"], []),
    ],
)
def test_a_near_name_differs_in_one_part_by_a_typing_error(
    name: str, known: list[str], near: list[str]
) -> None:
    assert find_near_names(name, known) == near


@given(st.text("abcde12", max_size=9), st.text("abcde12", max_size=9))
def test_the_order_of_the_two_words_does_not_matter(first: str, second: str) -> None:
    forth = differs_by_typo(first, second, two_edits_from=8)
    assert forth == differs_by_typo(second, first, two_edits_from=8)


@given(st.text("abcdefgh", min_size=6, max_size=12), st.data())
def test_every_single_edit_is_recognised(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 2))
    edited = data.draw(
        st.sampled_from(
            [
                word[:at] + word[at + 1 :],
                word[:at] + "z" + word[at:],
                word[:at] + "z" + word[at + 1 :],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            ]
        )
    )
    assert differs_by_typo(word, edited, two_edits_from=99) == (edited != word)
