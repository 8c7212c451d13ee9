from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.protocols import Embedder
from infinite_memory.search.embedding import CachedEmbedder
from infinite_memory.testing.embedder_contract import EmbedderContract
from infinite_memory.testing.embedders import HashingEmbedder


class Recording(HashingEmbedder):
    """Notes what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.closed = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return super().embed(texts)

    def close(self) -> None:
        self.closed = True


class TestCachedEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return CachedEmbedder(HashingEmbedder(), capacity=3)


def test_only_new_texts_are_computed_and_each_once() -> None:
    inner = Recording()
    embedder = CachedEmbedder(inner)
    embedder.embed(["a", "b", "a"])
    embedder.embed(["b", "c"])
    assert inner.asked == ["a", "b", "c"]


def test_the_one_not_used_for_longest_makes_room() -> None:
    inner = Recording()
    embedder = CachedEmbedder(inner, capacity=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        embedder.embed([text])
    assert inner.asked == ["a", "b", "c", "b"]


def test_a_question_and_a_text_are_kept_apart() -> None:
    inner = Recording()
    embedder = CachedEmbedder(inner)
    question = embedder.embed_query("a")
    embedder.embed(["a"])
    assert inner.asked == ["a"]
    assert embedder.embed_query("a") is question


def test_a_very_long_text_is_not_kept() -> None:
    inner = Recording()
    embedder = CachedEmbedder(inner)
    text = "x" * 4_001
    embedder.embed([text])
    embedder.embed([text])
    assert inner.asked == [text, text]


def test_vectors_cannot_be_changed_by_a_caller() -> None:
    embedder = CachedEmbedder(HashingEmbedder())
    for vector in (embedder.embed(["a"]), embedder.embed_query("a"), embedder.embed_query("a")):
        with pytest.raises(ValueError, match="read-only"):
            vector[0] = 1


def test_it_shows_what_it_wraps_and_closes_it() -> None:
    inner = Recording()
    embedder = CachedEmbedder(inner)
    embedder.embed(["a"])
    embedder.close()
    assert embedder.inner is inner
    assert (embedder.model, embedder.dimensions) == (inner.model, inner.dimensions)
    assert inner.closed
    embedder.embed(["a"])
    assert inner.asked == ["a", "a"]


def test_what_has_no_close_is_left_alone() -> None:
    CachedEmbedder(HashingEmbedder()).close()


def test_a_cache_without_room_is_refused() -> None:
    with pytest.raises(InvalidInput, match="capacity 0"):
        CachedEmbedder(HashingEmbedder(), capacity=0)
