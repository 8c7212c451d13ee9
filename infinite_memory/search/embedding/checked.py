"""An embedder with defaults for its missing members, whose vectors are checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.errors import ConfigurationError, EmbedderError
from infinite_memory.core.protocols import Embedder
from infinite_memory.search.embedding.background import UNRELATED, mean_cosine
from infinite_memory.search.text.passages import cut_passages

# Most models read at least 256 tokens. An English word or sign has 1.2 tokens on average.
_PASSAGE_WORDS = 192
_OVERLAP_WORDS = 32
# A Chinese or Japanese character counts as a word, and so does each part of a very long word.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]{1,16}|[^\w\s]")
_REQUIRED = ("model", "dimensions", "embed")
_TOLERANCE = 1e-3


class CheckedEmbedder:
    """An embedder as the rest of the library uses it: complete, and only with sound vectors.

    The wrapped embedder needs `model`, `dimensions` and `embed`. Its missing members have
    defaults: `embed_query` embeds the question like a text; `spans` cuts passages of at most
    192 words and signs on sentence boundaries; `understands` says that the model knows every
    language; `background` is measured on sixteen unrelated sentences when it is first needed, since
    0 would make every text a match where unrelated texts have a cosine of 0.5.
    """

    def __init__(self, inner: Embedder) -> None:
        """Wrap `inner`, which stays open.

        Raises:
            ConfigurationError: `inner` lacks something that an embedder needs.
        """
        self._inner = inner.inner if isinstance(inner, CheckedEmbedder) else inner
        missing = [name for name in _REQUIRED if not hasattr(inner, name)]
        if missing:
            raise ConfigurationError(
                f"the embedder {inner!r:.100} lacks {', '.join(missing)}: see the contract"
                ' in the guide "Writing a backend"'
            )
        self._measuring = Lock()
        self._background: float | None = None

    @property
    def inner(self) -> Embedder:
        """The embedder that is wrapped."""
        return self._inner

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._inner.model

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._inner.dimensions

    @property
    def background(self) -> float:
        """The cosine that two unrelated texts have on average; 0 while the model cannot be run."""
        given = getattr(self._inner, "background", None)
        if given is not None:
            return float(given)
        with self._measuring:
            if self._background is None:
                try:
                    questions = np.stack([self.embed_query(text) for text in UNRELATED])
                    self._background = mean_cosine(questions, self.embed(UNRELATED))
                except EmbedderError:
                    return 0.0
            return self._background

    @property
    def second_length(self) -> float | None:
        """The length of the second of two parts of a vector, None for vectors of a single model."""
        length: float | None = getattr(self._inner, "second_length", None)
        return length

    @property
    def is_loaded(self) -> bool | None:
        """Whether the model is in memory, None if the wrapped embedder does not tell it."""
        loaded = getattr(self._inner, "is_loaded", None)
        return None if loaded is None else bool(loaded)

    def understands(self, text: str) -> bool:
        """Return whether the model was made for the language of `text`."""
        understands = getattr(self._inner, "understands", None)
        return True if understands is None else bool(understands(text))

    def spans(self, text: str) -> NDArray[np.int32]:
        """Return the passages of `text` as half-open character ranges, shape (passages, 2)."""
        spans = getattr(self._inner, "spans", None)
        if spans is not None:
            passages: NDArray[np.int32] = spans(text)
            return passages
        words = np.array([match.span() for match in _WORD.finditer(text)], np.int32)
        return cut_passages(
            text, words.reshape(-1, 2), window=_PASSAGE_WORDS, overlap=_OVERLAP_WORDS
        )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector a text, shape (len(texts), dimensions).

        Raises:
            EmbedderError: the model cannot be run, or its vectors break the contract.
        """
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        return self._check(self._inner.embed(texts), (len(texts), self.dimensions))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a question, shape (dimensions,).

        Raises:
            EmbedderError: the model cannot be run, or its vector breaks the contract.
        """
        embed_query = getattr(self._inner, "embed_query", None)
        if embed_query is None:
            vector: NDArray[np.float32] = self.embed([text])[0]
            return vector
        return self._check(embed_query(text), (self.dimensions,))

    def _check(self, vectors: object, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Return `vectors`; raise `EmbedderError` where they break the contract of `Embedder`."""
        if not isinstance(vectors, np.ndarray):
            raise self._refusal(f"returned {type(vectors).__name__} instead of a numpy array")
        if vectors.shape != shape:
            raise self._refusal(f"returned vectors of the shape {vectors.shape} instead of {shape}")
        if vectors.dtype != np.float32:
            raise self._refusal(f"returned vectors of the type {vectors.dtype} instead of float32")
        rows = vectors.reshape(-1, shape[-1])
        if not np.isfinite(rows).all():
            raise self._refusal("returned a vector that is not finite")
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        wrong = (np.abs(lengths - 1) > _TOLERANCE).nonzero()[0]
        if len(wrong):
            raise self._refusal(
                f"returned a vector of the length {lengths[wrong[0]]:.4g} instead of a unit vector:"
                " divide each vector by its length"
            )
        return vectors

    def _refusal(self, fault: str) -> EmbedderError:
        return EmbedderError(
            f"the embedder {type(self._inner).__qualname__} (model {self.model!r:.100}) {fault}"
        )
