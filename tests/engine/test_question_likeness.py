"""Two questions are one if they ask the same, and not if they are merely near."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from infinite_memory import Config
from infinite_memory.engine.retrieval.feedback import QuestionLikeness
from infinite_memory.search.embedding import CheckedEmbedder, configured_embedder

ALIKE = [
    ("which ci do we use", "which CI do we use?"),
    ("microcontroller keeps restarting", "why does the microcontroller restart all the time"),
    ("when is his fencing lesson", "what time is his fencing lesson"),
    ("Who sang the anthem at Super Bowl 50?", "Who did the National Anthem at Super Bowl 50?"),
    ("二月谁生日", "生日谁二月"),
    ("???", "???"),
    ("when and where did Tesla die?", "Where did Tesla die, and when?"),
]
DIFFERENT = [
    ("was invoice 1183 paid", "was invoice 1184 paid"),
    ("How many tackles did Luke Kuechly register?", "How many sacks did Jared Allen have?"),
    ("name of my dentist", "name of my daughter"),
    ("who is Anna", "where is Anna"),
    ("???", "!!!"),
    ("when did Tesla die", "where did Tesla die"),
    ("who won in 1998", "who won"),
    ("二月谁生日", "明天去上海"),
]


@pytest.fixture(scope="module")
def embedder() -> Iterator[CheckedEmbedder]:
    with closing(configured_embedder(Config())) as opened:
        yield CheckedEmbedder(opened)


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_the_same_in_other_words_is_alike(embedder: CheckedEmbedder, one: str, other: str) -> None:
    assert QuestionLikeness(text=one, embedder=embedder).is_like(other)
    assert QuestionLikeness(text=other, embedder=embedder).is_like(one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_asks_something_else_is_not_alike(
    embedder: CheckedEmbedder, one: str, other: str
) -> None:
    assert not QuestionLikeness(text=one, embedder=embedder).is_like(other)
    assert not QuestionLikeness(text=one, embedder=None).is_like(other)


def test_without_a_model_the_words_of_the_subject_must_be_the_same() -> None:
    asked = QuestionLikeness(text="when does the harbour office open", embedder=None)
    assert asked.is_like("Is the harbour office opening?")
    assert not asked.is_like("when does the harbour open")
    assert not QuestionLikeness(text="who is he", embedder=None).is_like("when was that")
    assert not QuestionLikeness(text="tea?", embedder=None).is_like("when is tea")
