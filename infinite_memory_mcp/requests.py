"""Requests that no tool can be asked to answer, refused in words of our own.

The SDK says "Invalid request parameters" and no more, repeats a name of any length, and takes a
prompt that does not exist for a defect.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mcp import MCPError
from mcp_types import INVALID_PARAMS

from infinite_memory.model.nearest import nearest
from infinite_memory_mcp.wire import encodable

__all__ = ["check_request"]


def check_request(method: str, params: Mapping[str, Any] | None, tools: Collection[str]) -> None:
    """Refuse a request that names nothing there is, or gives its parameters in a wrong shape.

    Raises:
        MCPError: with the code -32602, the offending value and the way out.
    """
    given = {} if params is None else params
    if method == "tools/call":
        _check_call(given, tools)
    elif method == "prompts/get":
        raise _refusal(f"there is no prompt {given.get('name')!r:.100}: this server has none")
    elif method == "resources/read":
        raise _refusal(f"there is no resource {given.get('uri')!r:.100}: this server has none")
    elif method.endswith("/list") and not isinstance(given.get("cursor"), str | None):
        raise _refusal(f"cursor {given['cursor']!r:.100} is no text: leave it out")


def _check_call(params: Mapping[str, Any], tools: Collection[str]) -> None:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise _refusal(f"name {name!r:.100} is no text: give the name of a tool")
    if name not in tools:
        raise _refusal(
            f"there is no tool {name!r:.100}: the nearest is {nearest(name, tools)!r},"
            f" all are {', '.join(tools)}"
        )
    if arguments is not None and not isinstance(arguments, Mapping):
        raise _refusal(f"arguments {arguments!r:.100} are no object: give names and values")


def _refusal(reason: str) -> MCPError:
    return MCPError(code=INVALID_PARAMS, message=f"{encodable(reason)}; nothing was done")
