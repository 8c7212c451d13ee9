"""The known name that somebody probably meant."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

__all__ = ["nearest"]

# Comparing takes time and space in proportion to both lengths: ten million characters took ten
# seconds. No known name is longer than this.
_COMPARED_CHARS = 100


def nearest(name: object, known: Collection[str]) -> str:
    """Return the one of `known`, which must not be empty, that is most like `name`."""
    return get_close_matches(str(name)[:_COMPARED_CHARS], known, n=1, cutoff=0.0)[0]
