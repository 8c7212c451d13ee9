"""Identifiers: UUID version 7, or the caller's own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import datetime

from infinite_memory.errors import InvalidInput

__all__ = ["RandomBytes", "check_id", "new_id"]

RandomBytes = Callable[[int], bytes]
"""A function that returns a given number of random bytes."""

_ID = re.compile(r"[A-Za-z0-9._:/-]{1,128}")


def new_id(now: datetime, random_bytes: RandomBytes = os.urandom) -> str:
    """Return a UUID version 7 (RFC 9562, section 5.7) for the moment `now`.

    48 bits of Unix milliseconds and 74 random bits, so that ids sort by creation time.
    """
    milliseconds = int(now.timestamp() * 1000) & (2**48 - 1)
    number = (milliseconds << 80) | int.from_bytes(random_bytes(10), "big")
    number = (number & ~(0xF << 76)) | (0x7 << 76)
    number = (number & ~(0x3 << 62)) | (0x2 << 62)
    digits = f"{number:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def check_id(value: object) -> str:
    """Return `value` if it can be the id of a memory.

    Raises:
        InvalidInput: `value` is not 1 to 128 ASCII letters, digits and ``._:/-``.
    """
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise InvalidInput(
        f"id {value!r:.160} cannot be used: give 1 to 128 letters, digits and ._:/- or leave it out"
    )
