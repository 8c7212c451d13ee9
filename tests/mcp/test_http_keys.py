"""A key is a confined handle: what it opens, what it withholds, and when it ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from http_server import WAYS, HttpServer, call_body, connect
from mcp import MCPError
from talking import call, refusal

from infinite_memory import MemoryStore
from infinite_memory_mcp.server import TOOLSETS, WITH_CORE, required_right

RIGHTS = ("read", "write", "admin")
TOOLS = {
    spec.name: required_right(name, spec) for name, specs in TOOLSETS.items() for spec in specs
}
LISTED = WITH_CORE | {spec.name for name in ("core", "admin") for spec in TOOLSETS[name]}
"""The tools that this server lists, with those of the toolset `admin` for a key with that right."""


class Keyed:
    """A server of a store with keys, and the secrets of the keys by name."""

    def __init__(self, home: Path, server: HttpServer, secrets: dict[str, str]) -> None:
        self.home = home
        self.server = server
        self.secrets = secrets

    def header(self, name: str) -> dict[str, str]:
        return {"x-memory-key": self.secrets[name]}


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    home = tmp_path_factory.mktemp("keys") / "home"
    with MemoryStore.open(home) as store:
        for scope in ("team/apollo", "team/zeus", "health"):
            store.scopes.create(scope)
            store.remember(f"The secret of {scope} is 42", id=scope.replace("/", "-"), scope=scope)
        secrets = {
            right: store.keys.create(right, rights=[right], scopes=["team/*"]).secret
            for right in RIGHTS
        }
        secrets["all"] = store.keys.create("all", rights=["admin"]).secret
        secrets["health"] = store.keys.create("health", rights=["write"], scopes="health").secret
        soon = datetime.now(UTC) + timedelta(seconds=2)
        secrets["brief"] = store.keys.create("brief", expires_at=soon, scopes="*").secret
        secrets["revoked"] = store.keys.create("revoked", scopes="*").secret
        store.keys.revoke("revoked")
    with HttpServer(home, "--log-level", "debug") as server:
        yield Keyed(home, server, secrets)
        assert server.stop() == 0
        assert "Traceback" not in server.log
        # In no log, not even at the most talkative level; an id of a key may stand there.
        for secret in secrets.values():
            assert secret.rpartition("_")[2] not in server.log


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_without_a_key_that_is_accepted_nothing_is_answered(keyed: Keyed) -> None:
    while (
        keyed.server.ask(call_body("get_user_profile"), headers=keyed.header("brief")).status < 300
    ):
        time.sleep(0.2)
    for headers in (
        {},
        {"x-memory-key": "im_aaaaaaaa_" + "a" * 52},
        {"x-memory-key": keyed.secrets["read"][:-1] + "0"},
        {"x-memory-key": "ключ".encode().decode("latin-1")},
        {"authorization": "Basic YTpi"},
        {"authorization": "Bearer"},
        keyed.header("revoked"),
        keyed.header("brief"),
    ):
        for path in ("/mcp", "/messages/?session_id=" + "0" * 32, "/mcp?key="):
            answer = keyed.server.ask(
                call_body("retrieve_memory", query="x"), path, headers=headers
            )
            assert answer.status == 401, (headers, answer)
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert "key" in answer.message
        assert keyed.server.ask(path="/sse", headers=headers).status == 401
    for path in ("/healthz", "/readyz"):
        assert keyed.server.ask(path=path).status == 200


@pytest.mark.parametrize("shown", ["x-memory-key", "bearer", "query"])
@pytest.mark.anyio
async def test_a_key_is_shown_in_three_ways(keyed: Keyed, way: str, shown: str) -> None:
    secret = keyed.secrets["read"]
    headers = {
        "x-memory-key": {"x-memory-key": secret},
        "bearer": {"authorization": f"bearer {secret}"},
        "query": {},
    }[shown]
    query = f"?key={quote(secret)}" if shown == "query" else ""
    async with connect(keyed.server, way, headers=headers, query=query) as client:
        assert (await call(client, "retrieve_memory", ids=["team-apollo"]))["hits"]


@pytest.mark.parametrize("right", RIGHTS)
@pytest.mark.anyio
async def test_a_key_offers_the_tools_of_its_rights(keyed: Keyed, way: str, right: str) -> None:
    granted = RIGHTS[: RIGHTS.index(right) + 1]
    async with connect(keyed.server, way, headers=keyed.header(right)) as client:
        offered = {tool.name for tool in (await client.list_tools()).tools}
        held = {name for name, needed in TOOLS.items() if needed in granted}
        assert offered == held & LISTED
        for name in TOOLS.keys() - held:
            for called, arguments in ((name, {}), ("more", {"tool": name, "arguments": {}})):
                with pytest.raises(MCPError, match=rf"'{name}' needs the right '{TOOLS[name]}'"):
                    await client.call_tool(called, arguments)
        # A tool that is not listed answers whoever has its right.
        assert (await call(client, "search_by_tag"))["hits"] == []


@pytest.mark.anyio
async def test_a_key_that_reads_changes_nothing(keyed: Keyed) -> None:
    async with connect(keyed.server, "auto", headers=keyed.header("read")) as client:
        await call(client, "retrieve_memory", query="what is the secret of apollo?")
        with pytest.raises(MCPError, match="needs the right 'write', which your key does not have"):
            await client.call_tool("store_memory", {"text": "x"})


@pytest.mark.anyio
async def test_what_is_outside_the_scopes_of_a_key_does_not_exist(keyed: Keyed, way: str) -> None:
    async with connect(keyed.server, way, headers=keyed.header("admin")) as client:
        found = await call(client, "retrieve_memory", query="secret", scope="ALL", limit=100)
        assert {hit["scope"] for hit in found["hits"]} <= {"team/apollo", "team/zeus"}
        assert "no memory 'health'" in await refusal(client, "retrieve_memory", ids=["health"])
        unknown = await refusal(client, "search_by_scope", scope="nothing-like-it")
        outside = await refusal(client, "search_by_scope", scope="health")
        assert outside == unknown.replace("nothing-like-it", "health")


@pytest.mark.anyio
async def test_the_journal_names_the_key(keyed: Keyed) -> None:
    async with connect(keyed.server, "auto", headers=keyed.header("write")) as client:
        stored = await call(client, "store_memory", text="Zeus is ready", scope="team/zeus")
    with MemoryStore.open(keyed.home) as store:
        entry = next(iter(store.journal.entries(memory_id=stored["id"])))
    assert entry.action.actor.client == "write"


@pytest.mark.anyio
async def test_a_key_that_is_revoked_in_a_session_is_refused(keyed: Keyed, way: str) -> None:
    with MemoryStore.open(keyed.home) as store:
        secret = store.keys.create(f"for {way}", rights="write", scopes="*").secret
        async with connect(keyed.server, way, headers={"x-memory-key": secret}) as client:
            await call(client, "store_memory", text=f"Stored by {way}")
            store.keys.revoke(f"for {way}")
            # An answer of the store is used for a second.
            time.sleep(1.1)
            asked = keyed.server.ask(
                call_body("store_memory", text="too late"), headers={"x-memory-key": secret}
            )
            assert asked.status == 401
            if way != "sse":
                # A client of the older transport waits for an answer on its stream.
                with pytest.raises(Exception, match=r"401|not accepted|Unauthorized"):
                    await client.call_tool("store_memory", {"text": "too late"})


@pytest.mark.thorough
def test_keys_are_needed_once_there_is_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with HttpServer(home) as server, MemoryStore.open(home) as store:
        body = call_body("get_user_profile")
        assert server.ask(body).status == 200
        secret = store.keys.create("first", scopes="*").secret
        time.sleep(1.1)
        assert server.ask(body).status == 401
        assert server.ask(body, headers={"x-memory-key": secret}).status == 200
        # To revoke the last one does not open the store again.
        store.keys.revoke("first")
        time.sleep(1.1)
        assert server.ask(body, headers={"x-memory-key": secret}).status == 401
        assert server.ask(body).status == 401


@pytest.mark.thorough
@pytest.mark.anyio
async def test_a_server_for_some_scopes_confines_its_keys_further(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with MemoryStore.open(home) as store:
        for scope in ("a", "b"):
            store.remember(f"The note of {scope}", id=f"in-{scope}", scope=scope)
        secret = store.keys.create("everything", rights="admin").secret
    with HttpServer(home, "--scopes", "a") as server:
        async with connect(server, "auto", headers={"x-memory-key": secret}) as client:
            assert (await call(client, "retrieve_memory", ids=["in-a"]))["hits"]
            assert "no memory 'in-b'" in await refusal(client, "retrieve_memory", ids=["in-b"])
