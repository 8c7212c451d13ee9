"""Checks whether a stored record is undamaged.

The checksum covers all fields of a record, so an altered or swapped record is noticed. The
embeddings of a record must also fit its text, in every backend.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.memory import Memory
from infinite_memory.core.values.record import Embedding, Record
from infinite_memory.core.values.verification import Finding, RecordKind
from infinite_memory.storage.preconditions import check_embedding

EMBED_AGAIN = "nothing is lost: embed the text again with infinite-memory verify --mend"

_HEADS = [struct.Struct(f"<{count}q") for count in range(32)]
_NO_NUMBER = -(2**63)
_NO_BLOB = -1
_UNIT_TOLERANCE = 1e-3


def seal(kind: bytes, numbers: Sequence[int | None], blobs: Sequence[bytes | None]) -> bytes:
    """Return 16 bytes of BLAKE2b over `numbers` and `blobs` in an encoding without ambiguity.

    The encoding writes every number and then the length of every blob as 64 bits, little-endian,
    then the bytes of the blobs. `kind`, at most 16 bytes, keeps the records of two tables apart.
    """
    head = _HEADS[len(numbers) + len(blobs)].pack(
        *[_NO_NUMBER if number is None else number for number in numbers],
        *[_NO_BLOB if blob is None else len(blob) for blob in blobs],
    )
    return blake2b(b"".join([head, *filter(None, blobs)]), digest_size=16, person=kind).digest()


def seal_fits(
    kind: bytes, numbers: Sequence[int | None], blobs: Sequence[bytes | None], checksum: object
) -> bool:
    """Return whether `checksum` is the seal of the values; False for values of a wrong type."""
    try:
        return seal(kind, numbers, blobs) == checksum
    except (TypeError, struct.error):
        return False


def check_record(record: Record) -> Iterator[Finding]:
    """Yield a finding for every embedding of `record` that does not fit its text."""
    memory = record.memory
    for embedding in record.embeddings:
        problem = _find_problem(memory, embedding)
        if problem is not None:
            subject = f"the embedding of memory {memory.id!r} by {embedding.model} is not valid"
            yield Finding(
                part=RecordKind.EMBEDDING,
                id=memory.id,
                what=f"{subject}: {problem}",
                way_out=EMBED_AGAIN,
            )


def _find_problem(memory: Memory, embedding: Embedding) -> str | None:
    import numpy as np  # noqa: PLC0415

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
