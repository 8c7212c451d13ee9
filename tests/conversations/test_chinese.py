"""Chinese in searches and in short-term memory: words are found however a dictionary cuts them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import rjieba

from infinite_memory import MemoryStore
from infinite_memory.search.text.analyzer import fold
from infinite_memory.search.text.word_lists import chinese_stop_words, simplify
from infinite_memory.testing.embedders import HashingEmbedder

HAN = re.compile("[\u4e00-\u9fff]+")
FILE = Path(__file__).parents[1] / "text" / "chinese_sentences.txt"
SENTENCES = [line for line in FILE.read_text("utf-8").splitlines() if line[:1] not in ("", "#")]


def compared(sentence: str) -> str:
    return simplify(fold(sentence))


def words_of_two() -> Iterator[str]:
    """Yield the words of two characters that the dictionary cuts out of the sentences."""
    counts: Counter[str] = Counter()
    for sentence in SENTENCES:
        for run in HAN.findall(compared(sentence)):
            counts.update(word for word in rjieba.cut(run) if len(word) == 2)
    yield from sorted(counts)


WORDS = list(words_of_two())


def holders(word: str) -> set[str]:
    """Return the sentences that hold a word, also inside a longer one and across cuts."""
    return {sentence for sentence in SENTENCES if word in compared(sentence)}


@pytest.fixture
def told(clock: Any) -> Iterator[MemoryStore]:
    """A store with all sentences, each a memory and a short-term memory of one conversation."""
    with MemoryStore.open("memory://", embedder=HashingEmbedder(), clock=clock) as store:
        store.remember_many({"text": sentence} for sentence in SENTENCES)
        yield store


def test_there_are_enough_words_and_sentences() -> None:
    assert len(WORDS) > 500
    assert len(SENTENCES) > 200


@pytest.mark.thorough
def test_a_search_for_a_word_of_two_characters_finds_every_memory_that_holds_it(
    told: MemoryStore,
) -> None:
    missed = {}
    for word in WORDS:
        wanted = holders(word)
        hits = told.search(word, limit=max(10, len(wanted)))
        lost = wanted - {hit.memory.text for hit in hits}
        if lost:
            missed[word] = lost
    assert missed == {}


@pytest.mark.thorough
def test_a_search_of_a_conversation_finds_every_memory_that_holds_a_word(
    told: MemoryStore, clock: Any
) -> None:
    for sentence in SENTENCES:
        told.conversations.add_short_term([{"role": "user", "content": sentence}], "聊天")
    missed = {}
    for word in WORDS:
        wanted = holders(word)
        for how in ({"keywords": [word]}, {"query": word}):
            hits = told.conversations.search("聊天", **how, limit=max(20, len(wanted)))
            lost = wanted - {hit.memory.text.removeprefix("user: ") for hit in hits}
            if lost:
                missed[word, *how] = lost
    assert missed == {}


def cut_differently() -> list[tuple[str, str]]:
    """Return words with the sentences that hold them as a part of longer words, or across cuts."""
    return [
        (word, sentence)
        for word in WORDS
        for sentence in sorted(holders(word))
        if word not in rjieba.cut(compared(sentence)) and word not in chinese_stop_words()
    ]


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        *cut_differently(),
        ("生日", "祝你生日快乐"),
        ("机器", "我在学机器学习"),
        ("猫粮", "买袋猫粮吧"),
        ("ａｐｉ", "我的API key在保险柜里"),
        ("媽媽", "妈妈喜欢百合"),
        ("妈妈", "媽媽喜歡百合"),
    ],
)
def test_a_shared_word_calls_a_memory_to_mind_however_it_was_cut(
    clock: Any, word: str, sentence: str
) -> None:
    said = [{"role": "user", "content": sentence}]
    asked = [{"role": "user", "content": f"说说{word}吧"}]
    with MemoryStore.open("memory://", embedder=HashingEmbedder(), clock=clock) as store:
        store.conversations.add_short_term(said, "长句")
        store.conversations.add_short_term(asked, "短句")
        clock.now += timedelta(hours=1)
        assert store.conversations.search_short_term(asked, "长句").top
        assert store.conversations.search_short_term(said, "短句").top
