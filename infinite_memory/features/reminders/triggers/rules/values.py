"""Values that several parts of rules share."""

from __future__ import annotations

from collections.abc import Sequence

from infinite_memory.core.errors import InvalidInput

_MOST_TEXTS = 1000
_MOST_CHARS = 500


def list_texts(value: object, place: str) -> list[str]:
    """Return the texts of a list; a text alone is a list of it.

    Raises:
        InvalidInput: it is no list of texts, or it is empty, or too long.
    """
    if isinstance(value, str):
        value = [value]
    if isinstance(value, bytes) or not isinstance(value, Sequence) or not value:
        raise InvalidInput(f"{place}: give a list of texts, not {value!r:.100}")
    if len(value) > _MOST_TEXTS:
        raise InvalidInput(f"{place} has {len(value):,} entries and the limit is {_MOST_TEXTS:,}")
    for text in value:
        if not isinstance(text, str) or not text.strip() or len(text) > _MOST_CHARS:
            raise InvalidInput(
                f"{place}: {text!r:.100} cannot be used: give a text of 1 to {_MOST_CHARS}"
                " characters"
            )
    return list(value)
