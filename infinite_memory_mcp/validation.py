"""Validate requests before the SDK does, with errors that name the remedy.

The SDK answers only "Invalid request parameters", repeats names of any length, and reports an
unknown prompt as an internal error.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from attrs import field, frozen
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.session import ServerSession
from mcp_types import CLIENT_INFO_META_KEY, INVALID_PARAMS

from infinite_memory.core.values.messages import suggest_name
from infinite_memory.search.text.quotation import disarm_tags, escape_line
from infinite_memory_mcp.jsonrpc import show_json

_MAX_NAME_CHARS = 100
_MAX_ADDRESS_CHARS = 500


@frozen(kw_only=True)
class Offer:
    """The names that requests may use.

    `prompts` maps the names of the prompts to the names of the arguments that they need;
    `resources` are addresses, some of them with variables.
    """

    tools: Collection[str] = ()
    prompts: Mapping[str, Collection[str]] = field(factory=dict)
    resources: Collection[str] = ()


async def read_offer(server: MCPServer[Any], tools: Collection[str]) -> Offer:
    """Return the names of all that is registered with `server`, which answers `tools` as well."""
    return Offer(
        tools=list(dict.fromkeys([*tools, *(tool.name for tool in await server.list_tools())])),
        prompts={
            prompt.name: [given.name for given in prompt.arguments or () if given.required]
            for prompt in await server.list_prompts()
        },
        resources=[
            *(str(resource.uri) for resource in await server.list_resources()),
            *(template.uri_template for template in await server.list_resource_templates()),
        ],
    )


def check_request(
    method: str,
    params: Mapping[str, Any] | None,
    offer: Offer,
    withheld: Mapping[str, str],
) -> None:
    """Refuse a request for an unknown tool, prompt or resource, and parameters of a wrong shape.

    `withheld` maps the names of the tools that are not in the `offer` to the reason and the way
    out.

    Raises:
        MCPError: the request is invalid (code -32602).
    """
    values = {} if params is None else params
    if method == "tools/call":
        _check_call(values, offer.tools, withheld)
    elif method == "prompts/get":
        _check_prompt(values.get("name"), values.get("arguments"), offer.prompts)
    elif method == "resources/read":
        _check_resource(values.get("uri"), offer.resources)
    elif method.endswith("/list") and not isinstance(values.get("cursor"), str | None):
        raise make_refusal(
            f"cursor {show_json(values['cursor']):.100} is not a string: leave it out"
        )


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
    return _clean_name(name) if isinstance(name, str) else None


def caller_name(session: ServerSession) -> str | None:
    """Return the name of the client that calls, None if it has not given one.

    Over a transport without sessions a client of an older revision names itself in `initialize`
    alone, which no later request belongs to.
    """
    params = session.client_params
    return None if params is None else _clean_name(params.client_info.name)


def _clean_name(name: str) -> str | None:
    return " ".join(escape_line(name).split())[:_MAX_NAME_CHARS].strip() or None


def _check_call(
    params: Mapping[str, Any], tools: Collection[str], withheld: Mapping[str, str]
) -> None:
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise make_refusal(f"name {show_json(name):.100} is not a string: give the name of a tool")
    if name in withheld:
        raise make_refusal(f"the tool {name!r} {withheld[name]}")
    if name not in tools:
        raise make_refusal(
            f"there is no tool {name!r:.100}: the nearest is {suggest_name(name, tools)!r},"
            f" all are {', '.join(tools)}"
        )
    if arguments is not None and not isinstance(arguments, Mapping):
        raise make_refusal(
            f"arguments {show_json(arguments):.100} are not an object: give names and values"
        )


def _check_prompt(name: object, arguments: object, prompts: Mapping[str, Collection[str]]) -> None:
    required = prompts.get(name) if isinstance(name, str) else None
    if required is None:
        names = f"the prompts are {', '.join(prompts)}" if prompts else "there are none"
        raise make_refusal(f"there is no prompt {show_json(name):.100}: {names}")
    given = arguments if isinstance(arguments, Mapping) else {}
    missing = [argument for argument in required if argument not in given]
    if missing:
        raise make_refusal(f"the prompt {name!r} needs {', '.join(missing)}: give a text")


def _check_resource(uri: object, resources: Collection[str]) -> None:
    """Refuse an address that is neither among `resources` nor of their form."""
    address = uri if isinstance(uri, str) else show_json(uri)
    for resource in resources:
        fixed, brace, _ = resource.partition("{")
        if address == resource or (brace and address.startswith(fixed)):
            return
    names = f"the resources are {', '.join(resources)}" if resources else "there are none"
    raise make_refusal(
        f"there is no resource {address!r:.100}: {names}", data=resource_data(address)
    )


def resource_data(address: str) -> dict[str, str]:
    """Return the data of an error about a resource, as the protocol wishes it."""
    return {"uri": disarm_tags(address)[:_MAX_ADDRESS_CHARS]}


def make_refusal(reason: str, data: Mapping[str, str] | None = None) -> MCPError:
    """Return the error of a request that was refused before anything was done."""
    message = f"{disarm_tags(reason)}; nothing was done"
    return MCPError(code=INVALID_PARAMS, message=message, data=data)
