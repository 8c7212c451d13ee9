"""The canonical form of a text: memories whose forms are equal collapse into one hit.

Only results depend on it. A difference that may be a fact, such as a capital or a comma, counts.
"""

from __future__ import annotations

import re
import unicodedata

from infinite_memory.search.text.code import is_code

CANONICAL_VERSION = 1
"""Raised with every change to `canonicalize` or `is_relative`, so that indexes are built again."""

# Between words alone: in '" "' the space may be the fact.
_SPACES = re.compile(r"(?<=[\w,;:.!?]) {2,}(?=\w)")
_FULL_STOPS = ".。．｡।۔։።"
# An ellipsis and a pattern such as "[a-z]." keep their ends.
_FINAL_FULL_STOP = re.compile(rf"(?<=[^\s{_FULL_STOPS}…\]])[{_FULL_STOPS}]$")


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
