"""The arguments of a tool: declared once, read with patience, refused with the way out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from infinite_memory.errors import InvalidInput
from infinite_memory.model.suggestion import suggest_name

__all__ = ["Arguments", "Labels", "Limit", "Object", "Scopes", "input_schema", "parse"]


_MAX_PROBLEMS = 5


class Arguments(BaseModel):
    """The base of the argument models of the tools."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _decode_json(value: Any) -> Any:
    """Return the list or object in a JSON string; some clients encode arguments twice."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _as_list(value: Any) -> Any:
    """Return a list for a single string."""
    decoded = _decode_json(value)
    return [decoded] if isinstance(decoded, str) else decoded


Labels = Annotated[list[str], BeforeValidator(_as_list)]
"""Short names; a single name need not be in a list."""

Scopes = Annotated[str | list[str] | None, BeforeValidator(_decode_json)]
"""A scope, a list of scopes, or None for the default scope."""

Object = Annotated[dict[str, Any], BeforeValidator(_decode_json)]
"""A JSON object."""

Limit = Annotated[int, Field(ge=1, le=100)]
"""The greatest number of memories in an answer."""

Parsed = TypeVar("Parsed", bound=Arguments)


def parse(kind: type[Parsed], values: Mapping[str, Any]) -> Parsed:
    """Return the checked arguments.

    Raises:
        InvalidInput: an argument is unknown, missing, or of the wrong type.
    """
    known = list(kind.model_fields)
    for name in values:
        if name not in known:
            raise InvalidInput(_describe_unknown(name, known))
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        problems = list(dict.fromkeys(map(_describe_problem, error.errors())))
        raise InvalidInput("; ".join(_limit_problems(problems))) from error


def input_schema(kind: type[Arguments]) -> dict[str, Any]:
    """Return the JSON Schema of the arguments, short, because a tool list costs tokens."""
    schema: dict[str, Any] = _shorten_schema(kind.model_json_schema())
    schema.pop("description", None)
    return schema


def _describe_unknown(name: str, known: list[str]) -> str:
    if not known:
        return f"there is no argument {name!r:.100}: this tool takes none"
    return (
        f"there is no argument {name!r:.100}: the nearest is {suggest_name(name, known)!r},"
        f" all are {', '.join(known)}; nothing was done"
    )


def _limit_problems(problems: list[str]) -> list[str]:
    """Return the first problems and the number of the rest; a long list may have thousands."""
    rest = len(problems) - _MAX_PROBLEMS
    shown = problems[:_MAX_PROBLEMS]
    if rest > 0:
        shown.append("and 1 more problem" if rest == 1 else f"and {rest} more problems")
    return shown


def _describe_problem(problem: Any) -> str:
    name = str(problem["loc"][0])
    if problem["type"] == "missing":
        return f"the argument {name!r} is missing: give it"
    return f"{name} {problem['input']!r:.100} cannot be used: {problem['msg']}"


def _shorten_schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_shorten_schema(inner) for inner in schema]
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
    return {name: _shorten_schema(value) for name, value in kept.items()}
