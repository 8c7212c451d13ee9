"""The signature of an error: its name, its message and the innermost frames of its stack.

They are found by the shape of the lines. A name is a class (`KeyError`), a code (`E0382`) or a
constant (`ERR_REQUIRE_ESM`). The message is the line with the name, or else the first that says
that something failed. Of a long text, such as a log, the lines that say nothing of a failure are
left out, except the neighbours of a line that does. A line whose words are in many lines is
routine.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from attrs import frozen

from infinite_memory.core.plain import PlainData
from infinite_memory.features.projects.errors.normalize import normalize_error

_MAX_FRAMES = 4
_MAX_MESSAGE = 400
_SHORT = 8
"""A text of no more lines is kept whole."""
_MAX_FAILING = 8
_MAX_TEXT = 2_000

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
    r"(?:^|[\s(:.\\])(?P<name>[A-Z]\w*[a-z]\w*?(?:Error|Exception|Failure|Violation|Denied))"
    r"(?![\w.])"
)
_LEADING_CLASS = re.compile(r"^(?P<name>[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)(?=:)")
_FAILS = re.compile(
    r"\b(?:error|errors|exception|fatal|panic|panicked|fail|failed|failure|denied|cannot|can't"
    r"|couldn't|could not|unable|not found|no such|not exist|invalid|undefined|missing|already"
    r"|blocked|refused|refusing|rejected|aborted|killed|terminated|unbound|too \w+)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:no|not|never|without)\b", re.IGNORECASE)
_LABEL = re.compile(r"\b(?:error|fatal|panic|emerg|exception)\b[^\w\s]", re.IGNORECASE)

# The level of a line in a log that went well.
_LOGGED = re.compile(r"(?:\S+ ){0,4}?[\[(<]?(?:TRACE|DEBUG|INFO|NOTICE)\b")
_WORDS = re.compile(r"[^\W\d_]{2,}+")
_ROUTINE = 4
"""A word in as many lines belongs to the log, not to the failure."""


@frozen(kw_only=True)
class ErrorSignature(PlainData):
    """What stays the same when an error is met again in another place.

    `name` is the class or the code, None if there is none. `message` is the normalised line that
    says what failed, `frames` are up to four functions of the stack, the innermost first. `text` is
    the text to search for: the normalised lines that tell of the failure, with their neighbours.
    """

    name: str | None
    message: str
    frames: tuple[str, ...]
    text: str


def find_error(text: str) -> ErrorSignature | None:
    """Return the signature of the error in `text`, or None if it has no words.

    The caller knows that `text` holds an error: of a text without an error, the first line is taken
    for the message. The normalised text has the same signature.
    """
    normalized = normalize_error(text)
    if not normalized:
        return None
    lines = normalized.split("\n")
    frames = [_find_frame(line) for line in lines]
    ratings = _rate_all(lines, frames)
    is_last = _PYTHON in normalized or _CAUSE in normalized
    headline = _choose_headline(ratings, is_last=is_last)
    names = map(_find_name, [lines[headline], *lines])
    message = lines[headline]
    if message.endswith((":", "(")):
        message = " ".join(lines[headline : headline + 2])
    # The innermost frame is beside the message: above it in Python, below it elsewhere.
    stack = [(abs(place - headline), frame) for place, frame in enumerate(frames) if frame]
    stack.sort(key=lambda pair: pair[0])
    return ErrorSignature(
        name=next(filter(None, names), None),
        message=message[:_MAX_MESSAGE],
        frames=tuple(frame for _, frame in stack[:_MAX_FRAMES]),
        text=_condense_lines(lines, ratings, headline)[:_MAX_TEXT],
    )


def _find_frame(line: str) -> str | None:
    return next((match["frame"] for frame in _FRAMES if (match := frame.match(line))), None)


def _choose_headline(ratings: Sequence[int], *, is_last: bool) -> int:
    """Return the place of the line that names the failure best."""
    best = max(ratings)
    places = [place for place, rating in enumerate(ratings) if rating == best]
    return places[-1] if is_last else places[0]


def _condense_lines(lines: Sequence[str], ratings: Sequence[int], headline: int) -> str:
    """Return the lines of a failure and their neighbours."""
    if len(lines) <= _SHORT:
        return "\n".join(lines)
    failing = [place for place, rating in enumerate(ratings) if rating]
    failing.sort(key=lambda place: (-ratings[place], abs(place - headline)))
    kept = {
        beside
        for place in [headline, *failing[:_MAX_FAILING]]
        for beside in (place - 1, place, place + 1)
    }
    return "\n".join(line for place, line in enumerate(lines) if place in kept)


def _rate_all(lines: Sequence[str], frames: Sequence[str | None]) -> list[int]:
    """Return how surely every line names the failure, from 0 to 4."""
    ratings = [0 if frame else rate_line(line) for line, frame in zip(lines, frames, strict=True)]
    if len(lines) <= _SHORT:
        return ratings
    words = [set(_WORDS.findall(line)) for line in lines]
    counts = Counter(word for of_line in words for word in of_line)
    special = [
        rating if sum(counts[word] >= _ROUTINE for word in of_line) * 2 < len(of_line) else 0
        for rating, of_line in zip(ratings, words, strict=True)
    ]
    # The same failure, again and again, is still the failure.
    return special if any(special) else ratings


def rate_line(line: str) -> int:
    """Return how surely a normalised line names the failure, from 0 to 4."""
    if _LOGGED.match(line):
        return 0
    signs = (_find_name(line), _LABEL.search(line), _FAILS.search(line), _DENIES.search(line))
    return next((4 - place for place, sign in enumerate(signs) if sign), 0)


def _find_name(line: str) -> str | None:
    found = [match["name"] for match in _CLASS_NAME.finditer(line)]
    if found:
        return found[0]
    if match := _LEADING_CLASS.search(line):
        return match["name"]
    # A constant or the number of a ticket is no error by itself.
    match = _CODE_NAME.search(line) if _FAILS.search(line) else None
    return match["name"] if match else None
