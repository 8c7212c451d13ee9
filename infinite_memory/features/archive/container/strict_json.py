"""Reads JSON from an untrusted file: every value has the expected type, or the reading fails."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Return whether every storage can keep `text`: no NUL and no lone surrogate."""
    return "\0" not in text if text.isascii() else _UNSTORABLE.search(text) is None


def read_object(content: object) -> dict[str, Any]:
    """Return a JSON object, given as bytes in UTF-8 or as a parsed value.

    Raises:
        ValueError: it is not an object, or not valid JSON.
    """
    try:
        value = _DECODER.decode(str(content, "utf-8")) if isinstance(content, bytes) else content
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it has the number {name}")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def read_text(fields: Mapping[str, Any], name: str) -> str:
    """Return a text that every storage can keep."""
    value = fields.get(name)
    if not isinstance(value, str) or not is_storable(value):
        raise ValueError(f"{name} is no text that can be stored")
    return value


def read_texts(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of texts."""
    values = fields.get(name)
    if not isinstance(values, list):
        raise ValueError(f"{name} is no list")
    if not all(isinstance(value, str) and is_storable(value) for value in values):
        raise ValueError(f"{name} has a value that is no text")
    return tuple(values)


def read_flag(fields: Mapping[str, Any], name: str) -> bool:
    """Return a boolean."""
    value = fields.get(name)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is not true or false")
    return value


def read_number(fields: Mapping[str, Any], name: str) -> int:
    """Return an integer of 64 bits."""
    value = fields.get(name)
    if type(value) is not int or not -(2**63) <= value < 2**63:
        raise ValueError(f"{name} is no integer of 64 bits")
    return value


def read_count(fields: Mapping[str, Any], name: str) -> int:
    """Return an integer of 64 bits that is not negative."""
    value = read_number(fields, name)
    if value < 0:
        raise ValueError(f"{name} is negative")
    return value


def read_time(fields: Mapping[str, Any], name: str) -> datetime:
    """Return a moment in UTC."""
    moment = datetime.fromisoformat(read_text(fields, name))
    if moment.utcoffset() != timedelta(0):
        raise ValueError(f"{name} is not in UTC")
    return moment.astimezone(UTC)


def read_choice(fields: Mapping[str, Any], name: str, known: Mapping[str, Any]) -> Any:
    """Return the member of an enumeration."""
    value = read_text(fields, name)
    if value not in known:
        raise ValueError(f"{name} is {value!r:.60}, which this version does not know")
    return known[value]


def refuse_unstorable(value: object) -> None:
    """Refuse a JSON value with a text or a number in it that no storage can keep.

    Raises:
        ValueError: there is such a value.
    """
    if isinstance(value, str):
        if not is_storable(value):
            raise ValueError("a context has a text that cannot be stored")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("a context has a number that is not finite")
    elif isinstance(value, dict):
        for name, inner in value.items():
            refuse_unstorable(name)
            refuse_unstorable(inner)
    elif isinstance(value, list):
        for inner in value:
            refuse_unstorable(inner)
