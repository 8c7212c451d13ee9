"""Embeddings as rows: raw little-endian buffers, bound to their memory by a checksum.

Vectors that 16 bits a component hold exactly, as the library makes them, are their steps and then
the length of a step of each; all others are in single precision. The length of the buffer tells the
two forms apart. A row counts only if its memory names its model in `embedded_by`.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from infinite_memory.core.values.record import Embedding, from_steps, to_steps
from infinite_memory.storage.integrity import seal, seal_fits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    vectors = _pack(embedding.vectors)
    dimensions = embedding.vectors.shape[1]
    checksum = seal(
        _KIND,
        (revision, dimensions),
        (memory_id.encode(), embedding.model.encode(), spans, vectors),
    )
    return embedding.model, dimensions, spans, vectors, checksum


def _pack(vectors: NDArray[np.float32]) -> bytes:
    steps, step = to_steps(vectors)
    whole = vectors.astype(_VECTORS, copy=False).tobytes()
    packed = steps.astype(_STEPS).tobytes() + step.astype(_VECTORS).tobytes()
    # Not `==`, for which 0.0 and -0.0 are equal.
    is_exact = from_steps(steps, step).astype(_VECTORS).tobytes() == whole
    return packed if is_exact and len(packed) < len(whole) else whole


def _unpack(packed: bytes, passages: int, dimensions: int) -> NDArray[np.float32] | None:
    """Return the vectors in either form, None if the buffer has the length of neither."""
    import numpy as np  # noqa: PLC0415

    if len(packed) == passages * dimensions * 4:
        return np.ndarray((passages, dimensions), _VECTORS, packed)
    if len(packed) != passages * (dimensions * 2 + 4):
        return None
    steps = np.ndarray((passages, dimensions), _STEPS, packed)
    return from_steps(steps, np.ndarray((passages,), _VECTORS, packed, steps.nbytes))


def decode_embedding(memory_id: str, revision: int, row: tuple[Any, ...]) -> Embedding | None:
    """Return the embedding in a row of `SELECTED_EMBEDDING`, or None if it is damaged.

    The arrays are not to be changed: most are views of the bytes that SQLite returned.
    """
    model, dimensions, spans_blob, vectors_blob, checksum = row
    blobs = (memory_id.encode(), model, spans_blob, vectors_blob)
    if not seal_fits(_KIND, (revision, dimensions), blobs, checksum):
        return None
    passages = len(spans_blob) // 8
    vectors = _unpack(vectors_blob, passages, dimensions)
    if len(spans_blob) != passages * 8 or vectors is None:
        return None  # a faulty writer sealed it: the text is the truth
    import numpy as np  # noqa: PLC0415

    spans = np.ndarray((passages, 2), _SPANS, spans_blob)
    # The squared length is faster than a check of every number, and finite only if all are.
    if not (isfinite(np.vdot(vectors, vectors)) or np.isfinite(vectors).all()):
        return None
    return Embedding(model=model.decode(), spans=spans, vectors=vectors)
