"""Words that a model writes into an argument for which it has no value."""

from __future__ import annotations

__all__ = ["is_placeholder"]

_PLACEHOLDERS = frozenset({"", "null", "nil", "none", "undefined", "n/a", "string", "{}", "[]"})


def is_placeholder(value: object) -> bool:
    """Return whether a value stands for none: null, or a word such as "None", "n/a" or "string".

    A list of nothing but such words is one too. An empty list and an empty object are values.
    """
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, str) and is_placeholder(each) for each in value)
    if isinstance(value, str):
        return "".join(value.split()).casefold() in _PLACEHOLDERS
    return value is None
