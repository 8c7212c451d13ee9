"""Source code: what of it may differ and it is still the same."""

from __future__ import annotations

import re

__all__ = ["is_code", "plain_code"]

_FENCE = re.compile(r"\s*```[\w+-]*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)
_LINE = re.compile(
    r"[\w.\[\]'\"$]+\s*(?:=|[-+*/|&^%]=|==|!=|:=|=>|->)\s"
    r"|[\w.]+\(.*\)\s*[;:{]?$"
    r"|.*[;{}]$"
    r"|(?:if|elif|else|for|while|def|class|try|except|with|return|switch|case|function|const|let|var"
    r"|public|private|static|fn|func|async|await|from|import)\b.*(?:[:{(\[=<>]|->|=>|\bimport\b)"
    r"|import \w+(?: as \w+)?$"
    r"|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\b"
    r"|[$%>]?\s*(?:git|pip|npm|rm|cp|mv|ls|cd|sudo|docker|kubectl|curl|apt|brew|ssh|chmod)\s+[-\w./]"
    r"|(?:#include|#!|//|/\*|@\w+)"
)
_SPACES = re.compile(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|[ \t]+")
_LOOP = re.compile(r"(?:for|while|if)\b")


def is_code(text: str) -> bool:
    """Tell whether most lines of `text` look like source code or a command."""
    if _FENCE.fullmatch(text):
        return True
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    like_code = sum(_LINE.match(line) is not None for line in lines)
    return bool(lines) and 2 * like_code >= len(lines)


def plain_code(text: str) -> str:
    """Return code with every sign of it, but for the width of indents, blank lines and line ends.

    Spaces within a line count as one, those within quotes as they are; a fence around the whole
    and a semicolon at its end are left out.
    """
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1]
    lines: list[str] = []
    depths = [0]
    for line in text.expandtabs(8).split("\n"):
        bare = line.strip()
        if not bare:
            continue
        depth = len(line) - len(line.lstrip())
        while depth < depths[-1] and len(depths) > 1:
            depths.pop()
        if depth > depths[-1]:
            depths.append(depth)
        lines.append(" " * (len(depths) - 1) + _SPACES.sub(lambda found: found[1] or " ", bare))
    if len(lines) == 1 and lines[0].endswith(";") and not _LOOP.match(lines[0]):
        lines[0] = lines[0][:-1].rstrip()
    return "\n".join(lines)
