"""The titles of topic summaries: the sentence that speaks most of what the memories share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.features.background.dreamer.topics.titles import (
    MAX_TITLE_CHARS,
    choose_title,
)
from infinite_memory.search.text.analyzer import terms


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        (
            [
                "We take the ferry to Lyon on Friday.",
                "The ferry to Lyon was late, so the lease was signed without me.",
                "Hotels near the ferry are full.",
            ],
            "We take the ferry to Lyon on Friday",
        ),
        (
            ["外婆爱听越剧，尤其是《追鱼》。", "越剧票买了两张。", "明天看越剧，外婆也去。"],
            "明天看越剧，外婆也去",
        ),
        (["Die Heizung im Keller tropft.", "Der Keller ist feucht.", "Heizung im Keller entlüftet"],
         "Heizung im Keller entlüftet"),
        (["...", "?!"], ""),
        ([], ""),
    ],
)  # fmt: skip
def test_a_title_is_the_sentence_that_shares_most_with_the_others(
    texts: list[str], title: str
) -> None:
    assert choose_title(texts) == title


def test_speakers_count_nothing() -> None:
    texts = ["Melanie, thanks! Melanie!", "Melanie made a bowl.", "The bowl of Melanie broke."]
    assert "bowl" in choose_title(texts, ignored=terms("Melanie"))


@given(st.lists(st.text(max_size=400), max_size=4))
def test_any_texts_have_a_title_of_a_line(texts: list[str]) -> None:
    title = choose_title(texts)
    assert len(title) <= MAX_TITLE_CHARS
    assert "\n" not in title
