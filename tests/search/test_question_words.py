"""The words of a question: function words of its language count little, common names not at all."""

import numpy as np
import pytest

from infinite_memory import MemoryStore
from infinite_memory.search.text.analyzer import terms
from infinite_memory.search.text.question_terms import split_terms


@pytest.mark.parametrize(
    ("question", "telling", "minor"),
    [
        ("Wo ist der Schlüssel für das Rad?", ["schlussel"], "ist"),
        ("dónde está la llave del coche", ["coch"], "la"),
        ("什么时候开会", ["开"], "什么"),
        ("where is the harbour", ["harbor"], None),
    ],
)
def test_function_words_of_the_language_are_told_apart(
    question: str, telling: list[str], minor: str | None
) -> None:
    kept, idle = split_terms(question)
    assert set(telling) <= set(kept)
    assert set(kept) | set(idle) == set(terms(question))
    assert not set(kept) & set(idle)
    assert idle == [] if minor is None else minor in idle


@pytest.mark.parametrize("question", ["什么", "der die das", "", "?!"])
def test_a_question_of_function_words_alone_keeps_them(question: str) -> None:
    assert split_terms(question) == (terms(question), [])


def test_japanese_is_not_cut_by_the_chinese_dictionary() -> None:
    assert split_terms("会議は何時ですか")[1] == []


class _Recorder:
    """Embeds every text as one vector and records the questions."""

    model = "recorder-1"
    dimensions = 4
    background = 0.0

    def __init__(self) -> None:
        self.questions: list[str] = []

    def embed(self, texts: list[str]) -> np.ndarray:
        return np.tile(np.array([1, 0, 0, 0], np.float32), (len(texts), 1))

    def embed_query(self, text: str) -> np.ndarray:
        self.questions.append(text)
        return np.array([1, 0, 0, 0], np.float32)


@pytest.mark.parametrize(
    ("texts", "question", "embedded"),
    [
        ([f"hey Audrey, note {n}" for n in range(9)], "What does Audrey eat?", "What does eat?"),
        ([f"Audrey: note {n}" for n in range(9)], "What does Audrey eat?", None),
        ([f"hey Audrey, note {n}" for n in range(3)], "What does Audrey eat?", None),
        ([f"back on Monday, note {n}" for n in range(9)], "What is on Monday?", None),
        ([f"hey Audrey, note {n}" for n in range(9)], "Audrey", None),
        ([f"mein Haus Nummer {n}" for n in range(9)], "Wo ist der Schlüssel für das Haus?", None),
    ],
)
def test_the_embedded_question_leaves_out_names_that_many_memories_hold(
    texts: list[str], question: str, embedded: str | None
) -> None:
    embedder = _Recorder()
    with MemoryStore.open("memory://", embedder=embedder) as store:
        store.remember_many([{"text": text} for text in texts])
        store.search(question)
    assert embedder.questions[0] == (embedded or question)
