"""What a stored record must fulfil beyond its checksum, the same for every backend."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from infinite_memory.errors import InvalidInput
from infinite_memory.model.findings import Finding, RecordKind
from infinite_memory.model.memory import Memory
from infinite_memory.model.record import Embedding, Record
from infinite_memory.storage.preconditions import check_embedding

__all__ = ["EMBED_AGAIN", "check_record"]

EMBED_AGAIN = "nothing is lost: it can be embedded anew from its text"
_UNIT_TOLERANCE = 1e-3


def check_record(record: Record) -> Iterator[Finding]:
    """Yield what is wrong with the embeddings of `record`."""
    memory = record.memory
    for embedding in record.embeddings:
        problem = _problem(memory, embedding)
        if problem is not None:
            what = f"the embedding of memory {memory.id!r} by {embedding.model} cannot be right"
            yield Finding(
                part=RecordKind.EMBEDDING,
                id=memory.id,
                what=f"{what}: {problem}",
                way_out=EMBED_AGAIN,
            )


def _problem(memory: Memory, embedding: Embedding) -> str | None:
    try:
        check_embedding(memory.id, embedding)
    except InvalidInput as error:
        return str(error)
    spans = embedding.spans
    if (spans[:, 0] < 0).any() or (spans[:, 1] < spans[:, 0]).any():
        return "a passage ends before it begins"
    if spans.max(initial=0) > len(memory.text):
        return "a passage lies outside the text"
    lengths = np.linalg.norm(embedding.vectors, axis=1)
    if (np.abs(lengths - 1) > _UNIT_TOLERANCE).any():
        return "a vector is not of length 1"
    return None
