"""The reference of Python, from the signatures and docstrings of what is public."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Container, Iterator, Mapping
from functools import cached_property
from pkgutil import resolve_name
from typing import Any

import attrs
from pydantic import BaseModel

import infinite_memory
from docs.site.text import format_code, format_prose, format_table, join_parts
from infinite_memory import Config, InfiniteMemoryError, MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder

_MAX_CHARS = 88
_SPECIAL_METHODS = ("__iter__", "__getitem__", "__len__", "__contains__")


def describe_python(modules: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield the heading of each part of the library, and its section.

    `modules` has further names by the module that they are imported from.
    """
    groups = find_groups()
    yield "The store", _describe_class(MemoryStore, "", without=groups)
    for name, kind in groups.items():
        yield f"`{name}`", _describe_class(kind, f"{name}.")
    public = {name: getattr(infinite_memory, name) for name in infinite_memory.__all__}
    errors = {name: value for name, value in public.items() if _is_error(value)}
    values = {name: public[name] for name in public.keys() - errors.keys() - {"MemoryStore"}}
    yield "Values", _describe_names(dict(sorted(values.items())))
    listed = {
        name: resolve_name(f"{module}.{name}") for module in modules for name in modules[module]
    }
    yield "Values from their modules", _describe_names(listed)
    yield "Errors", _describe_names(errors)


def find_groups() -> dict[str, type]:
    """Return the class of each group of methods, by its name in a store."""
    names = [
        name
        for name, value in inspect.getmembers_static(MemoryStore)
        if isinstance(value, cached_property) and not name.startswith("_")
    ]
    with MemoryStore.open("memory://", config=Config(), embedder=HashingEmbedder(8)) as store:
        return {name: type(getattr(store, name)) for name in names}


def _is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, InfiniteMemoryError)


def _describe_class(kind: type, prefix: str, *, without: Container[str] = ()) -> str:
    """Return the docstring of a class, with each of its public methods."""
    parts = [format_prose(kind.__doc__ or "")]
    for name, value in inspect.getmembers_static(kind):
        is_public = not name.startswith("_") or (name in _SPECIAL_METHODS and value.__doc__)
        if is_public and name not in without:
            parts.append(f"### `{prefix}{name}`")
            parts.append(_describe_member(name, value))
    return join_parts(*parts)


def _describe_member(name: str, value: Any) -> str:
    function = getattr(value, "__func__", value)
    if callable(function):
        return join_parts(_show_signature(name, function), format_prose(function.__doc__ or ""))
    return format_prose(value.__doc__ or "")


def _describe_names(names: Mapping[str, Any]) -> str:
    return "\n\n".join(
        join_parts(f"### `{name}`", _describe_value(name, value)) for name, value in names.items()
    )


def _describe_value(name: str, value: Any) -> str:
    text = format_prose(value.__doc__ or "")
    if not isinstance(value, type):
        return join_parts(_show_signature(name, value), text)
    if issubclass(value, enum.Enum):
        return join_parts(text, ", ".join(format_code(member.value) for member in value))
    if _is_error(value):
        bases = [format_code(base.__name__) for base in value.__bases__]
        return join_parts(text, f"It is a {' and a '.join(bases)}.")
    if attrs.has(value):
        fields = [field for field in attrs.fields(value) if not field.name.startswith("_")]
        rows = [(format_code(field.name), format_code(field.type)) for field in fields]
        return join_parts(text, format_table(("field", "type"), rows))
    # The settings have a page of their own, the asynchronous store the methods of the other one.
    if issubclass(value, BaseModel) or value is infinite_memory.AsyncMemoryStore:
        return text
    methods = [
        join_parts(f"#### `{name}.{method}`", _describe_member(method, member))
        for method, member in inspect.getmembers_static(value)
        if not method.startswith("_")
    ]
    return join_parts(text, *methods)


def _show_signature(name: str, function: Any) -> str:
    """Return the signature of a function as code, a parameter a line if it is long."""
    signature = inspect.signature(function)
    shown: list[str] = []
    named_only = False
    for parameter in signature.parameters.values():
        if parameter.name == "self" or parameter.name == "cls":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not named_only:
            shown.append("*")
            named_only = True
        shown.append(_show_parameter(parameter))
    result = _show_type(signature.return_annotation)
    end = f" -> {result}" if result else ""
    line = f"{name}({', '.join(shown)}){end}"
    if len(line) > _MAX_CHARS:
        line = "\n".join([f"{name}(", *(f"    {part}," for part in shown), f"){end}"])
    return f"```python\n{line}\n```"


def _show_parameter(parameter: inspect.Parameter) -> str:
    star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    star = "**" if parameter.kind is parameter.VAR_KEYWORD else star
    kind = _show_type(parameter.annotation)
    default = parameter.default
    if isinstance(default, enum.Enum):
        default = default.value
    shown = f"{star}{parameter.name}" + (f": {kind}" if kind else "")
    return shown if default is parameter.empty else f"{shown} = {default!r}"


def _show_type(annotation: object) -> str:
    return "" if annotation is inspect.Signature.empty else str(annotation)
