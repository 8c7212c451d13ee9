"""What an embedder may leave out, and which of its vectors are refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from infinite_memory import ConfigurationError, EmbedderError, LinearSearch, MemoryStore
from infinite_memory.core.protocols import Embedder
from infinite_memory.core.values.receipt import Searchable
from infinite_memory.search.embedding import CachedEmbedder, CheckedEmbedder
from infinite_memory.testing.embedder_contract import EmbedderContract
from infinite_memory.testing.embedders import HashingEmbedder


class SmallEmbedder:
    """Has what an embedder needs, and nothing else."""

    model = "small"
    dimensions = 64

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return HashingEmbedder().embed(texts)


class WrongEmbedder(SmallEmbedder):
    """Gives what `wrong` makes of the right vectors."""

    def __init__(self, wrong: Any) -> None:
        self.wrong = wrong

    def embed(self, texts: Sequence[str]) -> Any:
        return self.wrong(super().embed(texts))


class SlantedEmbedder(SmallEmbedder):
    """Every vector has a large part in common with all others, as some models have it."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = super().embed(texts) + np.full(64, 0.2, np.float32)
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def with_a_nan(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    vectors[-1, 3] = np.nan
    return vectors


WRONG = {
    "of another length": (
        lambda v: v[:, 1:],
        r"the shape \(\d+, 63\) instead of \(\d+, 64\)",
    ),
    "one too few": (lambda v: v[1:], r"of the shape \(\d+, 64\) instead of \(\d+, 64\)"),
    "one flat array": (lambda v: v.ravel(), r"of the shape \(\d+,\) instead of \(\d+, 64\)"),
    "double precision": (lambda v: v.astype(np.float64), "the type float64 instead of float32"),
    "a list": (lambda v: v.tolist(), "returned list instead of a numpy array"),
    "not finite": (with_a_nan, "a vector that is not finite"),
    "too long": (lambda v: v * 3, "of the length 3 instead of a unit vector: divide each"),
    "too short": (lambda v: v * np.float32(0.99), "of the length 0.99 instead"),
    "zero": (lambda v: v * 0, "of the length 0 instead"),
}


class TestSmallEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return SmallEmbedder()


class TestSlantedEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return SlantedEmbedder()


class TestCachedSmallEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return CachedEmbedder(SmallEmbedder())


def test_what_is_left_out_has_its_default() -> None:
    complete = CheckedEmbedder(SmallEmbedder())
    assert np.array_equal(
        complete.embed_query("green tea"), SmallEmbedder().embed(["green tea"])[0]
    )
    assert complete.understands("北京的天气怎么样?")
    assert len(complete.spans("A sentence of six words here. " * 100)) > 3
    assert len(complete.spans("今天天气很好。" * 100)) > 3
    assert len(complete.spans("x" * 10_000)) > 2
    assert -0.1 < complete.background < 0.3


def test_the_background_is_measured_with_the_model() -> None:
    assert CheckedEmbedder(SlantedEmbedder()).background > 0.5


def test_what_the_embedder_has_itself_is_taken() -> None:
    class Own(HashingEmbedder):
        background = 0.4

        def understands(self, text: str) -> bool:
            return text != "?"

        def embed_query(self, text: str) -> NDArray[np.float32]:
            return -super().embed_query(text)

    complete = CheckedEmbedder(Own())
    assert complete.background == 0.4
    assert not complete.understands("?")
    assert np.array_equal(complete.embed_query("tea"), -HashingEmbedder().embed_query("tea"))
    assert CheckedEmbedder(complete).inner is complete.inner


@pytest.mark.parametrize(("wrong", "sentence"), WRONG.values(), ids=WRONG)
def test_a_wrong_vector_is_refused_with_a_sentence_that_names_the_embedder(
    wrong: Any, sentence: str
) -> None:
    complete = CheckedEmbedder(WrongEmbedder(wrong))
    for call in (lambda: complete.embed(["tea", "ship"]), lambda: complete.embed_query("tea")):
        with pytest.raises(EmbedderError, match=f"the embedder WrongEmbedder .*{sentence}"):
            call()


@pytest.mark.parametrize("length", [1 - 9e-4, 1, 1 + 9e-4])
def test_a_vector_that_is_nearly_of_unit_length_is_taken(length: float) -> None:
    complete = CheckedEmbedder(WrongEmbedder(lambda v: v * np.float32(length)))
    assert complete.embed(["tea"]).shape == (1, 64)


@pytest.mark.parametrize(("wrong", "sentence"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("search", [None, LinearSearch])
def test_a_text_with_a_wrong_vector_is_stored_and_the_receipt_says_why_it_is_found_by_words(
    tmp_path: Path, wrong: Any, sentence: str, search: Any
) -> None:
    with MemoryStore.open(tmp_path, embedder=WrongEmbedder(wrong), search=search) as store:
        receipt = store.remember("Alice likes green tea", id="tea")
        assert receipt.searchable is Searchable.WORDS
        assert "WrongEmbedder" in receipt.pending[0]
        hits = store.search("green tea")
        assert hits[0].memory.id == "tea"
        assert hits.note is not None
        assert "WrongEmbedder" in hits.note
        assert store.get("tea").text == "Alice likes green tea"
        revised = store.revise("tea", revision=1, text="Alice likes coffee")
        assert "WrongEmbedder" in revised.pending[0]
    with MemoryStore.open(tmp_path, embedder=SmallEmbedder()) as store:
        assert store.models.catch_up() == 1
        assert store.search("coffee", explain=True)[0].explanation.cosine > 0.5


def test_vectors_that_are_no_unit_vectors_give_no_unrelated_text_a_high_score(
    tmp_path: Path,
) -> None:
    with MemoryStore.open(tmp_path, embedder=WrongEmbedder(lambda v: v * 40)) as store:
        store.remember("The ship leaves the harbour at nine")
        assert [hit.score for hit in store.search("quantum physics lecture")] == []


@pytest.mark.parametrize("missing", ["model", "dimensions", "embed"])
def test_an_embedder_without_what_it_needs_is_refused_when_the_store_is_opened(
    tmp_path: Path, missing: str
) -> None:
    parts = {"model": "m", "dimensions": 64, "embed": lambda _self, texts: texts}
    del parts[missing]
    embedder = type("Partial", (), parts)()
    with pytest.raises(ConfigurationError, match=f"Partial object .* lacks {missing}: see"):
        MemoryStore.open(tmp_path, embedder=embedder)
