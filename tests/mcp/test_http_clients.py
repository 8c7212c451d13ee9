"""Clients of the SDK over HTTP, in both eras of the protocol and over the older SSE transport."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from http_server import (
    WAYS,
    HttpServer,
    call_body,
    connect,
    held_program,
    post_head,
    wait_for,
)
from mcp import MCPError
from talking import call, refusal, text

from infinite_memory import MemoryStore
from infinite_memory_mcp.server import INSTRUCTIONS
from infinite_memory_mcp.settings import CLIENT

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clients") / "home"


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[HttpServer]:
    with HttpServer(home) as running:
        yield running
        assert running.stop() == 0
        assert "Traceback" not in running.log


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_a_client_stores_and_another_finds(server: HttpServer, way: str) -> None:
    async with connect(server, way) as client:
        receipt = await call(client, "store_memory", text=f"The colour of {way} is blue")
        assert client.instructions == INSTRUCTIONS
    async with connect(server, "auto") as other:
        answer = await call(other, "retrieve_memory", query=f"what is the colour of {way}?")
    assert receipt["id"] in [hit["id"] for hit in answer["hits"]]


async def test_the_tools_are_those_of_stdio(server: HttpServer, way: str) -> None:
    async with connect(server, way) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
    assert len(names) == 13
    assert "store_memory" in names


async def test_errors_are_those_of_stdio(server: HttpServer, way: str) -> None:
    async with connect(server, way) as client:
        assert "limit" in await refusal(client, "retrieve_memory", query="x", limit=0)
        with pytest.raises(MCPError, match=r"there is no tool 'store_memry'.*'store_memory'"):
            await client.call_tool("store_memry", {"text": "x"})


async def test_an_answer_fits_its_budget(server: HttpServer, way: str) -> None:
    async with connect(server, way) as client:
        for number in range(5):
            await call(client, "store_memory", text=f"Log {number} of {way}. " + "word " * 3000)
        answer = await text(client, "retrieve_memory", query="log", max_tokens=500)
    assert len(answer) < 4000


async def test_many_clients_at_once_share_one_store(server: HttpServer) -> None:
    stored: list[str] = []

    async def store(number: int) -> None:
        async with connect(server, WAYS[number % 3]) as client:
            for turn in range(3):
                receipt = await call(client, "store_memory", text=f"Note {turn} of client {number}")
                stored.append(receipt["id"])

    async with anyio.create_task_group() as tasks:
        for number in range(9):
            tasks.start_soon(store, number)
    async with connect(server, "auto") as client:
        for memory_id in stored:
            assert (await call(client, "retrieve_memory", ids=[memory_id]))["hits"]


async def test_the_journal_names_the_client_that_called(
    server: HttpServer, home: Path, way: str
) -> None:
    stored: dict[str, str] = {}
    for name in ("Alice's editor", "the chat", "x" * 300):
        async with connect(server, way, name=name) as client:
            receipt = await call(client, "store_memory", text=f"Told by {name} over {way}")
            stored[name] = receipt["id"]
    with MemoryStore.open(home) as store:
        for name, memory_id in stored.items():
            entry = next(iter(store.journal.entries(memory_id=memory_id)))
            # Without a session, only the first request of the older revision has the name.
            expected = CLIENT if way == "legacy" else name[:100]
            assert entry.action.actor.client == expected


@pytest.mark.thorough
async def test_a_client_that_leaves_in_the_middle_of_a_call_loses_nothing(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "home", program=held_program(tmp_path)) as server:
        body = call_body("store_memory", text="Alice lives in Rome", id="alice")
        with server.connect() as connection:
            connection.sendall(post_head(server, len(body)) + body)
            wait_for(tmp_path / "begun")
        (tmp_path / "go").touch()
        assert server.stop() == 0
        assert "Traceback" not in server.log
    with MemoryStore.open(tmp_path / "home") as store:
        assert store.get("alice").text == "Alice lives in Rome"


@pytest.mark.thorough
async def test_a_client_that_closes_its_stream_in_the_middle_of_a_call_loses_nothing(
    tmp_path: Path,
) -> None:
    with HttpServer(tmp_path / "home", program=held_program(tmp_path)) as server:
        async with anyio.create_task_group() as tasks:

            async def store() -> None:
                async with connect(server, "sse") as client:
                    await call(client, "store_memory", text="Alice lives in Rome", id="alice")

            tasks.start_soon(store)
            await anyio.to_thread.run_sync(wait_for, tmp_path / "begun")
            tasks.cancel_scope.cancel()
        (tmp_path / "go").touch()
        assert server.ask(path="/healthz").status == 200
        assert server.stop() == 0
        assert "Traceback" not in server.log
    with MemoryStore.open(tmp_path / "home") as opened:
        assert opened.get("alice").text == "Alice lives in Rome"


@pytest.mark.thorough
async def test_an_ipv6_address_is_served(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "home", address="[::1]:0") as server:
        assert server.url.startswith("http://::1:")
        assert server.ask(path="/healthz", headers={"host": f"[::1]:{server.port}"}).status == 200


@pytest.mark.thorough
def test_a_notification_of_a_request_is_passed_over(server: HttpServer) -> None:
    body = b'{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "nothing"}}'
    assert server.ask(body).status == 202
    assert server.ask(body, headers={"mcp-protocol-version": "2026-07-28"}).status == 202
