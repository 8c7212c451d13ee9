"""Validate requests before the SDK does, with errors that name the remedy.

The SDK answers only "Invalid request parameters", repeats names of any length, and reports an
unknown prompt as an internal error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from mcp import MCPError
from mcp_types import CLIENT_INFO_META_KEY, INVALID_PARAMS

from infinite_memory.model.messages import suggest_name
from infinite_memory_mcp.jsonrpc import replace_surrogates
from infinite_memory_mcp.quotation import escape_label

__all__ = ["check_request", "client_name"]

_MAX_NAME_CHARS = 100
Suggest = Callable[[str, Mapping[str, Any]], str | None]


def check_request(
    method: str,
    params: Mapping[str, Any] | None,
    tools: Collection[str],
    withheld: Mapping[str, str],
    suggest: Suggest = lambda _name, _arguments: None,
    prompts: Mapping[str, Collection[str]] | None = None,
    resources: Collection[str] = (),
) -> None:
    """Refuse a request for an unknown tool, prompt or resource, and parameters of a wrong shape.

    `tools` are the names of the tools that are offered; `withheld` maps the names of the tools that
    are not offered to the reason and the way out. `prompts` maps the names of the prompts to the
    names of the arguments that they need, and `resources` are addresses. `suggest` returns the call
    of a tool that means a call of another server's tool, None for no such tool.

    Raises:
        MCPError: the request is invalid (code -32602).
    """
    values = {} if params is None else params
    if method == "tools/call":
        _check_call(values, tools, withheld, suggest)
    elif method == "prompts/get":
        _check_prompt(values.get("name"), values.get("arguments"), prompts or {})
    elif method == "resources/read":
        _check_resource(values.get("uri"), resources)
    elif method.endswith("/list") and not isinstance(values.get("cursor"), str | None):
        raise _refusal(f"cursor {values['cursor']!r:.100} is not a string: leave it out")


def client_name(method: str, params: Mapping[str, Any] | None) -> str | None:
    """Return the name of the client in this request, None if it has no name.

    Before the protocol revision 2026-07-28 only `initialize` has it; since then every request.
    """
    values: Any = {} if params is None else params
    if method == "initialize":
        client = values.get("clientInfo")
    else:
        meta = values.get("_meta")
        client = meta.get(CLIENT_INFO_META_KEY) if isinstance(meta, Mapping) else None
    name = client.get("name") if isinstance(client, Mapping) else None
    if not isinstance(name, str):
        return None
    return " ".join(escape_label(name).split())[:_MAX_NAME_CHARS].strip() or None


def _check_call(
    params: Mapping[str, Any],
    tools: Collection[str],
    withheld: Mapping[str, str],
    suggest: Suggest,
) -> None:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise _refusal(f"name {name!r:.100} is not a string: give the name of a tool")
    if name in withheld:
        raise _refusal(f"the tool {name!r} {withheld[name]}")
    if name not in tools:
        call = suggest(name, arguments if isinstance(arguments, Mapping) else {})
        if call is not None:
            raise _refusal(f"there is no tool {name!r:.100} here: call {call}")
        raise _refusal(
            f"there is no tool {name!r:.100}: the nearest is {suggest_name(name, tools)!r},"
            f" all are {', '.join(tools)}"
        )
    if arguments is not None and not isinstance(arguments, Mapping):
        raise _refusal(f"arguments {arguments!r:.100} are not an object: give names and values")


def _check_prompt(name: object, arguments: object, prompts: Mapping[str, Collection[str]]) -> None:
    required = prompts.get(name) if isinstance(name, str) else None
    if required is None:
        names = f"the prompts are {', '.join(prompts)}" if prompts else "there are none"
        raise _refusal(f"there is no prompt {name!r:.100}: {names}")
    given = arguments if isinstance(arguments, Mapping) else {}
    missing = [argument for argument in required if argument not in given]
    if missing:
        raise _refusal(f"the prompt {name!r} needs {', '.join(missing)}: give a text")


def _check_resource(uri: object, resources: Collection[str]) -> None:
    """Refuse an address that is neither among `resources` nor of the form of one."""
    address = str(uri)
    for resource in resources:
        fixed, brace, _ = resource.partition("{")
        if address == resource or (brace and address.startswith(fixed)):
            return
    names = f"the resources are {', '.join(resources)}" if resources else "there are none"
    raise _refusal(f"there is no resource {address!r:.100}: {names}")


def _refusal(reason: str) -> MCPError:
    return MCPError(code=INVALID_PARAMS, message=f"{replace_surrogates(reason)}; nothing was done")
