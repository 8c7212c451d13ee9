"""What stands for a memory where there is no room for its text."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import Memory

MAY = datetime(2026, 5, 1, tzinfo=UTC)


def heading(text: str, title: str | None = None) -> str:
    return Memory(id="m", text=text, title=title, happened_at=MAY, stored_at=MAY).heading


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ship on Friday", "ship on Friday"),
        ("  ship\n\ton  Friday \n", "ship on Friday"),
        ("word " * 30, "word " * 18 + "word word…"[:9] + "…"),
        ("x" * 200, "x" * 99 + "…"),
        ("x" * 100, "x" * 100),
        ("记忆" * 100, "记忆" * 49 + "记…"),
        ("a" * 98 + "e\u0301" * 9, "a" * 98 + "…"),
        ("a" * 97 + "\U0001f469\u200d\U0001f680" + "b" * 9, "a" * 97 + "…"),
        ("\u0301" * 300, "\u0301" * 49 + "…"),
        ("end" + " " * 5000 + "of it", "end…"),
    ],
)
def test_a_heading_is_the_beginning_of_the_text_cut_between_words(text: str, expected: str) -> None:
    assert heading(text) == expected


def test_a_title_is_the_heading() -> None:
    assert heading("the text", title="The title") == "The title"


@given(st.text(min_size=1).filter(str.strip))
def test_a_heading_is_one_line_of_at_most_100_characters_and_begins_as_the_text(text: str) -> None:
    found = heading(text)
    whole = " ".join(text.split())
    assert 0 < len(found) <= 100
    assert len(found.splitlines()) == 1 or not unicodedata.category(found[0]).startswith("L")
    assert found == whole or (found.endswith("…") and whole.startswith(found[:-1]))
