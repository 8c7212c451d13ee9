"""The checksum of a record, over all of its fields: an altered or swapped one is noticed."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import blake2b

__all__ = ["seal", "seal_fits"]

_HEADS = [struct.Struct(f"<{count}q") for count in range(32)]
_NO_NUMBER = -(2**63)
_NO_BLOB = -1


def seal(kind: bytes, numbers: Sequence[int | None], blobs: Sequence[bytes | None]) -> bytes:
    """Return 16 bytes of BLAKE2b over `numbers` and `blobs` in an encoding without ambiguity.

    The encoding is every number and then every length as 64 bits, little-endian, then the bytes;
    `kind`, at most 16 bytes, keeps the records of two tables apart.
    """
    head = _HEADS[len(numbers) + len(blobs)].pack(
        *[_NO_NUMBER if number is None else number for number in numbers],
        *[_NO_BLOB if blob is None else len(blob) for blob in blobs],
    )
    return blake2b(b"".join([head, *filter(None, blobs)]), digest_size=16, person=kind).digest()


def seal_fits(
    kind: bytes, numbers: Sequence[int | None], blobs: Sequence[bytes | None], checksum: object
) -> bool:
    """Tell whether `checksum` is the seal of the rest; values of a wrong type do not fit either."""
    try:
        return seal(kind, numbers, blobs) == checksum
    except (TypeError, struct.error):
        return False
