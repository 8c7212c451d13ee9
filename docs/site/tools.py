"""The reference of the tools, from their descriptions and the schemas of their arguments."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from docs.site.text import format_cell, format_code, format_prose, format_table, join_parts
from infinite_memory_mcp.arguments import Arguments
from infinite_memory_mcp.prompts import PROMPTS
from infinite_memory_mcp.resources import RESOURCES
from infinite_memory_mcp.server import TOOLSETS, WITH_CORE
from infinite_memory_mcp.tool import ToolSpec

_TYPES = {
    **{"string": "text", "integer": "whole number", "number": "number"},
    **{"boolean": "true or false", "array": "list", "object": "object"},
}


def describe_tools() -> Iterator[tuple[str, str]]:
    """Yield the heading of each tool, and its section; then those of resources and prompts."""
    for toolset, specs in TOOLSETS.items():
        for spec in specs:
            yield f"`{spec.name}`", _describe(spec, toolset)
    resources = (
        (format_code(spec.uri.replace("{+", "{")), format_cell(spec.run.__doc__ or ""))
        for spec in RESOURCES
    )
    yield "Resources", format_table(("address", "what it holds"), resources)
    prompts = (
        (
            format_code(name),
            format_cell(ask.__doc__ or ""),
            ", ".join(format_code(argument) for argument in inspect.signature(ask).parameters),
        )
        for name, _, ask in PROMPTS
    )
    yield "Prompts", format_table(("prompt", "what it does", "arguments"), prompts)


def _describe(spec: ToolSpec[Any], toolset: str) -> str:
    if spec.reads:
        effect = "changes nothing"
    else:
        effect = "may remove or replace something" if spec.destroys else "stores or adds something"
    listed = f"`{toolset}`" + (", listed with `core`" if spec.name in WITH_CORE else "")
    data = ", ".join(format_code(name) for name in spec.answers.get("required", ()))
    return join_parts(
        f"**{spec.title}**; toolset {listed}; it {effect}.",
        format_prose(spec.description),
        _list_arguments(spec.arguments) or "It takes no arguments.",
        f"The data of the answer always has {data}." if data else "",
    )


def _list_arguments(kind: type[Arguments]) -> str:
    schema = kind.model_json_schema()
    required = schema.get("required", ())
    rows = []
    for name, field in schema.get("properties", {}).items():
        notes = [str(field.get("description", ""))]
        if name in kind.unlisted:
            notes.append("Not in the list of tools.")
        shape = _describe_type(field, schema.get("$defs", {}))
        shape += ", required" if name in required else ""
        rows.append((format_code(name), shape, format_cell(" ".join(filter(None, notes)))))
    return format_table(("argument", "type", "meaning"), rows)


def _describe_type(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return what a field takes: its type or its values, its bounds and its default."""
    if "$ref" in field:
        return _describe_type(definitions[field["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in field:
        kinds = [_describe_type(kind, definitions) for kind in field["anyOf"]]
        shape = " or ".join(dict.fromkeys(kind for kind in kinds if kind))
    elif "enum" in field:
        shape = ", ".join(format_code(value) for value in field["enum"])
    elif "const" in field:
        shape = format_code(field["const"])
    else:
        shape = _TYPES.get(field.get("type", ""), "")
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        shape += f" from {low:,} to {high:,}"
    default = field.get("default")
    return shape + (
        f"; {format_code(default)} if left out" if default not in (None, False, [], "") else ""
    )
