"""A client that sends requests word for word as a document prints them, to a server process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from talking import call, server, text

from infinite_memory import Memory, MemoryStore


class LiteralClient:
    """Sends requests over standard input and output, and looks into the store at what they did."""

    def __init__(self, client: Client, store: MemoryStore) -> None:
        self.client = client
        self.store = store

    async def act(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request whose field "action" or "command" is the name of its tool."""
        return await call(self.client, request.get("action") or request["command"], **request)

    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        return await call(self.client, tool, **arguments)

    async def text(self, tool: str, /, **arguments: Any) -> str:
        return await text(self.client, tool, **arguments)

    async def read(self, address: str) -> str:
        return str((await self.client.read_resource(address)).contents[0].text)

    async def prompt(self, name: str, /, **arguments: str) -> str:
        return str((await self.client.get_prompt(name, arguments)).messages[0].content.text)

    def stored(self) -> list[Memory]:
        """Return what is current in every scope."""
        return list(self.store.browse(scope="ALL", limit=100).memories)


@asynccontextmanager
async def literal_client(home: Path) -> AsyncIterator[LiteralClient]:
    """Connect to a server as it is started by default, but for data that a program reads."""
    # In no repository, as a desktop application starts it.
    started = server(home, "--structured").model_copy(update={"cwd": home})
    async with Client(started) as client:
        await client.list_tools()
        with MemoryStore.open(home) as store:
            yield LiteralClient(client, store)
