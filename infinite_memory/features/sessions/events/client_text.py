"""What a client adds to the messages of a person, told by its form and by no list of names.

A client puts such text into an element in angle brackets, at the beginning of a block, whose name
has two words, as in `<ide_selection>`, `<task-notification>` and `<permissions instructions>`; no
element of HTML has such a name. `<skill>` of Codex is the one exception. An element that is never
closed is what the person wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ELEMENT = re.compile(
    r"\s*<(?P<name>[A-Za-z][A-Za-z0-9]*(?:[-_ ][A-Za-z0-9]+)+|skill)(?:\s[^<>]*)?>.*?</(?P=name)>",
    re.DOTALL,
)
# This one also stands behind and within what a person wrote.
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
# Sentences that Claude Code and Codex write in the name of the person.
_SENTENCES = ("[Request interrupted by user", "# AGENTS.md ")


def remove_client_text(blocks: Iterable[str]) -> str:
    """Return what the person wrote in the blocks of a message, "" if that is nothing."""
    return "\n\n".join(filter(None, map(_remove_from, blocks)))


def _remove_from(block: str) -> str:
    text = _REMINDER.sub("", block)
    start = 0
    while match := _ELEMENT.match(text, start):
        start = match.end()
    written = text[start:].strip()
    return "" if written.startswith(_SENTENCES) else written
