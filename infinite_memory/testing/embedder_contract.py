"""The contract of `Embedder` as tests: derive a class and define the fixture `embedder`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from infinite_memory.core.protocols import Embedder
from infinite_memory.search.embedding import CheckedEmbedder

__all__ = ["EmbedderContract"]

_TEXTS = (
    "Alice was born on January 20.",
    "The deadline of project Apollo is June 5",
    "今天天气很好。",
    "x",
    "def parse(path: Path) -> None: ...",
    "😀 \x00 \u200b tabs\tand\nlines",
)
_LONG = "The quick brown fox jumps over the lazy dog. " * 100


class EmbedderContract:
    """The tests that every implementation of `Embedder` must pass."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        """Return the embedder under test."""
        raise NotImplementedError("define the fixture `embedder` in the class that derives")

    @pytest.fixture
    def complete(self, embedder: Embedder) -> CheckedEmbedder:
        """Return the embedder under test as a store uses it: with defaults, and checked."""
        return CheckedEmbedder(embedder)

    def test_a_store_accepts_its_vectors(self, complete: CheckedEmbedder) -> None:
        """Shape, type, finite numbers and unit length, of texts and of questions."""
        assert len(complete.embed(_TEXTS)) == len(_TEXTS)
        for text in _TEXTS:
            assert len(complete.embed_query(text)) == complete.dimensions

    def test_vectors_are_finite_float32_of_unit_length(self, embedder: Embedder) -> None:
        """`embed` returns a matrix with a row per text."""
        vectors = embedder.embed(_TEXTS)
        assert vectors.shape == (len(_TEXTS), embedder.dimensions)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(_TEXTS)), abs=1e-5)

    def test_a_question_gives_one_unit_vector(self, complete: CheckedEmbedder) -> None:
        """`embed_query` returns a vector, not a matrix of a single row."""
        vector = complete.embed_query("when was Alice born?")
        assert vector.shape == (complete.dimensions,)
        assert vector.dtype == np.float32
        assert float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-5)

    def test_no_texts_give_no_vectors(self, complete: CheckedEmbedder) -> None:
        """An empty list gives an empty matrix with the right number of columns."""
        assert complete.embed([]).shape == (0, complete.dimensions)

    def test_an_empty_text_has_a_vector(self, embedder: Embedder) -> None:
        """An empty text and white space give finite vectors."""
        assert np.isfinite(embedder.embed(["", "  \n"])).all()

    def test_the_same_text_gives_the_same_bits_however_batched(self, embedder: Embedder) -> None:
        """The vector of a text depends neither on its batch nor on its position in the batch."""
        together = embedder.embed(_TEXTS)
        assert np.array_equal(together, np.concatenate([embedder.embed([t]) for t in _TEXTS]))
        assert np.array_equal(together[::-1], embedder.embed(_TEXTS[::-1]))
        assert np.array_equal(embedder.embed([*_TEXTS, *_TEXTS]), np.tile(together, (2, 1)))

    def test_threads_see_the_same_vectors(self, embedder: Embedder) -> None:
        """Several threads may use the embedder at once, from its first use on."""
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(embedder.embed, [_TEXTS] * 8))
        assert all(np.array_equal(result, results[0]) for result in results)

    def test_different_texts_give_different_vectors(self, complete: CheckedEmbedder) -> None:
        """A question is nearer to the text that answers it than to an unrelated text."""
        near, far = complete.embed(["Alice was born in January", "Ships need harbours"])
        question = complete.embed_query("when was Alice born?")
        assert float(near @ question) > float(far @ question)

    def test_a_short_text_is_one_passage(self, complete: CheckedEmbedder) -> None:
        """The passage of a short text is the whole text, white space included."""
        assert complete.spans(" Hello. ").tolist() == [[0, 8]]
        assert complete.spans("").tolist() == [[0, 0]]

    def test_a_long_text_becomes_passages_that_cover_it(self, complete: CheckedEmbedder) -> None:
        """Passages are in order, begin and end at sentences, and leave no gap."""
        spans = complete.spans(_LONG)
        assert spans.dtype == np.int32
        assert len(spans) > 1
        assert spans[0, 0] == 0
        assert spans[-1, 1] == len(_LONG.rstrip())
        assert (np.diff(spans[:, 0]) > 0).all()
        assert (spans[1:, 0] <= spans[:-1, 1] + 1).all()
        assert all(_LONG[begin:end].endswith("dog.") for begin, end in spans)
        assert all(_LONG[begin:end].startswith("The quick") for begin, end in spans)

    def test_the_background_is_a_cosine_below_one(self, complete: CheckedEmbedder) -> None:
        """A score is divided by one minus the background, which must not be zero."""
        assert -1 <= complete.background < 1

    def test_numbers_are_understood_in_every_language(self, complete: CheckedEmbedder) -> None:
        """A text of numbers alone and an empty text need no language."""
        assert complete.understands("2026-01-20")
        assert complete.understands("")

    def test_its_model_has_a_name(self, embedder: Embedder) -> None:
        """The name of the model is not empty and does not change."""
        assert embedder.model
        assert embedder.model == embedder.model
