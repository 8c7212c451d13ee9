"""Files that must not be remembered: their names and contents are kept out of every chunk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from functools import lru_cache

from attrs import frozen

EXCLUDED = "[excluded file]"
"""Stands in a text for the name of an excluded file."""

_WORDS = (
    re.compile(r"""[^\s"'`()\[\]{}<>,;:=|&]+"""),
    # In a language without spaces between words, a name stands among them.
    re.compile(r"[\w./\\~+@%-]+", re.ASCII),
    # A name may follow a mark, the colour of a terminal or the n of an escaped line break.
    re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\w./-]+", re.ASCII),
)
_DIFF = re.compile(
    r"^(?:diff -|Index: |--- .*\n\+\+\+ ).*"
    r"(?:\n(?:(?:[ +@\\-]|index |new |old |deleted |similarity |rename |Binary |={5}).*)?)*+"
    r"|^==> .* <==$(?:\n(?!==> ).*)*+",
    re.MULTILINE,
)
_HEADERS = re.compile(r"^(?:diff -|Index: |--- |\+\+\+ |==> ).*", re.MULTILINE)
# Of a search with lines around a hit: the name of the file, the number of the line, its text.
_NUMBERED = re.compile(r"-\d+-.*")
_PRINTED = re.compile(rf"{re.escape(EXCLUDED)}[:=-].*")


@lru_cache(maxsize=64)
def _compile_patterns(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    if not patterns:
        return None
    parts = [translate(form) for pattern in patterns for form in _list_forms(pattern)]
    return re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE)


@lru_cache(maxsize=8192)
def _fits_pattern(patterns: tuple[str, ...], path: str) -> bool:
    """Return whether a path fits one of the patterns; most words of a text come again."""
    pattern = _compile_patterns(patterns)
    cleaned = path.replace("\\", "/").rstrip("/.!?")
    return pattern is not None and pattern.fullmatch(f"/{cleaned.lstrip('/')}") is not None


def _list_forms(pattern: str) -> Iterator[str]:
    """Yield the patterns of the whole paths that a pattern stands for.

    One with a slash is one of paths, at any depth; any other one is one of names. All that is in an
    excluded folder is excluded too, and "**" between slashes stands for no folder as well.
    """
    cleaned = pattern.replace("\\", "/").removeprefix("./").rstrip("/")
    rooted = cleaned if cleaned.startswith("/") else f"*/{cleaned}"
    for form in dict.fromkeys((rooted, rooted.replace("/**/", "/"))):
        yield form
        yield f"{form}/*"


@lru_cache(maxsize=64)
def _compile_spaced(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return what finds names with spaces, which are no words of a text; None without any."""
    parts = [
        "".join(_SPACED.get(char, re.escape(char)) for char in pattern)
        for pattern in patterns
        if " " in pattern
    ]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


_SPACED = {" ": r"\\? ", "*": r"[^\n/]*", "?": r"[^\n/]"}


@frozen
class Exclusion:
    """Patterns of files, such as "*.env" or "secrets/*"; letter case is ignored."""

    patterns: tuple[str, ...]

    def excludes(self, path: str) -> bool:
        """Return whether a file is excluded, by its name or its path."""
        return _fits_pattern(self.patterns, path)

    def keep(self, paths: Iterable[str]) -> list[str]:
        """Return the files that are not excluded."""
        return [path for path in paths if not self.excludes(path)]

    def names_in(self, text: str) -> bool:
        """Return whether a text names an excluded file."""
        return self._redact_names(text) != text

    def redact(self, text: str) -> str:
        """Return a text without the names of excluded files, and without differences of them."""
        return self._redact_names(_DIFF.sub(self._redact_diff, text)) if self.patterns else text

    def redact_output(self, text: str) -> str:
        """Return what a command printed, also without the lines that it found in such files."""
        return _PRINTED.sub(EXCLUDED, self.redact(text))

    def _redact_diff(self, match: re.Match[str]) -> str:
        headers = "\n".join(_HEADERS.findall(match[0]))
        return f"{EXCLUDED}\n" if self.names_in(headers) else match[0]

    def _redact_names(self, text: str) -> str:
        spaced = _compile_spaced(self.patterns)
        if spaced is not None:
            text = spaced.sub(EXCLUDED, text)
        for word in _WORDS:
            parts = text.split(EXCLUDED)
            text = EXCLUDED.join([word.sub(self._redact_word, part) for part in parts])
        return text

    def _redact_word(self, match: re.Match[str]) -> str:
        word = match[0]
        forms = {word, _NUMBERED.sub("", word.strip("_-"))}
        return EXCLUDED if any(map(self.excludes, forms)) else word
