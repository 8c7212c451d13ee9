"""Suggest the known name that is most similar to an unknown name."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

__all__ = ["suggest_name"]

# The comparison takes time and space in proportion to both lengths: ten seconds for ten million
# characters. No known name is longer than this.
_COMPARED_CHARS = 100


def suggest_name(name: object, known: Collection[str]) -> str:
    """Return the name in `known`, which must not be empty, that is most similar to `name`."""
    return get_close_matches(str(name)[:_COMPARED_CHARS], known, n=1, cutoff=0.0)[0]
