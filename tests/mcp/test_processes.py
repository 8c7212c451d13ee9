"""Servers in processes of their own, with the bundled model, spoken to by the SDK's own client."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from talking import call, server, text

pytestmark = pytest.mark.anyio

SERVERS = 4
BATCH = 50


@pytest.mark.process
async def test_what_one_server_stores_another_that_is_warm_retrieves_at_once(
    tmp_path: Path, era: str
) -> None:
    async with (
        Client(server(tmp_path), mode=era) as writer,
        Client(server(tmp_path), mode=era) as reader,
    ):
        await call(reader, "retrieve_memory", query="warm up")
        receipt = await call(
            writer, "store_memory", text="Alice's birthday is January 20", happened_at="2024-02-03"
        )
        by_meaning = await call(reader, "retrieve_memory", query="When was she born?")
        said = await text(reader, "retrieve_memory", query="Alice birthday")
        await call(reader, "update_memory", id=receipt["id"], text="Alice's birthday is May 1")
        corrected = await call(writer, "retrieve_memory", query="Alice birthday")
    assert receipt["searchable"] == "meaning"
    assert [memory["id"] for memory in by_meaning["hits"]] == [receipt["id"]]
    assert "> Alice's birthday is January 20" in said
    assert corrected["hits"][0]["text"] == "Alice's birthday is May 1"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "count", [50, pytest.param(200, marks=pytest.mark.slow("server-endurance"))]
)
async def test_four_servers_at_once_store_and_each_finds_what_all_stored(
    tmp_path: Path, count: int
) -> None:
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(
                Client(
                    server(tmp_path, "--toolsets", "core,admin"),
                    mode="auto" if number % 2 else "legacy",
                )
            )
            for number in range(SERVERS)
        ]
        async with anyio.create_task_group() as tasks:
            for number, client in enumerate(clients):
                tasks.start_soon(store_many, client, number, count)
        found: list[set[str]] = [set() for _ in clients]
        async with anyio.create_task_group() as tasks:
            for client, ids in zip(clients, found, strict=True):
                tasks.start_soon(find_all, client, ids, count)
        stats = await call(clients[0], "get_memory_stats")
    expected = {f"{server}-{i}" for server in range(SERVERS) for i in range(count)}
    assert found == [expected] * SERVERS
    assert stats["memories"] == stats["embedded"] == SERVERS * count


def word(number: int, batch: int) -> str:
    return f"ledger{number}x{batch}"


async def store_many(client: Client, number: int, count: int) -> None:
    for i in range(count):
        said = f"Entry {i} of {word(number, i // BATCH)} was written down"
        await call(client, "store_memory", text=said, id=f"{number}-{i}")


async def find_all(client: Client, ids: set[str], count: int) -> None:
    for number in range(SERVERS):
        for batch in range(count // BATCH):
            data: dict[str, Any] = await call(
                client, "retrieve_memory", query=word(number, batch), limit=100, max_tokens=100_000
            )
            ids.update(
                memory["id"] for memory in data["hits"] if word(number, batch) in memory["text"]
            )
