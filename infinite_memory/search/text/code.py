"""The recognition of source code, in which every sign counts."""

from __future__ import annotations

import re

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
