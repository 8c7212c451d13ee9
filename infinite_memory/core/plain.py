"""Values as plain data: dictionaries, lists, texts and numbers, as `json.dumps` takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from typing import Any

from attrs import fields, has

_LINE_CHARS = 120
_TEXT_CHARS = 60


def describe_in_a_line(value: object, first: str, **fields: object) -> str:
    """Return a `repr` that fits a line: the class of a value, a text, and what matters of it."""
    text = f"{first[: _TEXT_CHARS - 1]}…" if len(first) > _TEXT_CHARS else first
    parts = [repr(text), *(f"{name}={field!r}" for name, field in fields.items())]
    line = f"{type(value).__name__}({', '.join(parts)})"
    return line if len(line) <= _LINE_CHARS else f"{line[: _LINE_CHARS - 2]}…)"


class PlainData:
    """A value of attrs whose fields can be given as plain data."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, for `json.dumps`.

        Times are in ISO 8601, in UTC with a final Z; durations are seconds; bytes are hexadecimal.
        """
        return {
            field.name: to_plain(getattr(self, field.name))
            for field in fields(type(self))  # type: ignore[arg-type]
            if not field.name.startswith("_")
        }


def to_plain(value: Any) -> Any:
    """Return `value` as plain data.

    Raises:
        TypeError: a part of it has no plain form.
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    for kind, convert in _CONVERSIONS.items():
        if isinstance(value, kind):
            return convert(value)
    if has(type(value)):
        return PlainData.to_dict(value)
    raise TypeError(f"{value!r:.100} has no plain form")


# In this order: an enumeration may be a text, a datetime is a date, and a text is iterable.
_CONVERSIONS: Mapping[type, Callable[[Any], Any]] = {
    Enum: lambda value: to_plain(value.value),
    str: str,
    PlainData: lambda value: value.to_dict(),
    datetime: lambda value: value.astimezone(UTC).isoformat().replace("+00:00", "Z"),
    date: date.isoformat,
    timedelta: timedelta.total_seconds,
    bytes: bytes.hex,
    Mapping: lambda value: {str(to_plain(name)): to_plain(item) for name, item in value.items()},
    Iterable: lambda value: [to_plain(item) for item in value],
}


# What a model writes into an argument for which it has no value.
_PLACEHOLDERS = frozenset({"", "null", "nil", "none", "undefined", "n/a", "string", "{}", "[]"})


def is_placeholder(value: object) -> bool:
    """Return whether a value stands for none: null, or a word such as "None", "n/a" or "string".

    A list of nothing but such words is one too. An empty list and an empty object are values.
    """
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, str) and is_placeholder(each) for each in value)
    if isinstance(value, str):
        return "".join(value.split()).casefold() in _PLACEHOLDERS
    return value is None
