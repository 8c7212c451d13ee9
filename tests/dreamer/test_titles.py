"""The titles of topic summaries: phrases that stand in the texts and tell them apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory.features.background.dreamer.topics.titles import (
    MAX_TITLE_CHARS,
    make_title,
    read_phrases,
)
from infinite_memory.search.text.analyzer import terms


def count_nothing(phrase: str) -> tuple[int, int]:
    return 0, 100


def test_a_title_names_what_the_memories_share() -> None:
    texts = [
        "We take the ferry to Lyon on Friday.",
        "The ferry to Lyon was late, so the office lease was signed without me.",
        "Office lease: the landlord in Lyon wants three months in advance.",
    ]
    assert make_title(texts, count_nothing) == "Lyon, office lease"


def test_a_word_that_the_whole_scope_has_is_no_title() -> None:
    texts = ["Budget of the harbour crane", "The harbour crane squeaks, budget or not", "Crane"]
    counts = {"budget": 95, "harbour crane": 2, "harbour": 2, "crane": 3}
    title = make_title(texts, lambda phrase: (counts[phrase.lower()], 100))
    assert title == "Harbour crane"


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        (
            ["外婆爱听越剧，尤其是《追鱼》", "越剧票买了两张", "明天看越剧，外婆也去"],
            "越剧、外婆",
        ),
        (
            [
                "Die Heizung im Keller tropft",
                "Der Keller ist feucht",
                "Heizung im Keller entlüftet",
            ],
            "Heizung im Keller",
        ),
        (
            ["El taller de encuadernación abre a las diez", "La prensa del taller es de 1911"],
            "Taller",
        ),
        (["The Bank of England called", "Bank of England: rates are up"], "Bank of England"),
        (["Fix parse_url in src/app.py", "parse_url fails on ports"], "parse_url"),
        (["pg_dump of the museum", "Run pg_dump now"], "pg_dump"),
        (["well-known baker", "The well-known baker"], "Well-known baker"),
        (["ok", "Thanks!", "12.5"], ""),
        ([], ""),
    ],
)
def test_titles_of_several_languages(texts: list[str], title: str) -> None:
    assert make_title(texts, count_nothing) == title


def test_the_names_of_the_speakers_are_no_title() -> None:
    texts = ["Melanie, the pottery class was fun", "Pottery again, Melanie?"]
    assert make_title(texts, count_nothing, ignored=terms("Melanie")) == "Pottery"


def test_the_first_word_of_a_sentence_is_no_name_for_its_capital() -> None:
    first, *_ = read_phrases("Painting calms me. Ask Ada about painting.")
    assert (first.text, first.begins_sentence) == ("Painting", True)
    names = {phrase.text for phrase in read_phrases("I met Ada. Painting is fun") if phrase.is_name}
    assert names == {"Ada", "Painting"}
    assert [
        phrase.text
        for phrase in read_phrases("I met Ada. Painting is fun")
        if phrase.is_name and not phrase.begins_sentence
    ] == ["Ada"]


@given(st.text(max_size=300))
def test_phrases_stand_in_the_text(text: str) -> None:
    for phrase in read_phrases(text):
        assert phrase.text in text
        assert 1 <= phrase.words <= 4


@given(st.lists(st.text(max_size=200), max_size=6), st.integers(0, 10), st.integers(0, 10))
def test_a_title_is_short_and_the_same_each_time(texts: list[str], held: int, total: int) -> None:
    title = make_title(texts, lambda _: (held, total))
    assert len(title) <= MAX_TITLE_CHARS + 2
    assert title == make_title(texts, lambda _: (held, total))
