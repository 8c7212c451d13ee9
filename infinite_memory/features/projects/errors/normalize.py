"""The text of an error without the parts that differ between machines and runs.

A path becomes the name of its file, and a web address the word `url`. Numbers become 0: places in a
file, ports, processes, times, sizes and versions, also addresses of memory, commits and UUIDs.
The number of an error is kept: of `E0382`, `exit code 137` and `ERROR 1045`. Colours, underlines
of source code and the bars beside a message are removed.

No replacement is longer than the original, so that a text within a limit stays within it,
and a line is replaced again until nothing changes: the result normalises to itself.
"""

from __future__ import annotations

import re
from itertools import pairwise

MAX_CHARS = 40_000
"""Of a longer text, only the first and the last half of as many characters are read."""

_MAX_LINE = 1_000
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*+[ -/]*+[@-~]|\x1b\][^\x07\x1b]*+\x07")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Bars and arrows around a message, and underlines below a line of source code.
_MARGIN = re.compile(r"^[\s│┃|╷╵╰╭└┌─>=*~^×•]+|^[_-]{2,}+(?=\s)|(?<=\s)[_-]{2,}+$|[\s~^│┃|=*]++$")
_HAS_WORD = re.compile(r"[^\W_]")
_SPACES = re.compile(r"\s+")
_URL = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*+://[^\s\"'<>()\[\]{},]++")
_NAME = r"[\w.@+~$-]"
_PATH = re.compile(
    rf"(?<!{_NAME})(?<![\\/])(?:[A-Za-z]:(?=[\\/]))?(?:{_NAME}*+[\\/]++)++(?:{_NAME}++)?"
)
_STEP = re.compile(r"[\\/]+")
_UUID = re.compile(r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b")
_HEXADECIMAL = re.compile(
    r"\b0[xX][0-9A-Fa-f]++\??|"
    r"(?<![A-Za-z0-9])(?=[0-9]*+[a-f])(?=[a-f]*+[0-9])[0-9a-f]{7,}+(?![A-Za-z0-9])"
)
_NUMBER = re.compile(
    r"(?<!\w)\d++(?:[T.,:/+-]+\d++)*+(?:[A-Za-z%µ]{1,5}+(?!\w))?|(?<=_)\d{2,}+(?![A-Za-z])"
)
# What stands before the number of an error.
_CODE = re.compile(
    r"\b(?:code|errno|error|exit|http|signal|sqlstate|status)[\s:=#(\[\"']*-?$", re.I
)
_CODE_REACH = 14
_CODE_DIGITS = re.compile(r"\d{1,5}+(?![.:,/+-]?\w)")


def normalize_error(text: str) -> str:
    """Return the text of an error without its varying parts; it normalises to itself."""
    if len(text) > MAX_CHARS:
        text = text[: MAX_CHARS // 2] + "\n" + text[1 - MAX_CHARS // 2 :]
    text = _CONTROLS.sub("", _ESCAPES.sub("", text))
    lines = [line for line in map(_normalize_line, text.splitlines()) if line]
    # Of lines in a row that became the same, one is enough.
    kept = [line for before, line in pairwise(["", *lines]) if line != before]
    return "\n".join(kept)


def _normalize_line(line: str) -> str:
    line = line[:_MAX_LINE]
    while (replaced := _replace_numbers(line)) != line:
        line = replaced
    return line if _HAS_WORD.search(line) else ""


def _replace_numbers(line: str) -> str:
    line = _SPACES.sub(" ", _MARGIN.sub("", line)).strip()
    line = _URL.sub("url", line)
    line = _UUID.sub("0", line)
    line = _PATH.sub(_name_of_path, line)
    line = _HEXADECIMAL.sub("0", line)
    return _NUMBER.sub(_replace_number, line)


def _name_of_path(match: re.Match[str]) -> str:
    return next((name for name in reversed(_STEP.split(match.group())) if name), "/")


def _replace_number(match: re.Match[str]) -> str:
    line, start = match.string, match.start()
    is_code = _CODE_DIGITS.match(line, start) and _CODE.search(
        line[max(0, start - _CODE_REACH) : start]
    )
    return match.group() if is_code else "0"
