"""Stored text on one line, without characters that could steer what shows it."""

from __future__ import annotations

import re

# Control characters but for the line feed and the tab, surrogates, line separators, what reverses
# the direction of writing, and the invisible copies of ASCII.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def escape_controls(text: str) -> str:
    """Return `text` with every character escaped that could control a terminal or a page."""
    return _STEERING.sub(
        lambda match: match[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n")
    )


def one_line(text: str, *, max_chars: int) -> str:
    """Return the words of `text` in a line, shortened to `max_chars`."""
    # Four times the length holds enough words even with much white space.
    line = " ".join(text[: 4 * max_chars].split())
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + "…"
