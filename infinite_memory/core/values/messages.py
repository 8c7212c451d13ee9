"""Parts of messages: counts with their nouns, sizes, and the nearest known name."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


def format_count(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 memory", "2,000 memories"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_size(size_bytes: int) -> str:
    """Return a number of bytes in the unit that suits it: "1 byte", "2.0 KB"."""
    if size_bytes < 1000:
        return format_count(size_bytes, "byte")
    amount = float(size_bytes)
    for unit in ("KB", "MB"):
        amount /= 1000
        if amount < 1000:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} GB"


# The comparison takes time and space in proportion to both lengths: ten seconds for ten million
# characters. No known name is longer than this.
_COMPARED_CHARS = 100


def suggest_name(name: object, known: Collection[str]) -> str:
    """Return the name in `known`, which must not be empty, that is most similar to `name`."""
    return get_close_matches(str(name)[:_COMPARED_CHARS], known, n=1, cutoff=0.0)[0]
