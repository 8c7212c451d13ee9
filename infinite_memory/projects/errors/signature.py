"""The signature of an error: its name, its message and the innermost frames of its stack.

They are found by the shape of the lines. A name is a class (`KeyError`), a code (`E0382`) or a
constant (`ERR_REQUIRE_ESM`). The message is the line with the name, or else the first that says
that something failed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from infinite_memory.plain import PlainData
from infinite_memory.projects.errors.normalize import normalize_error

__all__ = ["ErrorSignature", "find_error"]

_MAX_FRAMES = 4
_MAX_MESSAGE = 400

# At the same place in another run, a frame has the same function: the innermost group.
_FRAMES = (
    re.compile(r'File "[^"]*+", line 0, in (?P<frame>\S+)'),
    re.compile(r"at (?:async |new )?(?P<frame>[\w$.:<>\[\]`/@]+)(?: \[as \w+\])? ?\("),
    re.compile(r"(?P<frame>[\w.-]+\.(?:\(\*?\w+\)\.)?[\w.]+)\([^)]*+\)$"),
    re.compile(r"(?:#\d++|0:) (?:0 in |0 - )?(?P<frame>[A-Za-z_][\w:<>~]*+)"),
    re.compile(r".*?:0:in [`'](?P<frame>[^`']+)'"),
)
_PYTHON = "Traceback (most recent call last)"
_CAUSE = "Caused by:"
_CODE_NAME = re.compile(
    r"\b(?P<name>[A-Z]{1,5}-?\d{3,5}|E[A-Z]{5,}|[A-Z]{2,}(?:_[A-Z0-9]+)+)\b(?!\.\w)"
)
_CLASS_NAME = re.compile(
    r"(?:^|[\s(:.\\])(?P<name>[A-Z]\w*[a-z]\w*?(?:Error|Exception|Warning|Failure|Violation|Denied))"
    r"(?![\w.])"
)
_LEADING_CLASS = re.compile(r"^(?P<name>[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)(?=:)")
_FAILS = re.compile(
    r"\b(?:error|errors|exception|fatal|panic|panicked|fail|failed|failure|emerg|denied|cannot"
    r"|can't|couldn't|could not|unable|not found|no such|not exist|invalid|undefined|missing"
    r"|refused|refusing|rejected|aborted|killed|terminated|unbound|too \w+)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\b(?:error|fatal|panic|emerg|exception)\b[^\w\s]", re.IGNORECASE)


@frozen(kw_only=True)
class ErrorSignature(PlainData):
    """What stays the same when an error is met again in another place.

    `name` is the class or the code, None if there is none. `message` is the normalised line that
    says what failed, `frames` are up to four functions of the stack, the innermost first. `text` is
    the whole error as `normalize_error` returns it.
    """

    name: str | None
    message: str
    frames: tuple[str, ...]
    text: str


def find_error(text: str) -> ErrorSignature | None:
    """Return the signature of the error in `text`, or None if it has no words.

    The caller knows that `text` holds an error: of a text without one, the first line is taken for
    the message. The normalised text has the same signature.
    """
    normalized = normalize_error(text)
    lines = normalized.split("\n")
    messages = [line for line in lines if _frame_of(line) is None] or lines
    if not normalized:
        return None
    frames = [frame for line in lines if (frame := _frame_of(line))]
    if _PYTHON in normalized:
        frames.reverse()
    message, name = _headline(messages, is_last=_PYTHON in normalized or _CAUSE in normalized)
    return ErrorSignature(
        name=name,
        message=message[:_MAX_MESSAGE],
        frames=tuple(frames[:_MAX_FRAMES]),
        text=normalized,
    )


def _frame_of(line: str) -> str | None:
    return next((match["frame"] for frame in _FRAMES if (match := frame.match(line))), None)


def _headline(lines: Sequence[str], *, is_last: bool) -> tuple[str, str | None]:
    """Return the line that says best what failed, and the name in it."""
    ratings = [_rate(line) for line in lines]
    best = max(ratings)
    index = ratings.index(best)
    if is_last:
        index = len(ratings) - 1 - ratings[::-1].index(best)
    line = lines[index]
    name = _name_in(line)
    if name is None:
        name = next(filter(None, map(_name_in, lines)), None)
    if line.endswith((":", "(")) and index + 1 < len(lines):
        line = f"{line} {lines[index + 1]}"
    return line, name


def _rate(line: str) -> int:
    if _name_in(line):
        return 3
    if _LABEL.search(line):
        return 2
    return 1 if _FAILS.search(line) else 0


def _name_in(line: str) -> str | None:
    found = [match["name"] for match in _CLASS_NAME.finditer(line)]
    if found:
        return found[0]
    match = _LEADING_CLASS.search(line) or _CODE_NAME.search(line)
    return match["name"] if match else None
