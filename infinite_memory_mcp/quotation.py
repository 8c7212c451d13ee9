"""Quote stored text in an answer, so that no record passes for a header or for another record."""

from __future__ import annotations

import re

from infinite_memory_mcp.jsonrpc import REPLACEMENT, replace_surrogates

__all__ = ["escape_label", "quote_lines"]

# Tabs stay; `quote_lines` splits at line ends before it replaces control characters.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def escape_label(value: str) -> str:
    """Return a stored label in a form that neither ends a header line nor adds a field to it."""
    return (
        _CONTROL.sub(REPLACEMENT, replace_surrogates(value))
        .replace("·", "\u2027")
        .replace("\u2028", " ")
        .replace("\u2029", " ")
    )


def quote_lines(text: str) -> str:
    """Return a stored text with "> " before every line.

    Control characters, and characters that change the direction of writing, become U+FFFD.
    """
    lines = replace_surrogates(text).splitlines() or [""]
    return "\n".join(f"> {_CONTROL.sub(REPLACEMENT, line)}".rstrip(" ") for line in lines)
