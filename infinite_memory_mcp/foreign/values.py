"""Convert values that various memory servers use: importance, kind, labels, period, messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from infinite_memory.core.values.memory import Kind

_KINDS: Mapping[Kind, str] = {
    Kind.FACT: "preference user_preference preferences profile identity personal goal relationship",
    Kind.LESSON: "learning insight gotcha best_practice pattern learned",
    Kind.PROBLEM: "bug error issue",
    Kind.SOLUTION: "fix resolution workaround",
    Kind.CODE_CHANGE: "code code_edit commit refactor",
    Kind.DISCUSSION: "meeting conversation chat dialogue",
    Kind.DECISION: "adr architecture choice",
    Kind.REMINDER: "todo task action_item deadline",
    Kind.NOTE: "event observation reference document general episodic semantic procedural text",
}
"""Kinds that various servers use, by the nearest kind of ours."""

_BY_WORD = {word: str(kind) for kind, words in _KINDS.items() for word in words.split()}
_IMPORTANT = frozenset({"high", "very high", "highest", "critical", "urgent", "important", "yes"})
_UNIMPORTANT = frozenset({"low", "very low", "lowest", "medium", "normal", "minor", "none", "no"})
_SCALES = (1, 5, 10, 100)
_IMPORTANT_SHARE = 0.7
_COMMAS = re.compile(r"[,，、;；\n]")
_SHORT_PERIOD = re.compile(r"(\d{1,4})\s*(h|d|w|m|mo|y|hours?|days?|weeks?|months?|years?)", re.I)
_UNITS = {"h": "hours", "d": "days", "w": "weeks", "m": "months", "y": "years"}


def read_importance(value: Any) -> bool | None:
    """Return whether an importance is high, None if the value is not an importance.

    A number is a share of the smallest of the scales to 1, 5, 10 and 100 that holds it, and is high
    from 0.7 of the scale.
    """
    if isinstance(value, str):
        word = " ".join(value.casefold().replace("_", " ").split())
        if word in _IMPORTANT or word in _UNIMPORTANT:
            return word in _IMPORTANT
        try:
            value = float(word)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    scale = next((scale for scale in _SCALES if 0 <= value <= scale), None)
    return None if scale is None else value / scale >= _IMPORTANT_SHARE


def match_kind(value: str) -> str | None:
    """Return the kind that a word means, None for a word that means none."""
    word = "_".join(value.casefold().replace("-", " ").split())
    if word in set(Kind):
        return word
    singular = word.removesuffix("s")
    return _BY_WORD.get(word) or (singular if singular in set(Kind) else _BY_WORD.get(singular))


def split_labels(value: Any) -> Any:
    """Return the labels of a text with commas between them; return a different value unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] == "[":
        return value
    return [label for part in _COMMAS.split(value) if (label := part.strip().lstrip("#"))]


def read_epoch(value: float) -> Any:
    """Return a number of seconds or milliseconds since 1970 as ISO 8601, a different number as is.

    From 1e11 on a number counts milliseconds: as seconds it would be a date after the year 5000.
    A small number, such as 2024, is rather a year.
    """
    if not value >= 1e8:
        return value
    try:
        return datetime.fromtimestamp(value / 1000 if value >= 1e11 else value, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return value


def read_period(words: str) -> str:
    """Return a short period such as "7d" in words; return a different text unchanged."""
    match = _SHORT_PERIOD.fullmatch(words.strip())
    if match is None:
        return words
    return f"last {match[1]} {_UNITS[match[2][0].casefold()]}"


def join_messages(messages: Sequence[Any]) -> str:
    """Return a conversation of objects with `role` and `content` as lines of text."""
    lines = []
    for message in messages:
        if not isinstance(message, Mapping):
            lines.append(str(message))
            continue
        content = message.get("content", message.get("text", ""))
        name = message.get("role") or message.get("name")
        lines.append(f"{name}: {content}" if name and len(messages) > 1 else str(content))
    return "\n".join(lines)
