"""Ids of memories: UUID version 7, the id that a caller gives, or a hash of imported content."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeGuard

from attrs import evolve

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.scope import fold_name

if TYPE_CHECKING:
    from infinite_memory.core.values.draft import Draft


ENDING_CHARS = 8
"""The length of the shortest ending that may stand for an id."""

RandomBytes = Callable[[int], bytes]
"""A function that returns a given number of random bytes."""

_ID = re.compile(r"[A-Za-z0-9._:/-]{1,128}")
_IMPORT_PREFIX = "import:"
_IMPORT_DIGITS = 32
_IMPORT_CHARS = len(_IMPORT_PREFIX) + _IMPORT_DIGITS


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


def is_id(value: object) -> TypeGuard[str]:
    """Return whether `value` can be the id of a memory."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def check_id(value: object) -> str:
    """Return `value` if it can be the id of a memory.

    Raises:
        InvalidInput: `value` is not 1 to 128 ASCII letters, digits and ``._:/-``.
    """
    if is_id(value):
        return value
    raise InvalidInput(
        f"id {value!r:.160} cannot be used: give 1 to 128 letters, digits and ._:/- or leave it out"
    )


def ending_of(memory_id: str) -> str:
    """Return the last `ENDING_CHARS` characters of an id, or the whole of a shorter id."""
    return memory_id[-ENDING_CHARS:]


def give_import_ids(drafts: Iterable[Draft]) -> Iterator[Draft]:
    """Yield the drafts in their order; a draft without an id gets one from its content.

    The id is "import:" and the first 32 hexadecimal digits of the SHA-256 of a JSON array: the
    text, the time in UTC or null, the speaker, the conversation, the folded name of the scope or
    null, and the number of the draft among those that are equal in all of this, counted from 1.
    """
    counts: Counter[bytes] = Counter()
    for draft in drafts:
        if draft.id is not None:
            yield draft
            continue
        time = draft.happened_at
        content: list[object] = [
            draft.text,
            time.astimezone(UTC).isoformat() if isinstance(time, datetime) else time,
            draft.speaker,
            draft.conversation_id,
            None if draft.scope is None else fold_name(str(draft.scope)),
        ]
        digest = _hash_json(content)
        counts[digest] += 1
        yield evolve(draft, id=import_id([*content, counts[digest]]))


def import_id(content: list[object]) -> str:
    """Return the id of imported `content`: the same for the same values, in any process."""
    return f"{_IMPORT_PREFIX}{_hash_json(content).hex()[:_IMPORT_DIGITS]}"


def is_import_id(memory_id: str) -> bool:
    """Return whether `import_id` made an id."""
    return memory_id.startswith(_IMPORT_PREFIX) and len(memory_id) == _IMPORT_CHARS


def _hash_json(content: list[object]) -> bytes:
    # A value that JSON cannot hold is hashed by its repr; the validation refuses it later.
    text = json.dumps(content, ensure_ascii=True, default=repr)
    return hashlib.sha256(text.encode()).digest()
