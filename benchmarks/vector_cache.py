"""Vectors kept on disk, so that a second run of a benchmark does not run the model again."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from infinite_memory.core.config import Config
from infinite_memory.core.protocols import Embedder
from infinite_memory.search.embedding import BUNDLED, CheckedEmbedder, configured_embedder

DEFAULT_CACHE = Path(tempfile.gettempdir()) / "infinite-memory-vectors"
_CHUNK = 128
_BUSY_MILLISECONDS = 120_000


class StoredVectors:
    """A wrapper around any embedder that keeps every vector in a database in `folder`.

    The key of a vector is the model, which names its files and prefixes by a digest, whether the
    text is a question, and the text. Several processes may use one folder at once.
    """

    def __init__(self, inner: Embedder, folder: Path) -> None:
        """Wrap `inner`; create the database if there is none."""
        self._inner = CheckedEmbedder(inner)
        folder.mkdir(parents=True, exist_ok=True)
        self._database = apsw.Connection(str(folder / "vectors.db"))
        self._database.set_busy_timeout(_BUSY_MILLISECONDS)
        self._database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
        )

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
        return self._inner.background

    @property
    def second_length(self) -> float | None:
        """The length of the second of two parts of a vector, None for vectors of a single model."""
        return self._inner.second_length

    def understands(self, text: str) -> bool:
        """Return whether the wrapped embedder was made for the language of `text`."""
        return self._inner.understands(text)

    def spans(self, text: str) -> NDArray[np.int32]:
        """Return the passages of `text` as the wrapped embedder cuts them."""
        return self._inner.spans(text)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a unit vector for every text, shape (len(texts), dimensions)."""
        vectors = {text: self._load(text, is_query=False) for text in texts}
        missing = [text for text, vector in vectors.items() if vector is None]
        for start in range(0, len(missing), _CHUNK):
            chunk = missing[start : start + _CHUNK]
            computed = self._inner.embed(chunk)
            with self._database:
                for text, vector in zip(chunk, computed, strict=True):
                    self._keep(text, vector, is_query=False)
            vectors.update(zip(chunk, computed, strict=True))
        rows = [vector for text in texts if (vector := vectors[text]) is not None]
        return np.stack(rows) if rows else np.empty((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the unit vector of a question, shape (dimensions,)."""
        vector = self._load(text, is_query=True)
        if vector is None:
            vector = self._inner.embed_query(text)
            self._keep(text, vector, is_query=True)
        return vector

    def _load(self, text: str, *, is_query: bool) -> NDArray[np.float32] | None:
        found = self._database.execute(
            "SELECT vector FROM vectors WHERE key = ?", (self._key(text, is_query),)
        ).get
        return None if found is None else np.frombuffer(found, "<f4")

    def _keep(self, text: str, vector: NDArray[np.float32], *, is_query: bool) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
            (self._key(text, is_query), vector.astype("<f4").tobytes()),
        )

    def _key(self, text: str, is_query: bool) -> bytes:
        return hashlib.sha256(f"{self.model}\0{is_query}\0{text}".encode()).digest()


def open_model(name: str = BUNDLED, cache: Path = DEFAULT_CACHE) -> StoredVectors:
    """Open the bundled model, or the model at a path, with its vectors kept in `cache`."""
    return StoredVectors(configured_embedder(Config(home=cache, embedder=name)), cache)
