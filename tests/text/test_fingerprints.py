"""Texts that say the same have one fingerprint; any other word, number or sign makes another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.text.fingerprints import fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alice likes tea.", "alice  likes tea"),
        ("“Alice likes tea!”", "Alice likes tea"),
        ("ＴＥＡ at 5", "tea at 5"),
        ("我喜欢茶。", "我喜欢茶"),
        (" a\n\tb ", "A b"),
    ],
)
def test_case_spacing_width_and_punctuation_do_not_count(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the deadline is June 5", "the deadline is June 6"),
        ("it is -5 degrees", "it is 5 degrees"),
        ("we use C++", "we use C"),
        ("version 3.2", "version 32"),
        ("Alice paid Bob", "Bob paid Alice"),
        ("I like tea", "you like tea"),
        ("he does like it", "he does not like it"),
        ("50 % of it", "50 of it"),
        ("!!!", "???"),
        ("", "."),
    ],
)
def test_whatever_may_change_the_meaning_makes_another(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


@given(st.text())
def test_a_fingerprint_is_its_own(text: str) -> None:
    assert fingerprint(fingerprint(text)) == fingerprint(text)
