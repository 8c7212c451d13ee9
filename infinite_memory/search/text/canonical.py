"""The canonical form of a text: memories whose forms are equal collapse into one hit.

Only results depend on it. A difference that may be a fact, such as a capital or a comma, counts.
"""

from __future__ import annotations

import re
import unicodedata

CANONICAL_VERSION = 1
"""Raised with every change to `canonicalize` or `is_relative`, so that indexes are built again."""

# Between words alone: in '" "' the space may be the fact.
_SPACES = re.compile(r"(?<=[\w,;:.!?]) {2,}(?=\w)")
_FULL_STOPS = ".。．｡।۔։።"
# An ellipsis and a pattern such as "[a-z]." keep their ends.
_FINAL_FULL_STOP = re.compile(rf"(?<=[^\s{_FULL_STOPS}…\]])[{_FULL_STOPS}]$")


_LINE = re.compile(
    r"[\w.\[\]'\"$]+\s*(?:=|[-+*/|&^%]=|==|!=|:=|=>|->)\s"
    r"|[\w.]+\(.*\)\s*[;:{]?$"
    r"|.*+(?<=[;{}])$"
    r"|(?:if|elif|else|for|while|def|class|try|except|with|return|switch|case|function|const|let|var"
    r"|public|private|static|fn|func|async|await|from|import)\b.*(?:[:{(\[=<>]|->|=>|\bimport\b)"
    r"|import \w+(?: as \w+)?$"
    r"|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\b"
    r"|[$%>]?\s*(?:git|pip|npm|rm|cp|mv|ls|cd|sudo|docker|kubectl|curl|apt|brew|ssh|chmod)\s+[-\w./]"
    r"|(?:#include|#!|//|/\*|@\w+|```)"
)


def is_code(line: str) -> bool:
    """Return whether `line`, without spaces around it, looks like source code or a command."""
    return _LINE.match(line) is not None


def canonicalize(text: str) -> str:
    """Return `text` in NFC, without white space at its end.

    A line of prose loses runs of spaces, spaces around it, and one final full stop as well.
    """
    text = text.rstrip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if "\n" in text or is_code(text.strip()):
        return text
    return _FINAL_FULL_STOP.sub("", _SPACES.sub(" ", text.strip()))
