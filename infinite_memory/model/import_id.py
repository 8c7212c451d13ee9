"""Ids of imported memories that have none of their own, the same at each import of a file."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC

from attrs import evolve

from infinite_memory.model.draft import Draft
from infinite_memory.model.scope import fold_name

__all__ = ["give_import_ids", "is_import_id"]

_PREFIX = "import:"
_DIGITS = 32


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
            time.astimezone(UTC).isoformat() if time is not None else None,
            draft.speaker,
            draft.conversation_id,
            None if draft.scope is None else fold_name(str(draft.scope)),
        ]
        digest = _hash(content)
        counts[digest] += 1
        name = _hash([*content, counts[digest]]).hex()[:_DIGITS]
        yield evolve(draft, id=f"{_PREFIX}{name}")


def is_import_id(memory_id: str) -> bool:
    """Return whether `give_import_ids` made an id."""
    return memory_id.startswith(_PREFIX) and len(memory_id) == len(_PREFIX) + _DIGITS


def _hash(content: list[object]) -> bytes:
    # What cannot be encoded is refused later, with a message.
    text = json.dumps(content, ensure_ascii=True, default=repr)
    return hashlib.sha256(text.encode()).digest()
