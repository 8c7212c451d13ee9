"""Two models as one embedder: the vector of an English model beside that of a multilingual model.

The product of two joined vectors is the weighted mean of the cosines under both models, so that
everything that compares vectors compares by both. A text that the English model does not know has
zeros in the place of its vector; `cosine` compares such a text with any other under the
multilingual model alone.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.embedding.onnx import OnnxEmbedder
from infinite_memory.search.text.analyzer import foreign_languages

# The share of the English model in the product of two English texts; see docs/decisions/0092.
_ENGLISH_SHARE = 0.5


class PairedEmbedder:
    """An embedder of an English and a multilingual model, which embed a question at the same time.

    It opens no connection, and loads both models at the first use.
    """

    def __init__(self, english: OnnxEmbedder, multilingual: OnnxEmbedder) -> None:
        """Join the models, which are closed with this object."""
        self._english, self._multilingual = english, multilingual

    @property
    def model(self) -> str:
        """The names of both models, and a digest of their files and of how they are joined."""
        names = [one.model.partition("@")[0] for one in (self._english, self._multilingual)]
        parts = f"{self._english.model}\n{self._multilingual.model}\n{_ENGLISH_SHARE}"
        return f"{'+'.join(names)}@{hashlib.sha256(parts.encode()).hexdigest()[:12]}"

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._english.dimensions + self._multilingual.dimensions

    @property
    def second_length(self) -> float:
        """The length of the part of the multilingual model in the vector of an English text."""
        return float(np.sqrt(1 - _ENGLISH_SHARE))

    @property
    def background(self) -> float:
        """The mean cosine of a question and a text that are unrelated."""
        english, multilingual = self._english.background, self._multilingual.background
        return _ENGLISH_SHARE * english + (1 - _ENGLISH_SHARE) * multilingual

    @property
    def is_loaded(self) -> bool:
        """Whether both models are in memory."""
        return self._english.is_loaded and self._multilingual.is_loaded

    def understands(self, text: str) -> bool:
        """Return whether one of the models knows the language of `text`."""
        return self._english.understands(text) or self._multilingual.understands(text)

    def spans(self, text: str) -> NDArray[np.int32]:
        """Cut `text` into overlapping passages that fit the window, shape (passages, 2)."""
        is_english = self._is_english(text)
        return (self._english if is_english else self._multilingual).spans(text)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a unit vector for every text, shape (len(texts), dimensions).

        Raises:
            EmbedderError: a model cannot be loaded or run.
        """
        is_english = np.array([self._is_english(text) for text in texts], np.bool_)
        known = [text for text, known in zip(texts, is_english, strict=True) if known]
        joined = np.zeros((len(texts), self.dimensions), np.float32)
        joined[is_english, : self._english.dimensions] = self._english.embed(known)
        joined[:, self._english.dimensions :] = self._multilingual.embed(texts)
        return self._weigh(joined, is_english)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a question, shape (dimensions,).

        Raises:
            EmbedderError: a model cannot be loaded or run.
        """
        joined = np.zeros((1, self.dimensions), np.float32)
        is_english = self._is_english(text)
        english = _start_embedding(self._english.embed_query, text) if is_english else None
        joined[0, self._english.dimensions :] = self._multilingual.embed_query(text)
        if english is not None:
            joined[0, : self._english.dimensions] = english()
        vector: NDArray[np.float32] = self._weigh(joined, np.array([is_english]))[0]
        return vector

    def verify(self) -> None:
        """Hash the files of both models; takes a moment.

        Raises:
            EmbedderError: a file is missing or differs from the recorded file.
        """
        self._english.verify()
        self._multilingual.verify()

    def close(self) -> None:
        """Release the models and their threads. Closing twice does nothing."""
        self._english.close()
        self._multilingual.close()

    def _is_english(self, text: str) -> bool:
        return not foreign_languages(text) and self._english.understands(text)

    def _weigh(
        self, joined: NDArray[np.float32], is_english: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """Bring the parts of the vectors with both parts to their lengths, in place."""
        lengths = np.sqrt(np.array([_ENGLISH_SHARE, 1 - _ENGLISH_SHARE], np.float32))
        sizes = (self._english.dimensions, self._multilingual.dimensions)
        joined[is_english] *= np.repeat(lengths, sizes)
        return joined


def _start_embedding(
    embed_query: Callable[[str], NDArray[np.float32]], text: str
) -> Callable[[], NDArray[np.float32]]:
    """Embed `text` in another thread, and return what waits for the vector."""
    try:
        return _pool().submit(embed_query, text).result
    except RuntimeError:  # the interpreter is ending, and starts no thread any more
        return partial(embed_query, text)


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads on which English models embed questions."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="embed-question")


if hasattr(os, "register_at_fork"):
    # A forked child has no copy of the threads and would wait for them forever.
    os.register_at_fork(after_in_child=_pool.cache_clear)
