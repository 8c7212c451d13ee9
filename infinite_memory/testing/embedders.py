"""A quick embedder for tests; it passes the contract of `Embedder`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from infinite_memory.search.text.passages import cut_passages

__all__ = ["HashingEmbedder"]

_WORD = re.compile(r"\w+|[^\w\s]")
_WINDOW = 64


class HashingEmbedder:
    """Embeds a text by hashing its words: texts that share words are near. It loads no model.

    The digest of a word chooses the dimension that the word raises or lowers by 1. A passage has
    at most 64 words.
    """

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = dimensions

    @property
    def model(self) -> str:
        """The name of the model, which holds the number of dimensions."""
        return f"hashing-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._dimensions

    @property
    def background(self) -> float:
        """The usual cosine of unrelated texts: 0, since the hashes of words are independent."""
        return 0.0

    @property
    def is_loaded(self) -> bool:
        """True: there is nothing to load."""
        return True

    def understands(self, text: str) -> bool:  # noqa: ARG002 - part of the protocol
        """Return True: hashing works in every language."""
        return True

    def spans(self, text: str) -> NDArray[np.int32]:
        """Cut `text` into overlapping passages of at most 64 words."""
        words = [match.span() for match in _WORD.finditer(text)]
        tokens = np.array(words, dtype=np.int32).reshape(-1, 2)
        return cut_passages(text, tokens, window=_WINDOW, overlap=_WINDOW // 5)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a matrix with a unit vector per text."""
        rows = [self.embed_query(text) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, self._dimensions)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a question, computed like the vector of a text."""
        vector = np.zeros(self._dimensions, dtype=np.float32)
        for word in _WORD.findall(text.casefold()):
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            dimension = int.from_bytes(digest[:4], "little") % self._dimensions
            vector[dimension] += 1 if digest[4] & 1 else -1
        length = np.linalg.norm(vector)
        if length == 0:
            vector[0] = length = np.float32(1)
        unit: NDArray[np.float32] = (vector / length).astype(np.float32)
        return unit
