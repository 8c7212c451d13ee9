"""Embeddings as documents, one for each passage of a text.

The document of a memory says which passages count: those with its stamp. So an embedding comes and
goes with one change of one document, whatever else a reader meets meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from bson.binary import Binary
from bson.int64 import Int64
from numpy.typing import NDArray

from infinite_memory.model.record import Embedding
from infinite_memory.storage.integrity import seal, seal_fits

__all__ = [
    "Stored",
    "decode_embedding",
    "passage_documents",
    "stored_as",
]

# BSON binary subtype of a vector: https://bsonspec.org, "BSON Binary Subtype 9 - Vector".
_VECTOR_SUBTYPE = 9
_FLOAT32_HEAD = b"\x27\x00"
_KIND = b"embedding"
_VECTORS = np.dtype("<f4")
_SPANS = np.dtype("<i4")


@frozen(kw_only=True)
class Stored:
    """What the document of a memory says of one embedding.

    `stamp` is the number of the change that brought it; `checksum` is over all its passages.
    """

    model: str
    stamp: int
    passages: int
    dimensions: int
    checksum: bytes

    def to_document(self) -> dict[str, Any]:
        """Return it as a part of the document of its memory."""
        return {
            "model": self.model,
            "stamp": Int64(self.stamp),
            "passages": self.passages,
            "dimensions": self.dimensions,
            "checksum": self.checksum,
        }

    @classmethod
    def of(cls, part: dict[str, Any]) -> Stored:
        """Return what `to_document` wrote."""
        return cls(**part)


def stored_as(memory_id: str, revision: int, embedding: Embedding, *, stamp: int) -> Stored:
    """Return what the document of the memory says of `embedding`."""
    return Stored(
        model=embedding.model,
        stamp=stamp,
        passages=len(embedding.spans),
        dimensions=embedding.vectors.shape[1],
        checksum=_checksum(
            memory_id,
            revision,
            embedding.model,
            np.ascontiguousarray(embedding.spans, _SPANS),
            np.ascontiguousarray(embedding.vectors, _VECTORS),
        ),
    )


def passage_documents(
    memory_id: str, embedding: Embedding, *, stamp: int
) -> Iterator[dict[str, Any]]:
    """Yield the document of each passage."""
    vectors = np.ascontiguousarray(embedding.vectors, _VECTORS)
    for number, (start, end) in enumerate(embedding.spans.tolist()):
        yield {
            # Names may have a # in them; a change has its number to itself.
            "_id": f"{stamp}#{number}#{embedding.model}",
            "memory_id": memory_id,
            "model": embedding.model,
            "stamp": Int64(stamp),
            "number": number,
            "start": start,
            "end": end,
            "embedding": _encode_vector(vectors[number]),
        }


def decode_embedding(
    memory_id: str, revision: int, stored: Stored, passages: Sequence[dict[str, Any]]
) -> Embedding | None:
    """Return the embedding of which these are the passages, in their order.

    None where one of them is missing, or they are not as they were written.
    """
    if len(passages) != stored.passages:
        return None
    try:
        spans = np.array([[p["start"], p["end"]] for p in passages], _SPANS).reshape(-1, 2)
        raw = b"".join(_vector_bytes(p["embedding"]) for p in passages)
        vectors = np.frombuffer(raw, _VECTORS).reshape(stored.passages, stored.dimensions)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return None
    sound = seal_fits(
        _KIND,
        (revision, stored.dimensions),
        (memory_id.encode(), stored.model.encode(), spans.tobytes(), vectors.tobytes()),
        stored.checksum,
    )
    if not (sound and np.isfinite(vectors).all()):
        return None
    spans.flags.writeable = False
    return Embedding(model=stored.model, spans=spans, vectors=vectors)


def _encode_vector(vector: NDArray[np.float32]) -> Binary:
    """Return a vector as BSON keeps it: 32-bit numbers under a head of two bytes."""
    return Binary(_FLOAT32_HEAD + vector.astype(_VECTORS).tobytes(), _VECTOR_SUBTYPE)


def _vector_bytes(value: Binary) -> bytes:
    if value.subtype != _VECTOR_SUBTYPE or value[:2] != _FLOAT32_HEAD:
        raise ValueError("no vector of 32-bit numbers")
    return bytes(value[2:])


def _checksum(
    memory_id: str,
    revision: int,
    model: str,
    spans: np.ndarray[Any, Any],
    vectors: np.ndarray[Any, Any],
) -> bytes:
    return seal(
        _KIND,
        (revision, vectors.shape[1]),
        (memory_id.encode(), model.encode(), spans.tobytes(), vectors.tobytes()),
    )
