"""The cursor of a page of `Storage.find`, the same for every backend."""

from __future__ import annotations

import base64
import binascii
import re

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.codec import to_micros
from infinite_memory.core.values.memory import Memory

Position = tuple[int, str]
"""The position of a memory in the order of `find`: microseconds of `happened_at`, then the id."""

_POSITION = re.compile(r"(-?[0-9]{1,18})@([A-Za-z0-9._:/-]{1,128})")


def position_of(memory: Memory) -> Position:
    """Return the position of `memory` in the order of `find`."""
    return to_micros(memory.happened_at), memory.id


def encode_cursor(memory: Memory) -> str:
    """Return the cursor of the page that begins after `memory`."""
    return encode_position(position_of(memory))


def encode_position(position: Position) -> str:
    """Return the cursor of the page that begins after `position`."""
    micros, memory_id = position
    return base64.urlsafe_b64encode(f"{micros}@{memory_id}".encode("ascii")).decode("ascii")


def decode_cursor(cursor: str) -> Position:
    """Return the position that `encode_cursor` wrote.

    Raises:
        InvalidInput: `cursor` is not a cursor that `encode_cursor` wrote.
    """
    try:
        text = base64.b64decode(cursor, altchars=b"-_", validate=True).decode("ascii")
    except (TypeError, ValueError, binascii.Error):
        text = ""
    match = _POSITION.fullmatch(text)
    if match is None:
        raise InvalidInput(
            f"page cursor {cursor!r:.80} cannot be used: give the `next` of an earlier page"
        )
    return int(match[1]), match[2]


def check_limit(limit: int) -> None:
    """Refuse a limit under 1.

    Raises:
        InvalidInput: `limit` is under 1.
    """
    if limit < 1:
        raise InvalidInput(f"limit {limit!r} cannot be used: give a whole number of at least 1")
