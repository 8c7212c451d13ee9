"""Fit an answer of the JSON layer into its size: cut what is long, and say where to read on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from typing import Any

from infinite_memory import InvalidInput

MAX_BYTES = 200_000
"""The most bytes of an answer."""

_AROUND_BYTES = 1000
_ROOM = MAX_BYTES - _AROUND_BYTES
# The most characters of an answer to whoever asks for a whole text.
_WHOLE_CHARS = 4_000_000
# The most characters of a text and entries of a list, from generous to what always fits.
_STEPS = ((30_000, 1000), (8000, 500), (2000, 200), (500, 100), (120, 50), (40, 12), (20, 3))
_MANY_ENTRIES = 100


class WholeText(dict[str, Any]):
    """An object of which somebody asked for the whole text: it comes in far larger pieces."""


def encode_answer(value: Any, *, start: int, further: Mapping[str, Any]) -> bytes:
    """Return the answer `{"value": ...}`, with `next` where more of a list or a text follows.

    `start` is such a `next`: the entry of a list, or the character of the text of an object, with
    which the value begins. An object whose texts and lists were cut has their whole lengths under
    `cut`.
    """
    is_mapping = isinstance(value, dict) and len(value) > _MANY_ENTRIES
    if isinstance(value, list) or is_mapping:
        answer = _fit_entries(value, start)
    elif isinstance(value, dict) and isinstance(value.get("text"), str):
        answer = _fit_text(value, start)
    elif start:
        raise InvalidInput(f"from {start} cannot be used: this answer has no pages, leave it out")
    else:
        answer = {"value": _fit(value, _ROOM)}
    return _encode({**answer, **further})


def _fit_entries(value: list[Any] | dict[str, Any], start: int) -> dict[str, Any]:
    """Return as many entries as fit, from `start` on."""
    entries: list[Any] = list(value.items()) if isinstance(value, dict) else value
    taken: list[Any] = []
    size = 0
    for entry in islice(entries, start, None):
        fitted = _fit(entry, _ROOM // 8)
        size += len(_encode(fitted)) + 2
        if size > _ROOM and taken:
            break
        taken.append(fitted)
    end = start + len(taken)
    answer: dict[str, Any] = {"value": dict(taken) if isinstance(value, dict) else taken}
    return answer if end >= len(entries) else {**answer, "next": end}


def _fit_text(value: dict[str, Any], start: int) -> dict[str, Any]:
    """Return an object with the part of its text that begins at `start`."""
    text, is_whole = value["text"], isinstance(value, WholeText)
    most = _WHOLE_CHARS if is_whole else MAX_BYTES
    part = {**value, "text": text[start : start + most]}
    fitted = part if is_whole else _fit(part, _ROOM)
    end = start + len(fitted["text"])
    if start or end < len(text):
        fitted["cut"] = {**fitted.get("cut", {}), "text": len(text)}
    return {"value": fitted} if end >= len(text) else {"value": fitted, "next": end}


def _fit(value: Any, room: int) -> Any:
    if _fits(value, room):
        return value
    for chars, entries in _STEPS:
        cut = _cut(value, chars, entries)
        if _fits(cut, room):
            return cut
    return None


def _cut(value: Any, chars: int, entries: int) -> Any:
    if isinstance(value, str):
        return value[:chars]
    if isinstance(value, list | tuple):
        return [_cut(item, chars, entries) for item in value[:entries]]
    if not isinstance(value, dict):
        return value
    kept = {
        name[:chars]: _cut(item, chars, entries) for name, item in islice(value.items(), entries)
    }
    lengths = {name: len(value[name]) for name in kept if _is_shorter(kept[name], value.get(name))}
    return {**kept, "cut": lengths} if lengths else kept


def _is_shorter(kept: Any, whole: Any) -> bool:
    return isinstance(whole, str | list | tuple | Mapping) and len(kept) < len(whole)


def _fits(value: Any, room: int) -> bool:
    return len(_encode(value)) <= room


def _encode(value: Any) -> bytes:
    # A lone surrogate can stand only in a message that quotes what the client sent.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace")
