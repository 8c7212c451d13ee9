"""Files that must not be remembered: their names and contents are kept out of every chunk."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache

from attrs import frozen

__all__ = ["EXCLUDED", "Exclusion"]

EXCLUDED = "[excluded file]"
"""Stands in a text for the name of an excluded file."""

_WORDS = (
    re.compile(r"""[^\s"'`()\[\]{}<>,;:=|&]+"""),
    # In a language without spaces between words, a name stands among them.
    re.compile(r"[\w./\\~+@%-]+", re.ASCII),
)


@lru_cache(maxsize=64)
def _compile(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    # A pattern with a slash is one of paths, at any depth; any other one is one of names.
    parts = [
        translate(pattern if pattern.startswith("/") else f"*/{pattern.removeprefix('./')}")
        for pattern in patterns
    ]
    return re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE)


@frozen
class Exclusion:
    """Patterns of files, such as "*.env" or "secrets/*"; letter case is ignored."""

    patterns: tuple[str, ...]

    def excludes(self, path: str) -> bool:
        """Return whether a file is excluded, by its name or its path."""
        pattern = _compile(self.patterns)
        cleaned = path.replace("\\", "/").rstrip(".!?")
        return pattern is not None and pattern.fullmatch(f"/{cleaned.lstrip('/')}") is not None

    def keep(self, paths: Iterable[str]) -> list[str]:
        """Return the files that are not excluded."""
        return [path for path in paths if not self.excludes(path)]

    def names_in(self, text: str) -> bool:
        """Return whether a text names an excluded file."""
        return any(self.excludes(match[0]) for word in _WORDS for match in word.finditer(text))

    def redact(self, text: str) -> str:
        """Return a text in which the name of every excluded file is replaced."""
        if not self.patterns:
            return text
        for word in _WORDS:
            text = word.sub(lambda match: EXCLUDED if self.excludes(match[0]) else match[0], text)
        return text
