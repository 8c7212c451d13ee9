"""The tool that runs any other by its name, so that the list of tools stays short."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.messages import suggest_name
from infinite_memory_mcp.arguments import Arguments, Object, input_schema
from infinite_memory_mcp.data import object_schema
from infinite_memory_mcp.tool import Answer, ToolSpec, tool

if TYPE_CHECKING:
    from infinite_memory.store.memory_store import MemoryStore


class More(Arguments):
    """The arguments of `more`."""

    tool: str | None = None
    arguments: Object | None = Field(None, description="Left out: tells what it takes")


def build_more(
    subjects: Mapping[str, Sequence[ToolSpec[Any]]], listed: Sequence[ToolSpec[Any]] = ()
) -> ToolSpec[More]:
    """Return the tool `more` for the tools of each subject that are not listed."""
    unlisted = [spec for specs in subjects.values() for spec in specs]
    tools = {spec.name: spec for spec in (*unlisted, *listed)}

    def more(store: MemoryStore, arguments: More) -> Answer:
        del store
        if not arguments.tool or not tools:
            lines = [f"{spec.name}: {spec.description}" for spec in unlisted]
            data = {"tools": [spec.name for spec in unlisted]}
            return Answer(text="\n".join(lines) or "Every tool is listed.", data=data)
        spec = tools.get(arguments.tool)
        if spec is None:
            nearest = suggest_name(arguments.tool, tools)
            raise InvalidInput(f"no tool {arguments.tool!r:.100}: the nearest is {nearest!r}")
        schema = input_schema(spec.arguments)
        shown = json.dumps(schema["properties"], ensure_ascii=False)
        required = ", ".join(schema.get("required", ())) or "none"
        text = f"{spec.name}: {spec.description}\nrequired: {required}\narguments: {shown}"
        return Answer(text=text, data={"name": spec.name, "arguments": schema})

    lines = [
        f"{subject}: {', '.join(spec.name for spec in specs)}"
        for subject, specs in subjects.items()
        if specs
    ]
    more.__doc__ = "\n\n".join(["Run a tool that is not listed:", *lines])
    reads = all(spec.reads for spec in tools.values())
    return tool("Run another tool", object_schema(), reads=reads, destroys=not reads)(more)


MORE = build_more({})
"""The tool as the reference knows it; a server builds its own, of the tools that it has."""
