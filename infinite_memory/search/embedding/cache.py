"""An embedder that remembers: the vectors of the texts it saw last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.observe.recorder import count_cache
from infinite_memory.core.protocols import Embedder
from infinite_memory.search.embedding.checked import CheckedEmbedder

Vector = NDArray[np.float32]
_MAX_CHARS = 4_000


class CachedEmbedder:
    """A wrapper around any embedder that keeps the vectors of the last `capacity` short texts.

    The vector of a text of more than 4,000 characters is not kept. Questions and documents have
    separate entries. Vectors are read-only. A closed embedder may be used again.
    """

    def __init__(self, inner: Embedder, *, capacity: int = 4_096) -> None:
        """Wrap `inner`.

        Raises:
            InvalidInput: `capacity` is less than 1.
        """
        if capacity < 1:
            raise InvalidInput(f"capacity {capacity!r} is too small: keep at least 1 vector")
        self._inner = inner
        self._complete = CheckedEmbedder(inner)
        self._capacity = capacity
        self._lock = Lock()
        self._vectors: OrderedDict[tuple[bool, str], Vector] = OrderedDict()

    @property
    def inner(self) -> Embedder:
        """The embedder that is wrapped."""
        return self._inner

    @property
    def model(self) -> str:
        """The model of the wrapped embedder."""
        return self._inner.model

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._inner.dimensions

    @property
    def background(self) -> float:
        """The mean cosine of unrelated texts."""
        return self._complete.background

    @property
    def second_length(self) -> float | None:
        """The length of the second of two parts of a vector, None for vectors of a single model."""
        return self._complete.second_length

    @property
    def is_loaded(self) -> bool | None:
        """Whether the model of the wrapped embedder is in memory, None if that is unknown."""
        return self._complete.is_loaded

    def understands(self, text: str) -> bool:
        """Return whether the wrapped embedder was made for the language of `text`."""
        return self._complete.understands(text)

    def spans(self, text: str) -> NDArray[np.int32]:
        """Cut `text` as the wrapped embedder does; the result is not kept."""
        return self._complete.spans(text)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a unit vector for every text; only vectors that are not kept are computed."""
        known = {text: self._recall((False, text)) for text in dict.fromkeys(texts)}
        missing = [text for text, vector in known.items() if vector is None]
        count_cache("texts", hits=len(known) - len(missing), misses=len(missing))
        if missing:
            for text, vector in zip(missing, self._complete.embed(missing), strict=True):
                known[text] = self._keep((False, text), vector)
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = known[text]
        vectors.flags.writeable = False
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a question."""
        vector = self._recall((True, text))
        count_cache("questions", **{"misses" if vector is None else "hits": 1})
        return (
            self._keep((True, text), self._complete.embed_query(text)) if vector is None else vector
        )

    def close(self) -> None:
        """Forget the vectors, and close the wrapped embedder if it can be closed."""
        with self._lock:
            self._vectors.clear()
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()

    def _recall(self, key: tuple[bool, str]) -> Vector | None:
        with self._lock:
            vector = self._vectors.get(key)
            if vector is not None:
                self._vectors.move_to_end(key)
            return vector

    def _keep(self, key: tuple[bool, str], vector: Vector) -> Vector:
        # A copy, because a row of a large result would keep the whole of it alive.
        vector = vector.copy()
        vector.flags.writeable = False
        if len(key[1]) <= _MAX_CHARS:
            with self._lock:
                self._vectors[key] = vector
                if len(self._vectors) > self._capacity:
                    self._vectors.popitem(last=False)
        return vector
