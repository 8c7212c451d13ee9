"""Questions of several sentences: each is compared by itself as well as the whole."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_memory import MemoryStore
from infinite_memory.search.sentences import MOST_SENTENCES, split_sentences
from infinite_memory.search.text.analyzer import terms
from infinite_memory.testing.embedders import HashingEmbedder

EMBEDDER = HashingEmbedder()


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Where is the harbour?", ()),
        ("How are you? Where is the harbour?", ()),
        ("Tea is ready. Where is v1.2?", ("Tea is ready.", "Where is v1.2?")),
        ("茶好了。港口的地图在哪里？", ("茶好了。", "港口的地图在哪里？")),
        ("TypeError\nin the harbour", ("TypeError", "in the harbour")),
        ("", ()),
        ("?!", ()),
    ],
)
def test_the_parts_are_the_sentences_with_a_word_to_find(
    question: str, parts: tuple[str, ...]
) -> None:
    assert split_sentences(question) == parts


@given(
    st.lists(st.sampled_from(["Tea.", "Harbour lights!", "How are you?", "船来了。"]), max_size=60)
)
def test_no_word_is_lost_and_the_parts_are_few(sentences: list[str]) -> None:
    question = " ".join(sentences)
    parts = split_sentences(question)
    assert len(parts) <= MOST_SENTENCES
    assert len(parts) != 1
    if parts:
        assert [term for part in parts for term in terms(part)] == terms(question)
        assert all(map(terms, parts))


TEXTS = {
    "hello": "hello dear friend lovely day",
    "again": "hello dear friend lovely to see you again",
    "thanks": "hello dear friend thanks for the lovely day",
    "wanted": "cello lessons with Anna on Monday",
    "other": "the harbour lights",
}
QUESTION = "Hello dear friend. A lovely day it is. What of cello lessons with Anna?"
MEANING: dict[str, Any] = {"arms": ["meaning"], "threshold": 0}


def test_each_sentence_counts_by_how_much_nearer_than_the_mean_a_memory_is(
    store: MemoryStore,
) -> None:
    for memory_id, text in TEXTS.items():
        store.remember(text, id=memory_id)
    hits = store.search(QUESTION, explain=True, **MEANING)
    vectors = EMBEDDER.embed([TEXTS[hit.memory.id] for hit in hits])
    # What matches in no way is no candidate.
    whole = vectors @ EMBEDDER.embed_query(QUESTION)
    by_part = vectors @ EMBEDDER.embed(split_sentences(QUESTION)).T
    by_part += whole.mean() - by_part.mean(axis=0)
    gained = (by_part.max(axis=1) - whole) / 2
    for hit, cosine, gain in zip(hits, whole, gained, strict=True):
        one = hit.explanation
        assert one is not None
        assert one.cosine == pytest.approx(cosine, abs=2e-3)
        assert one.sentences == pytest.approx(max(gain, -cosine), abs=2e-3)
        assert store.why_not(QUESTION, hit.memory.id, **MEANING).explanation == one
    assert hits[0].memory.id == "wanted"
    without_step = max(zip(whole, hits, strict=True), key=lambda pair: pair[0])[1]
    assert without_step.memory.id == "hello"


def test_a_question_of_one_sentence_is_compared_as_it_stands(store: MemoryStore) -> None:
    for memory_id, text in TEXTS.items():
        store.remember(text, id=memory_id)
    for hit in store.search("any cello lessons with Anna today?", explain=True, **MEANING):
        assert hit.explanation is not None
        assert hit.explanation.sentences == 0
    for hit in store.search(QUESTION, explain=True, arms=["words"], threshold=0):
        assert hit.explanation is not None
        assert hit.explanation.sentences == 0
