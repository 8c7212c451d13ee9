from __future__ import annotations

from collections.abc import Callable

import pytest
from mcp import Client, MCPError
from talking import call, refusal, text

from infinite_memory import Config, MemoryStore
from infinite_memory.core.config import Audit
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import build_server
from infinite_memory_mcp.settings import ALL_TOOLSETS

pytestmark = pytest.mark.anyio
Connect = Callable[[], Client]


async def test_health_says_what_works_and_what_does_not_exist_yet(connect: Connect) -> None:
    async with connect() as client:
        await call(client, "store_memory", text="The ferry leaves at ten")
        answer = await client.call_tool("health_check", {})
    data, said = answer.structured_content, answer.content[0].text.splitlines()
    assert (data["status"], data["memories"], data["worker"]) == ("ok", 1, None)
    assert said[0] == "status: ok"
    assert said[-2:] == ["background worker: none", "last backup: none yet"]
    for finding in data["findings"]:
        assert f"{finding['about']}: {finding['state']}: {finding['sentence']}" in said


async def test_metrics_count_tools_with_their_errors(connect: Connect) -> None:
    async with connect() as client:
        await call(client, "store_memory", text="The ferry leaves at ten")
        for _ in range(2):
            await call(client, "retrieve_memory", query="when does the ferry leave")
        await refusal(client, "retrieve_memory", ids=["nobody-here"])
        await refusal(client, "retrieve_memory", limit="many")
        for number in range(3):
            with pytest.raises(MCPError):
                await client.call_tool(f"invented_{number}", {})
        data = await call(client, "get_metrics")
        said = await text(client, "get_metrics")
    tools = {name: (each["calls"], each["errors"]) for name, each in data["tools"].items()}
    assert tools == {
        "store_memory": (1, {}),
        "retrieve_memory": (4, {"NotFound": 1, "InvalidInput": 1}),
        "unknown": (3, {"MCPError -32602": 3}),
    }
    assert data["operations"]["search"]["calls"] == 2
    assert data["arms"]["words"]["calls"] == 2
    assert data["triggers"] == {}
    assert "tool retrieve_memory: 4 calls, p50 " in said
    assert "errors: NotFound 1, InvalidInput 1" in said
    assert "invented" not in said


async def test_metrics_count_the_conditions_of_triggers(connect: Connect) -> None:
    async with connect() as client:
        await call(
            client,
            "add_long_term_memory",
            name="ferry",
            prompt="It leaves at ten",
            trigger={"any_of": ["ferry"]},
        )
        messages = [{"role": "user", "content": "When does the ferry leave?"}]
        await call(client, "search_long_term_memories", messages=messages)
        data = await call(client, "get_metrics")
        said = await text(client, "get_metrics")
    assert data["triggers"]["rules"]["calls"] == 1
    assert "conditions in rules: 1 call, p50 " in said


async def test_records_are_verified_on_request(connect: Connect) -> None:
    async with connect() as client:
        await call(client, "store_memory", text="The ferry leaves at ten")
        data = await call(client, "verify_memory")
        assert data["sound"]
        assert data["counts"]["memories"] == 1
        assert "No damage was found." in await text(client, "verify_memory")


async def test_the_log_shows_reads_where_they_are_recorded() -> None:
    config = Config(audit=Audit(reads=True))
    embedder = HashingEmbedder()

    def open_store() -> MemoryStore:
        return MemoryStore.open("memory://", config=config, embedder=embedder, client="test")

    with LazyStore(open_store, quiet_seconds=600) as memory:
        async with Client(build_server(memory, ALL_TOOLSETS, structured=True)) as client:
            stored = await call(client, "store_memory", text="The ferry leaves at ten")
            await call(client, "retrieve_memory", query="ferry")
            data = await call(client, "memory_log", reads=True)
            assert [read["operation"] for read in data["reads"]] == ["search"]
            assert data["reads"][0]["memories"] == [stored["id"]]
            said = await text(client, "memory_log", reads=True, id=stored["id"])
            assert said.endswith(f" · test · search · memory {stored['id'][-8:]}")
            assert "leave it out" in await refusal(client, "memory_log", reads=True, before=3)


async def test_the_log_says_that_reads_are_not_recorded(connect: Connect) -> None:
    async with connect() as client:
        said = await text(client, "memory_log", reads=True)
    assert said == (
        "No read is recorded.\nReads are not recorded: the setting audit.reads is false."
    )


async def test_they_are_not_listed_by_default_and_answer_all_the_same(store: MemoryStore) -> None:
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        async with Client(build_server(memory)) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert not names & {"health_check", "get_metrics", "verify_memory"}
            assert "status" in await text(client, "health_check")
