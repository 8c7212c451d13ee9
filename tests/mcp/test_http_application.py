"""The HTTP application in this process: paths, keys and what a key lets a client see."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from infinite_memory import MemoryStore
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.http.address import HttpAddress, HttpOptions
from infinite_memory_mcp.http.application import HttpApplication
from infinite_memory_mcp.http.serving import build_application
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.server import TOOLSETS, required_right
from infinite_memory_mcp.settings import ALL_TOOLSETS, CLIENT

pytestmark = pytest.mark.anyio
HOST = "127.0.0.1:8765"
TOOLS = {
    spec.name: required_right(name, spec) for name, specs in TOOLSETS.items() for spec in specs
}
RIGHTS = ["read", "write", "admin"]


class Served:
    """A client of an application that serves `store`."""

    def __init__(self, store: MemoryStore, app: HttpApplication, client: httpx2.AsyncClient):
        self.store, self.app, self.client = store, app, client

    async def ask(self, method: str, secret: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a request of the protocol, and return the answer with its status."""
        headers = {} if secret is None else {"x-memory-key": secret}
        answer = await self.client.post(
            "/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
            headers={
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": "2025-06-18",
                **headers,
            },
        )
        return {"status": answer.status_code, **answer.json()}

    async def call(self, name: str, tool: str, **arguments: Any) -> str:
        """Call a tool as a client of that name, by the newer revision; return what it answers."""
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": name, "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        answer = await self.client.post(
            "/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
            headers={
                "accept": "application/json",
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": tool,
            },
        )
        result = answer.json()["result"]
        assert not result["isError"], result
        return str(result["content"][0]["text"])

    def last_client(self) -> str:
        """Return the client of the latest entry of the journal."""
        return next(iter(self.store.journal.entries(limit=1))).action.actor.client


@asynccontextmanager
async def serve(**options: Any) -> AsyncIterator[Served]:
    """Serve a store with a scope inside and one outside of `team/*`."""
    store = MemoryStore.open("memory://", embedder=HashingEmbedder(32))
    store.remember("The standup is at 9", id="in-1", scope="team/daily", tags=["in-tag"])
    store.remember(
        "zzquartz is the secret", id="zz-1", scope="zz-vault", tags=["zz-tag"], key="zz/key"
    )
    with LazyStore(lambda: store, quiet_seconds=600) as memory:
        app = build_application(
            memory,
            HttpOptions(address=HttpAddress.parse(HOST), toolsets=ALL_TOOLSETS, **options),
        )
        transport = httpx2.ASGITransport(app=app)
        async with (
            app.running(),
            httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client,
        ):
            yield Served(store, app, client)


async def test_the_state_of_the_server_is_told_without_a_key() -> None:
    async with serve() as served:
        assert (await served.client.get("/healthz")).json() == {"status": "alive"}
        assert (await served.client.get("/readyz")).json() == {"status": "ready"}
        assert (await served.client.get("/nothing")).status_code == 404
        wrong = await served.client.get("/mcp")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"host": "localhost:8765", "origin": "http://localhost:8765"}, 200),
    ],
)
async def test_foreign_hosts_and_pages_are_refused(headers: dict[str, str], status: int) -> None:
    async with serve() as served:
        assert (await served.client.get("/healthz", headers=headers)).status_code == status


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"\xff\xfe", 400), (b"[" * 100_000, 400), (b"x" * 2**21, 413)],
)
async def test_a_body_that_is_no_message_is_refused(body: bytes, status: int) -> None:
    async with serve() as served:
        answer = await served.client.post(
            "/mcp",
            content=body,
            headers={"content-type": "application/json", "accept": "application/json"},
        )
        assert answer.status_code == status


async def test_without_keys_every_tool_is_offered() -> None:
    async with serve() as served:
        listed = await served.ask("tools/list")
        assert {tool["name"] for tool in listed["result"]["tools"]} == set(TOOLS)
        found = await served.ask(
            "tools/call", name="retrieve_memory", arguments={"query": "standup", "scope": "ALL"}
        )
        assert "The standup is at 9" in found["result"]["content"][0]["text"]


async def test_keys_are_needed_once_there_is_one() -> None:
    async with serve() as served:
        created = served.store.keys.create("laptop", rights=["read"], scopes=["team/*"])
        call = {"name": "search_by_scope", "arguments": {}}
        assert (await served.ask("tools/call", **call))["status"] == 401
        assert (await served.ask("tools/call", "im_wrong_key", **call))["status"] == 401
        assert (await served.ask("tools/call", created.secret, **call))["status"] == 200
        for header in ({"authorization": f"Bearer {created.secret}"}, {}):
            query = {} if header else {"key": created.secret}
            answer = await served.client.post(
                "/mcp",
                params=query,
                json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
                headers={
                    "accept": "application/json, text/event-stream",
                    "mcp-protocol-version": "2025-06-18",
                    **header,
                },
            )
            assert answer.status_code == 200


async def test_an_expired_key_and_a_revoked_one_are_refused_alike() -> None:
    async with serve(require_keys=True) as served:
        soon = datetime.now(UTC) + timedelta(seconds=0.2)
        expired = served.store.keys.create("old", rights=["read"], expires_at=soon, scopes="*")
        revoked = served.store.keys.create("gone", rights=["read"], scopes="*")
        served.store.keys.revoke("gone")
        while datetime.now(UTC) < soon:
            pass
        answers = [
            await served.ask("tools/call", key.secret, name="search_by_scope", arguments={})
            for key in (expired, revoked)
        ]
        assert [answer["status"] for answer in answers] == [401, 401]
        assert answers[0]["error"] == answers[1]["error"]


@pytest.mark.parametrize("right", RIGHTS)
async def test_a_key_offers_the_tools_of_its_rights_and_no_others(right: str) -> None:
    allowed = RIGHTS[: RIGHTS.index(right) + 1]
    async with serve() as served:
        secret = served.store.keys.create("k", rights=[right], scopes="*").secret
        listed = await served.ask("tools/list", secret)
        offered = {tool["name"] for tool in listed["result"]["tools"]}
        assert offered == {name for name, needed in TOOLS.items() if needed in allowed}
        for name in set(TOOLS) - offered:
            refused = await served.ask("tools/call", secret, name=name, arguments={})
            assert f"needs the right {TOOLS[name]!r}" in refused["error"]["message"]


@pytest.mark.parametrize("right", RIGHTS)
async def test_what_is_outside_of_the_scopes_of_a_key_does_not_exist_for_it(right: str) -> None:
    outside = ("zzquartz", "zz-vault", "zz-tag", "zz-1", "zz/key")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("resources/read", {"uri": "memory://stats/overview"}),
        ("resources/read", {"uri": "memory://conversations/list"}),
        ("resources/read", {"uri": "memory://memory/in-1"}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "recall-context", "arguments": {"current_topic": "the standup"}}),
        *(
            (
                "completion/complete",
                {
                    "ref": {"type": "ref/prompt", "name": "recall-context"},
                    "argument": {"name": name, "value": ""},
                },
            )
            for name in ("scope", "current_topic")
        ),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": "memory://memory/{+id}"},
                "argument": {"name": "id", "value": ""},
            },
        ),
        *(
            ("tools/call", {"name": name, "arguments": arguments})
            for name, arguments in [
                ("retrieve_memory", {"query": "what is the secret?", "scope": "ALL"}),
                ("search_by_scope", {}),
                ("search_by_tag", {}),
                ("get_memory_stats", {}),
                ("list_memory_scopes", {}),
                ("recall_memory_by_time", {"when": "always", "scope": "ALL"}),
                ("memory_log", {}),
                ("get_user_profile", {}),
                ("undo", {"dry_run": True}),
            ]
        ),
    ]
    async with serve() as served:
        secret = served.store.keys.create("k", rights=[right], scopes=["team/*"]).secret
        for method, params in calls:
            said = json.dumps(await served.ask(method, secret, **params))
            assert not [word for word in outside if word in said], (method, params)
        inside = await served.ask("resources/read", secret, uri="memory://memory/in-1")
        assert "The standup is at 9" in json.dumps(inside)
        hidden = await served.ask("resources/read", secret, uri="memory://memory/zz-1")
        missing = await served.ask("resources/read", secret, uri="memory://memory/no-1")
        assert hidden["error"]["message"].replace("zz-1", "no-1") == missing["error"]["message"]


async def test_a_client_without_a_key_undoes_only_what_it_changed_itself() -> None:
    async with serve() as served:
        await served.call("first", "store_memory", text="The first was here")
        assert served.last_client() == "first"
        await served.call("second", "store_memory", text="The second was here")
        await served.call("first", "undo")
        texts = [memory.text for memory in served.store.browse(scope="ALL").memories]
        assert "The second was here" in texts
        assert "The first was here" not in texts


async def test_a_client_without_a_key_stays_in_the_scopes_of_the_server() -> None:
    async with serve(scopes=["team/*"]) as served:
        found = await served.call("first", "retrieve_memory", query="what is it?", scope="ALL")
        assert "The standup is at 9" in found
        assert "zzquartz" not in found


async def test_the_names_of_clients_are_bounded() -> None:
    async with serve() as served:
        for number in range(70):
            name = f"client {number}"
            await served.call(name, "store_memory", text=f"Note {number}")
            assert served.last_client() == (name if number < 64 else CLIENT)
        await served.call("client 3", "store_memory", text="Back again")
        assert served.last_client() == "client 3"


async def test_a_draining_application_refuses_what_comes_later() -> None:
    async with serve() as served:
        await served.ask("tools/list")
        await served.app.drain()
        assert (await served.ask("tools/list"))["status"] == 503
        ready = await served.client.get("/readyz")
        assert (ready.status_code, ready.headers["retry-after"]) == (503, "1")
