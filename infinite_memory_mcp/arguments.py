"""The arguments of a tool: declared once, read with patience, refused with the way out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from functools import cache, partial
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema
from pydantic.fields import FieldInfo

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.plain import is_placeholder
from infinite_memory.core.values.criteria import Depth, Mode
from infinite_memory.core.values.memory import Kind
from infinite_memory_mcp.foreign.arguments import decode_json, understand_arguments
from infinite_memory_mcp.jsonrpc import show_json

_MAX_PROBLEMS = 5
_MIN_TOKENS, _MAX_TOKENS = 500, 100_000


class Arguments(BaseModel):
    """The base of the argument models of the tools.

    `destroying` are the arguments that no refusal suggests. `cleared` are the arguments whose value
    an empty text removes. `spread` names an argument that is an object of further arguments.
    `unlisted` are taken, and not shown in a list.
    """

    # Built when they are first listed or given: most tools are neither in a session.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    destroying: ClassVar[frozenset[str]] = frozenset()
    cleared: ClassVar[frozenset[str]] = frozenset()
    spread: ClassVar[str | None] = None
    unlisted: ClassVar[frozenset[str]] = frozenset()

    def in_folder(self, folder: str | None) -> Self:
        """Return the arguments for a client that works in `folder`, None if that is unknown."""
        del folder
        return self


def _make_list(value: Any) -> Any:
    """Return a list for a single string."""
    decoded = decode_json(value)
    return [decoded] if isinstance(decoded, str) else decoded


def _make_objects(value: Any) -> Any:
    """Return a list for a single object."""
    decoded = decode_json(value)
    return [decoded] if isinstance(decoded, dict) else decoded


Labels = Annotated[list[str], BeforeValidator(_make_list)]
"""Short names; a single name need not be in a list."""

_OF_MEMORY = "id of a memory"

MemoryId = Annotated[str, _OF_MEMORY]
"""The id of a stored memory, or its ending."""

MemoryIds = Annotated[list[str], BeforeValidator(_make_list), _OF_MEMORY]
"""Ids of stored memories, or their endings; a single id need not be in a list."""

Scopes = Annotated[
    str | list[str] | None, BeforeValidator(decode_json), WithJsonSchema({"type": "string"})
]
"""A scope, several with commas or in a list, or None for the default scope."""

Object = Annotated[dict[str, Any], BeforeValidator(decode_json)]
"""A JSON object."""

Objects = Annotated[list[dict[str, Any]], BeforeValidator(_make_objects)]
"""JSON objects; a single object need not be in a list."""

Limit = Annotated[int, Field(ge=1, le=100)]
"""The greatest number of memories in an answer."""

Tokens = Annotated[int, Field(ge=_MIN_TOKENS, le=_MAX_TOKENS)]
"""The most tokens of an answer."""

Parsed = TypeVar("Parsed", bound=Arguments)


def list_choices(*options: StrEnum | str) -> dict[str, Any]:
    """Return the values of an argument for its schema; the validation refuses further values."""
    return {"enum": [str(option) for option in options]}


KINDS = list_choices(*[kind for kind in Kind if kind is not Kind.ATTACHMENT])
DEPTHS = list_choices(*Depth)
MODES = list_choices(*Mode)
_NEAR = 0.6


def understand(
    kind: type[Arguments], values: Mapping[str, Any], page_size: Callable[[], int]
) -> tuple[dict[str, Any], list[str]]:
    """Return the values under our names, and notes on the names and values that were read anew.

    `page_size` is called for the size of a page that was asked for without a limit.
    Null and the words that models write for nothing stand for an argument that was left out: many
    clients send every argument; see `_is_left_out`.

    Raises:
        InvalidInput: an argument is given twice, under two names, or an object is understood only
            in part.
    """
    return understand_arguments(
        _spread_values(kind, values),
        kind.model_fields,
        page_size,
        is_left_out=partial(_is_left_out, kind),
    )


def _spread_values(kind: type[Arguments], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values with those in the object of further arguments; what is beside it wins."""
    inner = decode_json(values.get(kind.spread)) if kind.spread is not None else None
    if not isinstance(inner, dict):
        return values
    beside = {name: value for name, value in values.items() if name != kind.spread}
    return {**inner, **{name: value for name, value in beside.items() if not is_placeholder(value)}}


def _is_left_out(kind: type[Arguments], name: str, value: Any) -> bool:
    """Return whether a value stands for none, so that the argument was left out.

    A required argument is what it says: "None" may be the text to store. So is a query, since
    "null" and "string" are words that people look for. An empty text may remove what is there.
    """
    field = kind.model_fields.get(name)
    if field is None:
        return is_placeholder(value)
    if field.is_required() or (value == "" and name in kind.cleared):
        return False
    return value is None or (name != "query" and is_placeholder(value))


def parse(kind: type[Parsed], values: Mapping[str, Any]) -> Parsed:
    """Return the checked arguments.

    Raises:
        InvalidInput: an argument is unknown, missing, or of the wrong type.
    """
    known = list(kind.model_fields)
    for name in values:
        if name not in known:
            raise InvalidInput(_describe_unknown(name, known, kind.destroying))
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        problems = [_describe_problem(kind, problem) for problem in error.errors()]
        problems = list(dict.fromkeys(problems))
        raise InvalidInput("; ".join(_limit_problems(problems))) from error


def resolve_ids(values: Parsed, resolve: Callable[[str], str]) -> Parsed:
    """Return the arguments with the whole ids of memories, which `resolve` finds.

    Raises:
        InvalidInput: `resolve` refuses an ending.
    """
    whole: dict[str, Any] = {}
    for name, field in type(values).model_fields.items():
        given = getattr(values, name)
        if given and _takes_ids(field):
            whole[name] = list(map(resolve, given)) if isinstance(given, list) else resolve(given)
    return values.model_copy(update=whole)


def _takes_ids(field: FieldInfo) -> bool:
    options = (getattr(option, "__metadata__", ()) for option in get_args(field.annotation))
    return _OF_MEMORY in field.metadata or any(_OF_MEMORY in option for option in options)


def input_schema(kind: type[Arguments]) -> dict[str, Any]:
    """Return the JSON Schema of the arguments, short, because a tool list costs tokens.

    It leaves out the bounds of numbers, and how many tokens an answer has: a refusal names them.
    """
    schema: dict[str, Any] = _shorten_schema(kind.model_json_schema())
    schema.pop("description", None)
    for name in kind.unlisted:
        del schema["properties"][name]
    schema["properties"].get("max_tokens", {}).pop("default", None)
    for field in schema["properties"].values():
        for bound in ("minimum", "maximum"):
            field.pop(bound, None)
    return schema


def _describe_unknown(name: str, known: list[str], destroying: frozenset[str]) -> str:
    if not known:
        return f"there is no argument {name!r:.100}: this tool takes none"
    # A suggestion never leads from a harmless argument to one that erases.
    harmless = [option for option in known if option not in destroying]
    near = get_close_matches(name[:100], harmless, n=1, cutoff=_NEAR)
    nearest = f"the nearest is {near[0]!r}, all are" if near else "this tool takes"
    return f"there is no argument {name!r:.100}: {nearest} {', '.join(harmless)}; nothing was done"


def _limit_problems(problems: list[str]) -> list[str]:
    """Return the first problems and the number of the rest; a long list may have thousands."""
    rest = len(problems) - _MAX_PROBLEMS
    shown = problems[:_MAX_PROBLEMS]
    if rest > 0:
        shown.append("and 1 more problem" if rest == 1 else f"and {rest} more problems")
    return shown


def _describe_problem(kind: type[Arguments], problem: Any) -> str:
    name = str(problem["loc"][0])
    if problem["type"] == "missing":
        return f"the argument {name!r} is missing: give it"
    expected = _list_expected(kind, name)
    return f"{name} {show_json(problem['input']):.100} cannot be used: give {expected}"


@cache
def _list_expected(kind: type[Arguments], name: str) -> str:
    """Return in words which values an argument takes."""
    field = kind.model_fields[name]
    types = {field.annotation, *get_args(field.annotation)}
    if bounds := _find_bounds(kind, name):
        return f"a whole number from {bounds[0]} to {bounds[1]}"
    if bool in types:
        return "true or false"
    if int in types:
        return "a whole number"
    if float in types:
        return "a number"
    if any(str(inner).startswith("list[dict[") for inner in types):
        return "a list of objects"
    if any(str(inner).startswith("list[") for inner in types):
        return "a text or a list of texts" if str in types else "a list of texts"
    if any(str(inner).startswith("dict[") for inner in types):
        return 'an object such as {"project": "apollo"}'
    return "a text"


def _find_bounds(kind: type[Arguments], name: str) -> tuple[int, int] | None:
    """Return the smallest and the greatest whole number of an argument, None without both."""
    schema = kind.model_json_schema()["properties"][name]
    for option in (schema, *schema.get("anyOf", ())):
        if option.get("type") == "integer" and {"minimum", "maximum"} <= option.keys():
            return option["minimum"], option["maximum"]
    return None


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
        kept = {**_shorten_schema(options[0]), **kept}
    elif options:
        kept["anyOf"] = options
    return {name: _shorten_schema(value) for name, value in kept.items()}
