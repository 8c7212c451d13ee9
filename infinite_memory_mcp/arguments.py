"""The arguments of a tool: declared once, read with patience, refused with the way out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from infinite_memory.errors import InvalidInput
from infinite_memory.model.nearest import nearest

__all__ = ["Arguments", "Labels", "Limit", "Object", "Scopes", "input_schema", "parse"]


_MAX_PROBLEMS = 5


class Arguments(BaseModel):
    """The base of each tool's arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _decoded(value: Any) -> Any:
    """Return the list or object that a text holds as JSON; some clients send them so."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _listed(value: Any) -> Any:
    """Return a list for a single text."""
    decoded = _decoded(value)
    return [decoded] if isinstance(decoded, str) else decoded


Labels = Annotated[list[str], BeforeValidator(_listed)]
"""Short names; a single one need not be in a list."""

Scopes = Annotated[str | list[str] | None, BeforeValidator(_decoded)]
"""A scope, several, or None for the default one."""

Object = Annotated[dict[str, Any], BeforeValidator(_decoded)]
"""A JSON object."""

Limit = Annotated[int, Field(ge=1, le=100)]
"""How many memories an answer holds at most."""

Parsed = TypeVar("Parsed", bound=Arguments)


def parse(kind: type[Parsed], values: Mapping[str, Any]) -> Parsed:
    """Return the checked arguments.

    Raises:
        InvalidInput: one is unknown, missing, or of the wrong type; the message names the way out.
    """
    known = list(kind.model_fields)
    for name in values:
        if name not in known:
            raise InvalidInput(_unknown(name, known))
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        problems = list(dict.fromkeys(map(_problem, error.errors())))
        raise InvalidInput("; ".join(_first(problems))) from error


def input_schema(kind: type[Arguments]) -> dict[str, Any]:
    """Return the JSON Schema of the arguments, kept short: a tool list costs tokens."""
    schema: dict[str, Any] = _shortened(kind.model_json_schema())
    schema.pop("description", None)
    return schema


def _unknown(name: str, known: list[str]) -> str:
    if not known:
        return f"there is no argument {name!r:.100}: this tool takes none"
    return (
        f"there is no argument {name!r:.100}: the nearest is {nearest(name, known)!r},"
        f" all are {', '.join(known)}; nothing was done"
    )


def _first(problems: list[str]) -> list[str]:
    """Return the first problems, and how many there are beyond them: a list may have thousands."""
    beyond = len(problems) - _MAX_PROBLEMS
    return [*problems[:_MAX_PROBLEMS], *([f"and {beyond} more problems"] if beyond > 0 else [])]


def _problem(problem: Any) -> str:
    name = str(problem["loc"][0])
    if problem["type"] == "missing":
        return f"the argument {name!r} is missing: give it"
    return f"{name} {problem['input']!r:.100} cannot be used: {problem['msg']}"


def _shortened(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_shortened(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        name: value
        for name, value in schema.items()
        if not (name == "title" and isinstance(value, str))
        and not (name == "default" and not value)
        and not (name == "additionalProperties" and value is True)
    }
    options = [option for option in kept.pop("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        kept = {**options[0], **kept}
    elif options:
        kept["anyOf"] = options
    return {name: _shortened(value) for name, value in kept.items()}
