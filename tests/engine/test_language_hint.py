from __future__ import annotations

from pathlib import Path

import pytest

from infinite_memory import Config, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

ENGLISH_ALONE = Config(embedder="english")
HINT = "`infinite-memory model use bundled` adds a model for other languages"


@pytest.mark.parametrize("question", ["谁不能吃花生", "wann hat Anna Geburtstag?", "где ключи"])
def test_the_hint_is_given_once_for_each_open_store(tmp_path: Path, question: str) -> None:
    for _ in range(2):
        with MemoryStore.open(tmp_path, config=ENGLISH_ALONE) as store:
            assert store.search("when is the deadline?").note is None
            assert (store.search(question).note or "").endswith(f"; {HINT}")
            assert HINT not in (store.search(question).note or "")


def test_every_answer_by_words_alone_says_to_ask_in_english(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, config=ENGLISH_ALONE) as store:
        for _ in range(2):
            assert "the same question in English may find more" in (store.search("谁").note or "")
        assert store.search("wann hat Anna Geburtstag?").note is None


def test_an_embedder_of_the_callers_own_gets_no_hint(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedder=HashingEmbedder()) as store:
        assert store.search("wann hat Anna Geburtstag?").note is None


@pytest.mark.parametrize("question", ["谁不能吃花生", "wann hat Anna Geburtstag?", "где ключи"])
def test_both_models_need_no_hint(tmp_path: Path, question: str) -> None:
    with MemoryStore.open(tmp_path) as store:
        assert store.search(question).note is None
