"""The arguments of a method as JSON: checked against its signature, and made what it takes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from difflib import get_close_matches
from functools import cache
from types import NoneType
from typing import Any

from attrs import fields

from infinite_memory import Draft, InvalidInput
from infinite_memory_mcp.jsonrpc import show_json

_Kind = tuple[str, Callable[[Any], Any]]
"""A kind of value: in words, and the function that makes it of JSON, or raises an error."""


def _expect(*types: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        # `isinstance` would take true for a number.
        if type(value) not in types:
            raise TypeError
        return value

    return read


def _expect_all(*types: type) -> Callable[[Any], Any]:
    return lambda value: [_expect(*types)(item) for item in _expect(list)(value)]


_TEXTS: _Kind = ("a list of texts", _expect_all(str))
_OBJECTS: _Kind = ("a list of objects", _expect_all(dict))
_OBJECT: _Kind = ("an object", _expect(dict))
_ANYTHING: _Kind = ("any value", lambda value: value)
_KINDS: Mapping[str, _Kind] = {
    "str": ("a text", _expect(str)),
    "bool": ("true or false", _expect(bool)),
    "int": ("a whole number", _expect(int)),
    "float": ("a number", _expect(int, float)),
    "None": ("null", _expect(NoneType)),
    "TimeLike": ('a time, such as 2025-01-20T09:00:00Z or "yesterday"', _expect(str)),
    "timedelta": (
        "a number of seconds",
        lambda value: timedelta(seconds=_expect(int, float)(value)),
    ),
    "Iterable[str]": _TEXTS,
    "Sequence[str]": _TEXTS,
    "Mapping[str, Any]": _OBJECT,
    "Sequence[Mapping[str, Any]]": _OBJECTS,
    "Iterable[Mapping[str, Any]]": _OBJECTS,
    "JsonValue": _ANYTHING,
    # The caller finds the backup of that name.
    "os.PathLike[str]": ("the name of a backup", _expect(str)),
}
"""By the words of an annotation. A parameter of another kind, such as a function, is left out."""

_PLACES = {"to", "path", "folder", "known_as"}
"""Parameters that name a place on the machine of the server."""

_FIELDS = {field.name: str(field.type) for field in fields(Draft)}


@cache
def list_parameters(method: Callable[..., Any]) -> Mapping[str, tuple[bool, list[_Kind]]]:
    """Return the parameters that JSON can give, by name: whether it must, and what it can be."""
    offered: dict[str, tuple[bool, list[_Kind]]] = {}
    for parameter in inspect.signature(method).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            annotations = _list_further(method, str(parameter.annotation))
        else:
            annotations = {parameter.name: str(parameter.annotation)}
        is_required = parameter.default is parameter.empty and len(annotations) == 1
        for name, annotation in annotations.items():
            words = annotation.split(" | ")
            if name not in offered.keys() | _PLACES and all(word in _KINDS for word in words):
                offered[name] = is_required, [_KINDS[word] for word in words]
    return offered


def _list_further(method: Callable[..., Any], annotation: str) -> Mapping[str, str]:
    """Return the annotations of `**conditions`, or of the fields of a memory."""
    name = annotation.removeprefix("Unpack[").removesuffix("]")
    typed = inspect.unwrap(method).__globals__.get(name)
    if typed is None:
        # A draft has no status; what changes a memory takes one.
        status = {"status": "str"} if name == "Changes" else {}
        return {**_FIELDS, "create_scope": "bool | None", **status}
    return {key: each.__forward_arg__ for key, each in typed.__annotations__.items()}


def read_arguments(method: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for a method.

    Raises:
        InvalidInput: one is unknown, missing, or of another kind.
    """
    # Of the function: the cache would keep the store of a bound method for ever.
    known = list_parameters(getattr(method, "__func__", method))
    for name in given:
        if name not in known:
            near = get_close_matches(name[:100], known, n=1)
            nearest = f"the nearest is {near[0]!r}, all are" if near else "there are"
            raise InvalidInput(
                f"there is no argument {name!r:.100}: {nearest} {', '.join(known) or 'none'}"
            )
    for name, (is_required, _) in known.items():
        if is_required and name not in given:
            raise InvalidInput(f"the argument {name!r} is missing: give it")
    return {name: _read_value(name, known[name][1], value) for name, value in given.items()}


def _read_value(name: str, kinds: Sequence[_Kind], value: Any) -> Any:
    for _, read in kinds:
        try:
            return read(value)
        except (TypeError, ValueError, OverflowError):
            continue
    expected = " or ".join(dict.fromkeys(words for words, _ in kinds))
    raise InvalidInput(f"{name} {show_json(value):.100} cannot be used: give {expected}")


def read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in the body of a request.

    Raises:
        InvalidInput: it is none.
    """
    try:
        given = json.loads(body or b"{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the body cannot be read as JSON: {error}"[:300]) from error
    if not isinstance(given, dict):
        raise InvalidInput("the body is no JSON object: send the arguments by their names")
    return given


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")
