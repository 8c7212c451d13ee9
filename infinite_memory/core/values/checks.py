"""Validate values: each check returns the value in its stored form, or raises InvalidInput."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.memory import JsonValue
from infinite_memory.core.values.messages import suggest_name
from infinite_memory.core.values.scope import fold_name

MAX_LABEL_CHARS = 256
MAX_LABELS = 256
MAX_DEPTH = 32
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNNAMEABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_INT64 = range(-(2**63), 2**63)
_NEAR = 0.6
_write_json = json.JSONEncoder(ensure_ascii=False).encode

Choice = TypeVar("Choice", bound=StrEnum)


def check_text(value: object, name: str, *, max_bytes: int) -> str:
    """Return a text that is not blank, can be stored, and has at most `max_bytes` in UTF-8."""
    text = _check_storable(value, name)
    if not text.strip():
        raise InvalidInput(f"{name} is empty: there is nothing to remember")
    size = len(text) if text.isascii() else len(text.encode())
    if size > max_bytes:
        raise InvalidInput(
            f"{name} has {size:,} bytes and the limit is {max_bytes:,}: divide it,"
            " or raise limits.max_text_bytes in the configuration"
        )
    return text


def check_label(value: object, name: str, *, max_chars: int = MAX_LABEL_CHARS) -> str:
    """Return a short name on one line, without surrounding white space.

    Control characters, line breaks and bidirectional overrides are refused.
    """
    label = _check_storable(value, name).strip()
    if not label or len(label) > max_chars or _UNNAMEABLE.search(label):
        raise InvalidInput(
            f"{name} {label!r:.100} cannot be used: give 1 to {max_chars} characters on one line,"
            " without control characters"
        )
    return label


def check_labels(values: object, name: str, *, max_chars: int = MAX_LABEL_CHARS) -> tuple[str, ...]:
    """Return short names without repetitions; the first spelling wins, letter case is ignored."""
    if type(values) is tuple and not values:
        return ()
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"{name} must be a list of texts, not {values!r:.100}")
    kept = {
        fold_name(label): label
        for label in reversed([check_label(v, name, max_chars=max_chars) for v in values])
    }
    if len(kept) > MAX_LABELS:
        raise InvalidInput(f"{name} has {len(kept)} entries and the limit is {MAX_LABELS}")
    return tuple(reversed(kept.values()))


def check_choice(value: object, kinds: type[Choice], name: str) -> Choice:
    """Return the member of an enumeration for a member or its name."""
    if isinstance(value, kinds):
        return value
    options = _list_options(kinds)
    member: Choice | None = options.get(value) if isinstance(value, str) else None
    if member is not None:
        return member
    near = get_close_matches(str(value)[:100], options, n=1, cutoff=_NEAR)
    nearest = f"the nearest is {near[0]!r}, all are" if near else "give one of"
    raise InvalidInput(f"{name} {value!r:.100} is unknown: {nearest} {', '.join(options)}")


@lru_cache
def _list_options(kinds: type[Choice]) -> Mapping[str, Choice]:
    """Return the members by name; a lookup through the class takes ten times as long."""
    return {str(option): option for option in kinds}


def check_field(
    name: object,
    known: Collection[str],
    *,
    lack: str = "a memory has no field",
    also: Iterable[str] = (),
) -> None:
    """Refuse the name of an unknown field; `lack` begins the error, which may suggest `also`."""
    if name not in known:
        nearest = suggest_name(name, [*known, *also])
        raise InvalidInput(f"{lack} {name!r:.100}; the nearest is {nearest!r}")


def check_moment(value: object, name: str) -> datetime:
    """Return an aware datetime in UTC."""
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a datetime, not {value!r:.100}")
    if value.utcoffset() is None:
        raise InvalidInput(
            f"{name} {value.isoformat()} has no time zone: give one, such as tzinfo=UTC"
        )
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(
            f"{name} {value.isoformat()} lies outside the years 1 to 9999"
        ) from error


def check_flag(value: object, name: str) -> bool:
    """Return a boolean; values that are merely truthy or falsy are refused."""
    if isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} must be true or false, not {value!r:.100}")


def check_count(value: object, name: str, *, low: int, high: int) -> int:
    """Return an integer within [low, high]."""
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise InvalidInput(
        f"{name} {value!r:.100} cannot be used: give a whole number, {low} to {high}"
    )


def check_context(value: object, *, max_bytes: int) -> dict[str, JsonValue]:
    """Return a deep copy of a JSON object.

    It may be nested at most 32 levels, its integers must fit in 64 bits, its floats must be finite,
    and it has at most `max_bytes` as JSON in UTF-8.
    """
    if type(value) is dict and not value:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"context must be an object with names and values, not {value!r:.100}")
    copied = {
        _check_storable(k, "a name in context"): _check_json(v, f"context.{k}", 2)
        for k, v in value.items()
    }
    size = len(_write_json(copied).encode())
    if size > max_bytes:
        raise InvalidInput(
            f"context has {size:,} bytes as JSON and the limit is {max_bytes:,}: shorten it,"
            " or raise limits.max_context_bytes in the configuration"
        )
    return copied


def _check_json(value: object, place: str, depth: int) -> JsonValue:
    if depth > MAX_DEPTH:
        raise InvalidInput(f"{place:.100} is nested deeper than {MAX_DEPTH} levels: flatten it")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _check_storable(value, place)
    if isinstance(value, int):
        if value in _INT64:
            return value
        raise InvalidInput(f"{place:.100} is an integer beyond 64 bits: give it as text")
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        raise InvalidInput(f"{place:.100} is {value}, which is not finite: leave it out")
    if isinstance(value, Mapping):
        return {
            _check_storable(k, f"a name in {place:.100}"): _check_json(
                v, f"{place}.{k}"[:120], depth + 1
            )
            for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            _check_json(inner, f"{place}[{i}]"[:120], depth + 1) for i, inner in enumerate(value)
        ]
    raise InvalidInput(
        f"{place:.100} is a {type(value).__name__}, which JSON cannot hold: give it as text"
    )


def _check_storable(value: object, name: str) -> str:
    """Return a string that every storage can keep exactly: no NUL, no lone surrogate."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name:.100} must be a text, not {value!r:.100}")
    if "\0" in value:
        position = value.index("\0")
        raise InvalidInput(f"{name:.100} has a NUL character at position {position}: remove it")
    if not value.isascii() and (lone := _SURROGATE.search(value)):
        raise InvalidInput(
            f"{name:.100} has a lone surrogate {lone.group()!a} at position {lone.start()},"
            " which is not a character: remove or replace it"
        )
    return value
