"""Embeddings, a document per passage of a text.

The document of a memory names the stamps of its valid passages. An embedding therefore appears and
disappears with the change of a single document, and readers need no snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from bson.binary import Binary
from bson.int64 import Int64
from numpy.typing import NDArray

from infinite_memory.core.values.record import Embedding
from infinite_memory.storage.integrity import seal, seal_fits

# BSON binary subtype of a vector: https://bsonspec.org, "BSON Binary Subtype 9 - Vector".
_VECTOR_SUBTYPE = 9
_FLOAT32_HEAD = b"\x27\x00"
_KIND = b"embedding"
_VECTORS = np.dtype("<f4")
_SPANS = np.dtype("<i4")


@frozen(kw_only=True)
class Stored:
    """The entry for an embedding in the document of its memory.

    `stamp` is the number of the change that added it; `checksum` covers all its passages.
    """

    model: str
    stamp: int
    passages: int
    dimensions: int
    checksum: bytes

    def to_document(self) -> dict[str, Any]:
        """Return the entry as a subdocument of the document of its memory."""
        return {
            "model": self.model,
            "stamp": Int64(self.stamp),
            "passages": self.passages,
            "dimensions": self.dimensions,
            "checksum": self.checksum,
        }

    @classmethod
    def of(cls, part: dict[str, Any]) -> Stored:
        """Return the entry in a subdocument that `to_document` returned."""
        return cls(**part)


def entry_for_embedding(
    memory_id: str, revision: int, embedding: Embedding, *, stamp: int
) -> Stored:
    """Return the entry for `embedding` in the document of its memory."""
    return Stored(
        model=embedding.model,
        stamp=stamp,
        passages=len(embedding.spans),
        dimensions=embedding.vectors.shape[1],
        checksum=_compute_checksum(
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
    """Yield a document for every passage."""
    vectors = np.ascontiguousarray(embedding.vectors, _VECTORS)
    for number, (start, end) in enumerate(embedding.spans.tolist()):
        yield {
            # Names of models may hold a #; the stamp is unique to the change.
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
    """Return the embedding made of `passages`, which are in order.

    Return None if a passage is missing or altered.
    """
    if len(passages) != stored.passages:
        return None
    try:
        spans = np.array([[p["start"], p["end"]] for p in passages], _SPANS).reshape(-1, 2)
        raw = b"".join(_read_vector_bytes(p["embedding"]) for p in passages)
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


def _read_vector_bytes(value: Binary) -> bytes:
    if value.subtype != _VECTOR_SUBTYPE or value[:2] != _FLOAT32_HEAD:
        raise ValueError("no vector of 32-bit numbers")
    return bytes(value[2:])


def _compute_checksum(
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
