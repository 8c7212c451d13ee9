"""How the tests speak to a server: through the SDK's client, in this process or another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from benchmarks.raw_server import environment, server_command

ROOT = Path(__file__).parents[2]


def server(home: Path, *flags: str) -> StdioServerParameters:
    """Return how a client starts a server on the store in `home`."""
    program, *arguments = server_command(home, *flags)
    return StdioServerParameters(command=program, args=arguments, env=environment())


async def call(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed, and return its data."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    data: dict[str, Any] = result.structured_content
    return data


async def text(client: Client, tool: str, /, **arguments: Any) -> str:
    """Call a tool that must succeed, and return its text."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return str(result.content[0].text)


async def refusal(client: Client, tool: str, /, **arguments: Any) -> str:
    """Call a tool that must refuse, and return what it says."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    return str(result.content[0].text)
