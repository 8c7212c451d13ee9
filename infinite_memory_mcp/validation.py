"""Requests that no tool can be asked to answer, refused in words of our own.

The SDK says "Invalid request parameters" and no more, repeats a name of any length, and takes a
prompt that does not exist for a defect.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mcp import MCPError
from mcp_types import CLIENT_INFO_META_KEY, INVALID_PARAMS

from infinite_memory.model.nearest import nearest
from infinite_memory_mcp.wire import encodable, one_line

__all__ = ["check_request", "client_name"]

_MAX_NAME_CHARS = 100


def check_request(
    method: str,
    params: Mapping[str, Any] | None,
    tools: Collection[str],
    elsewhere: Mapping[str, str],
) -> None:
    """Refuse a request that names nothing there is, or gives its parameters in a wrong shape.

    `elsewhere` has the toolset of each tool that this server was not started with.

    Raises:
        MCPError: with the code -32602, the offending value and the way out.
    """
    given = {} if params is None else params
    if method == "tools/call":
        _check_call(given, tools, elsewhere)
    elif method == "prompts/get":
        raise _refusal(f"there is no prompt {given.get('name')!r:.100}: this server has none")
    elif method == "resources/read":
        raise _refusal(f"there is no resource {given.get('uri')!r:.100}: this server has none")
    elif method.endswith("/list") and not isinstance(given.get("cursor"), str | None):
        raise _refusal(f"cursor {given['cursor']!r:.100} is no text: leave it out")


def client_name(method: str, params: Mapping[str, Any] | None) -> str | None:
    """Return the name that a client gives of itself in this request, None where it gives none.

    In the older era it introduces itself once, in the newer one with each request.
    """
    given: Any = {} if params is None else params
    if method == "initialize":
        found = given.get("clientInfo")
    else:
        meta = given.get("_meta")
        found = meta.get(CLIENT_INFO_META_KEY) if isinstance(meta, Mapping) else None
    name = found.get("name") if isinstance(found, Mapping) else None
    if not isinstance(name, str):
        return None
    return " ".join(one_line(name).split())[:_MAX_NAME_CHARS].strip() or None


def _check_call(
    params: Mapping[str, Any], tools: Collection[str], elsewhere: Mapping[str, str]
) -> None:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise _refusal(f"name {name!r:.100} is no text: give the name of a tool")
    if name in elsewhere:
        raise _refusal(
            f"the tool {name!r} is in the toolset {elsewhere[name]!r}, which this server was not "
            f"started with: start it with --toolsets all"
        )
    if name not in tools:
        raise _refusal(
            f"there is no tool {name!r:.100}: the nearest is {nearest(name, tools)!r},"
            f" all are {', '.join(tools)}"
        )
    if arguments is not None and not isinstance(arguments, Mapping):
        raise _refusal(f"arguments {arguments!r:.100} are no object: give names and values")


def _refusal(reason: str) -> MCPError:
    return MCPError(code=INVALID_PARAMS, message=f"{encodable(reason)}; nothing was done")
