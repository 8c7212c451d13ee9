"""What may go over the wire: text that UTF-8 holds, records that pass for nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["encodable", "encodable_data", "is_encodable", "one_line", "quoted"]

_SURROGATE = re.compile("[\ud800-\udfff]")
# Tabs stay; line ends are cut at before this is applied.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_REPLACEMENT = "\ufffd"


def is_encodable(text: str) -> bool:
    """Tell whether UTF-8 can hold `text`: it has no half of a surrogate pair."""
    return text.isascii() or _SURROGATE.search(text) is None


def encodable(text: str) -> str:
    """Return `text` with a replacement character for each lone surrogate.

    One of them in an answer would end the server process.
    """
    return text if text.isascii() else _SURROGATE.sub(_REPLACEMENT, text)


def encodable_data(value: Any) -> Any:
    """Return a copy of JSON data in which every text, also of a name, is encodable."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, Mapping):
        return {encodable(str(name)): encodable_data(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [encodable_data(inner) for inner in value]
    return value


def one_line(value: str) -> str:
    """Return a stored label so that it can neither end a header line nor add a field to it."""
    return (
        _CONTROL.sub(_REPLACEMENT, encodable(value))
        .replace("·", "\u2027")
        .replace("\u2028", " ")
        .replace("\u2029", " ")
    )


def quoted(text: str) -> str:
    """Return a stored text with a mark before every line, so that none can pass for a header.

    Control characters and those that turn the direction of writing become replacement characters.
    """
    lines = encodable(text).splitlines() or [""]
    return "\n".join(f"> {_CONTROL.sub(_REPLACEMENT, line)}".rstrip(" ") for line in lines)
