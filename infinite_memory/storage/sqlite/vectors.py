"""Embeddings as rows: raw little-endian buffers, bound to their memory by a checksum.

Vectors that 16 bits a component hold exactly, as the library makes them, are their steps and then
the length of a step of each; all others are in single precision. The length of the buffer tells the
two forms apart. A row counts only if its memory names its model in `embedded_by`.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from infinite_memory.core.values.record import Embedding, from_steps, to_steps
from infinite_memory.storage.integrity import seal, seal_fits

_KIND = b"embedding"
_SPANS = "<i4"
_VECTORS = "<f4"
_STEPS = "<i2"

SELECTED_EMBEDDING = (
    "CAST(e.model AS BLOB), CAST(e.dimensions AS INTEGER), "
    "CAST(e.spans AS BLOB), CAST(e.vectors AS BLOB), CAST(e.checksum AS BLOB)"
)
"""The columns that `decode_embedding` takes, of the table `embeddings` with the alias e."""

INSERT_EMBEDDING = (
    "INSERT OR REPLACE INTO embeddings (number, model, dimensions, spans, vectors, checksum) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)


def encode_embedding(memory_id: str, revision: int, embedding: Embedding) -> tuple[Any, ...]:
    """Return the bindings of `INSERT_EMBEDDING` after the number of the row."""
    spans = embedding.spans.astype(_SPANS, copy=False).tobytes()
    vectors = embedding.vectors.astype(_VECTORS, copy=False).tobytes()
    dimensions = embedding.vectors.shape[1]
    steps, step = to_steps(embedding.vectors)
    # Not `==` of the arrays, for which 0.0 and -0.0 are equal.
    if dimensions > 2 and from_steps(steps, step).astype(_VECTORS).tobytes() == vectors:
        vectors = steps.astype(_STEPS).tobytes() + step.astype(_VECTORS).tobytes()
    checksum = seal(
        _KIND,
        (revision, dimensions),
        (memory_id.encode(), embedding.model.encode(), spans, vectors),
    )
    return embedding.model, dimensions, spans, vectors, checksum


def decode_embedding(memory_id: str, revision: int, row: tuple[Any, ...]) -> Embedding | None:
    """Return the embedding in a row of `SELECTED_EMBEDDING`, or None if it is damaged.

    The arrays are not to be changed: most are views of the bytes that SQLite returned.
    """
    model, dimensions, spans_blob, vectors_blob, checksum = row
    blobs = (memory_id.encode(), model, spans_blob, vectors_blob)
    if not seal_fits(_KIND, (revision, dimensions), blobs, checksum):
        return None
    passages = len(spans_blob) // 8
    whole, packed = (passages * size for size in (dimensions * 4, dimensions * 2 + 4))
    if len(spans_blob) != passages * 8 or len(vectors_blob) not in (whole, packed):
        return None  # a faulty writer sealed it: the text is the truth
    import numpy as np  # noqa: PLC0415

    spans = np.ndarray((passages, 2), _SPANS, spans_blob)
    if len(vectors_blob) == whole:
        vectors = np.ndarray((passages, dimensions), _VECTORS, vectors_blob)
    else:
        steps = np.ndarray((passages, dimensions), _STEPS, vectors_blob)
        vectors = from_steps(steps, np.ndarray(passages, _VECTORS, vectors_blob, steps.nbytes))
    # The squared length is faster than a check of every number, and finite only if all are.
    if not (isfinite(np.vdot(vectors, vectors)) or np.isfinite(vectors).all()):
        return None
    return Embedding(model=model.decode(), spans=spans, vectors=vectors)
