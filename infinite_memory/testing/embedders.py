"""A quick embedder for tests, which passes the contract that the real one passes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from infinite_memory.text.passages import cut_passages

__all__ = ["HashingEmbedder"]

_WORD = re.compile(r"\w+|[^\w\s]")
_WINDOW = 64


class HashingEmbedder:
    """Unit vectors of hashed words: texts that share words are near, and nothing is loaded.

    Each word adds or subtracts one at a place that its digest chooses. The window is 64 words.
    """

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = dimensions

    @property
    def model(self) -> str:
        """A name that changes with the number of dimensions."""
        return f"hashing-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._dimensions

    @property
    def background(self) -> float:
        """Zero: the places of different words have nothing to do with each other."""
        return 0.0

    def understands(self, text: str) -> bool:  # noqa: ARG002 - part of the protocol
        """Tell that every language is understood: all it takes is words."""
        return True

    def spans(self, text: str) -> NDArray[np.int32]:
        """Cut `text` into overlapping passages of at most 64 words."""
        words = [match.span() for match in _WORD.finditer(text)]
        tokens = np.array(words, dtype=np.int32).reshape(-1, 2)
        return cut_passages(text, tokens, window=_WINDOW, overlap=_WINDOW // 5)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector a text."""
        rows = [self.embed_query(text) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, self._dimensions)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a question; a text and a question are treated alike."""
        vector = np.zeros(self._dimensions, dtype=np.float32)
        for word in _WORD.findall(text.casefold()):
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            place = int.from_bytes(digest[:4], "little") % self._dimensions
            vector[place] += 1 if digest[4] & 1 else -1
        length = np.linalg.norm(vector)
        if length == 0:
            vector[0] = length = np.float32(1)
        unit: NDArray[np.float32] = (vector / length).astype(np.float32)
        return unit
