"""A matrix of keys: rights by scopes by every tool, resource, prompt, completion and route.

Two stores are served over HTTP in this process: one holds much outside of the scopes of a key, its
twin never did. Whatever a client asks with the key, both answer the same. The calls are generated
from what the server registers: a tool, a prompt, an address or a route without a row fails.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from datetime import datetime, timedelta
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from confined_pairs import Clock, fill, markers_in, outside_of
from test_confined_tools import IDS, REPOSITORIES, ROWS

from infinite_memory import Config, MemoryStore, Storage
from infinite_memory.core.config import Limits
from infinite_memory.storage.inmemory import InMemoryStorage
from infinite_memory.testing.embedders import HashingEmbedder
from infinite_memory_mcp.http.address import HttpAddress, HttpOptions
from infinite_memory_mcp.http.application import HttpApplication
from infinite_memory_mcp.http.serving import build_application
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.resources import RESOURCES
from infinite_memory_mcp.server import INSTRUCTIONS, TOOLSETS, required_right
from infinite_memory_mcp.settings import ALL_TOOLSETS

pytestmark = pytest.mark.anyio

HOST = "127.0.0.1:8765"
ROUTES = {"/mcp", "/sse", "/messages", "/healthz", "/readyz", "/metrics"}
RIGHTS = ("read", "write", "admin")
GRANTS = [grant for size in (1, 2, 3) for grant in combinations(RIGHTS, size)]
PATTERNS: Mapping[str, Sequence[str]] = {
    "own": ("work", "team"),
    "pattern": ("work*", "Team*"),
    "nothing": ("nobody/*",),
    "person": ("people/zoe", "work", "team"),
}
TOOLS = {
    spec.name: required_right(name, spec) for name, specs in TOOLSETS.items() for spec in specs
}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2025-06-18",
}
PROMPT_ARGUMENTS = {"scope", "info_type", "information", "current_topic"}
PROMPT_ARGUMENTS |= {"reminder_content", "trigger_condition", "conversation_id"}
VARIABLE = re.compile(r"\{\+?(\w+)\}")
SAID = json.dumps(dict(ROWS)) + INSTRUCTIONS
"""What a client may know without being told: its own words, and those of the server."""

# The tool has no row in `ROWS`: durations, and what a warm-up in the background has done so far,
# are not the same twice. Of its answer the calls of the tools are compared, with their errors.
TOOL_LINE = re.compile(r"tool (\w+: \d+ calls?).*?(, errors: .*?)?\\n")
FURTHER_ROWS: Mapping[str, Sequence[Mapping[str, Any]]] = {"get_metrics": [{}]}
Call = tuple[str, Mapping[str, Any]]


def tool_calls(right: str | None) -> Iterator[Call]:
    """Yield calls of every tool: all rows of those that need `right`, the first row of the rest."""
    # The tools that read first, so that they see the stores as they were filled.
    for name in sorted(TOOLS, key=lambda name: RIGHTS.index(TOOLS[name])):
        rows = ROWS[name] or FURTHER_ROWS[name]
        for arguments in rows if TOOLS[name] == right else rows[:1]:
            yield "tools/call", {"name": name, "arguments": arguments}


def list_calls() -> Iterator[Call]:
    for method in ("resources/list", "resources/templates/list", "prompts/list", "ping"):
        yield method, {}
    client = {"name": "a client", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    yield "initialize", params
    yield "logging/setLevel", {"level": "debug"}


def resource_calls() -> Iterator[Call]:
    for spec in RESOURCES:
        variables = VARIABLE.findall(spec.uri)
        values = {"id": IDS, "repository": (*REPOSITORIES, "/"), "": ("",)}["".join(variables)]
        for value in values:
            yield "resources/read", {"uri": VARIABLE.sub(value, spec.uri)}


def prompt_calls(prompts: Sequence[Mapping[str, Any]]) -> Iterator[Call]:
    for prompt in prompts:
        names = [argument["name"] for argument in prompt["arguments"]]
        assert set(names) <= PROMPT_ARGUMENTS, f"{prompt['name']} has an argument without a row"
        for value in ("zz-vault", "work"):
            arguments = dict.fromkeys(names, value)
            yield "prompts/get", {"name": prompt["name"], "arguments": arguments}


def completion_calls(
    prompts: Sequence[Mapping[str, Any]], templates: Sequence[Mapping[str, Any]]
) -> Iterator[Call]:
    refs = [
        ({"type": "ref/prompt", "name": prompt["name"]}, argument["name"])
        for prompt in prompts
        for argument in prompt["arguments"]
    ]
    refs += [
        ({"type": "ref/resource", "uri": template["uriTemplate"]}, name)
        for template in templates
        for name in VARIABLE.findall(template["uriTemplate"])
    ]
    for ref, name in refs:
        for typed in ("", "z", "zz-", "G", "in"):
            argument = {"name": name, "value": typed}
            yield "completion/complete", {"ref": ref, "argument": argument}


async def list_routes(server: Served) -> AsyncIterator[tuple[str, str]]:
    """Yield the routes of an application, as its refusals name them."""
    missing = (await server.client.get("/nothing")).json()["error"]["message"]
    for path in re.findall(r"/[\w/]+", missing.partition(" are ")[2]):
        refused = await server.client.request("TRACE", path)
        assert refused.status_code == 405
        for method in refused.headers["allow"].split(", "):
            yield method, path


async def ask_over_sse(server: Served, secret: str, method: str, params: Mapping[str, Any]) -> str:
    """Return the answer to a request over the older transport, which comes in a stream."""
    send, receive = anyio.create_memory_object_stream[str](10)
    has_answer = anyio.Event()

    async def take(message: Mapping[str, Any]) -> None:
        for line in message.get("body", b"").decode().splitlines():
            if line.startswith("data: "):
                await send.send(line.removeprefix("data: "))

    async def wait() -> Mapping[str, Any]:
        await has_answer.wait()
        return {"type": "http.disconnect"}

    headers = [(b"host", HOST.encode()), (b"x-memory-key", secret.encode())]
    scope = {
        **{"type": "http", "method": "GET", "path": "/sse", "raw_path": b"/sse"},
        **{"query_string": b"", "root_path": "", "headers": headers, "http_version": "1.1"},
        **{"scheme": "http", "server": ("127.0.0.1", 8765), "client": ("127.0.0.1", 1)},
    }
    client = {"name": "a client", "version": "1"}
    first = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    async with send, receive, anyio.create_task_group() as tasks:
        tasks.start_soon(server.app, scope, wait, take)
        endpoint = await receive.receive()

        async def post(**message: Any) -> None:
            answer = await server.client.post(
                endpoint,
                json={"jsonrpc": "2.0", **message},
                headers={"content-type": "application/json", "x-memory-key": secret},
            )
            assert answer.status_code == 202

        await post(id=1, method="initialize", params=first)
        await receive.receive()
        await post(method="notifications/initialized")
        await post(id=2, method=method, params=params)
        answer = await receive.receive()
        has_answer.set()
    return answer


class StandingClock:
    """Goes on with each call of the matrix alone, so that the background changes no answer."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class Served:
    """A store with its application, and the keys that were made for it."""

    def __init__(
        self, storage: Storage, store: MemoryStore, app: HttpApplication, clock: StandingClock
    ) -> None:
        self.storage, self.store, self.app, self.clock = storage, store, app, clock
        self.client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app), base_url=f"http://{HOST}"
        )

    async def ask(self, secret: str, method: str, params: Mapping[str, Any]) -> str:
        """Send a request of the protocol, and return the status and all that was answered."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {**HEADERS, "x-memory-key": secret}
        answer = await self.client.post("/mcp", json=message, headers=headers)
        return f"{answer.status_code} {answer.text}"

    async def list(self, secret: str, method: str, name: str) -> list[dict[str, Any]]:
        """Return what a list of the protocol holds."""
        answer = await self.ask(secret, method, {})
        found: list[dict[str, Any]] = json.loads(answer.partition(" ")[2])["result"][name]
        return found


async def calls_for(server: Served, secret: str, *, right: str | None) -> AsyncIterator[Call]:
    """Yield every call that can be made of what a server registers."""
    prompts = await server.list(secret, "prompts/list", "prompts")
    templates = await server.list(secret, "resources/templates/list", "resourceTemplates")
    for calls in (
        list_calls(),
        resource_calls(),
        prompt_calls(prompts),
        completion_calls(prompts, templates),
        tool_calls(right),
    ):
        for call in calls:
            yield call


def untouchable(storage: Storage, scopes: str) -> list[str]:
    """Return what a store holds outside of the scopes of a key, as lines."""
    if scopes != "nothing":
        return outside_of(storage, PATTERNS["person"])
    records = (change.record for change in storage.changes(0, limit=10_000).items)
    return sorted(
        repr(record)
        for record in records
        if record and not record.memory.scope.startswith("nobody/")
    )


@asynccontextmanager
async def serve(home: Path, *, outside: bool, inside: bool = True) -> AsyncIterator[Served]:
    """Serve a filled store; two with the same settings answer alike to the letter."""
    config = Config(home=home, time_zone="Europe/Berlin", limits=Limits(calls_per_minute=0))
    filled_at = Clock()
    with closing(InMemoryStorage()) as storage:
        opened = partial(
            MemoryStore.open,
            config=config,
            storage=storage,
            embedder=HashingEmbedder(),
            client="somebody",
        )
        with opened(clock=filled_at) as filling:
            fill(filling, storage, filled_at, outside=outside, inside=inside)
        clock = StandingClock(filled_at.now)
        store = opened(clock=clock, random_bytes=random.Random(7).randbytes)
        with LazyStore(lambda: store, quiet_seconds=600) as memory:
            options = HttpOptions(
                address=HttpAddress.parse(HOST), toolsets=ALL_TOOLSETS, require_keys=True
            )
            app = build_application(memory, options)
            async with app.running():
                one = Served(storage, store, app, clock)
                async with one.client:
                    yield one


@asynccontextmanager
async def serve_pair(home: Path, *, inside: bool = True) -> AsyncIterator[tuple[Served, Served]]:
    """Serve a store with much outside, and its twin; without `inside`, the twin is empty."""
    async with (
        serve(home, outside=True) as full,
        serve(home, outside=False, inside=inside) as twin,
    ):
        yield full, twin


def make_key(name: str, rights: Sequence[str], scopes: Sequence[str], *pair: Served) -> list[str]:
    """Return the secrets of a key in each store."""
    return [each.store.keys.create(name, rights=rights, scopes=scopes).secret for each in pair]


def marks(text: str) -> set[str]:
    """Return the words that come from outside, without the signs of a sentence after them."""
    return {marker.rstrip(".-/") for marker in markers_in(text)}


def refusal(tool: str) -> str:
    return f"needs the right '{TOOLS[tool]}', which your key does not have"


@pytest.mark.thorough
@pytest.mark.parametrize("scopes", PATTERNS)
async def test_a_key_learns_nothing_of_what_is_outside_of_its_scopes(
    scopes: str, tmp_path: Path
) -> None:
    async with serve_pair(tmp_path, inside=scopes != "nothing") as (full, twin):
        before = untouchable(full.storage, scopes)
        unsaid = marks(" ".join(outside_of(full.storage))) - marks(SAID)
        assert len(unsaid) > 10
        for grant in GRANTS:
            secrets = make_key("-".join(grant), grant, PATTERNS[scopes], full, twin)
            held = RIGHTS[: max(map(RIGHTS.index, grant)) + 1]
            tools = [tool["name"] for tool in await full.list(secrets[0], "tools/list", "tools")]
            assert sorted(tools) == sorted(name for name in TOOLS if TOOLS[name] in held)
            right = grant[0] if len(grant) == 1 else None
            async for call in calls_for(full, secrets[0], right=right):
                method, params = call
                for server in (full, twin):
                    server.clock.now += timedelta(seconds=1)
                answer = await full.ask(secrets[0], method, params)
                same = await twin.ask(secrets[1], method, params)
                if params.get("name") in FURTHER_ROWS.keys() & tools:
                    assert TOOL_LINE.findall(answer) == TOOL_LINE.findall(same) != [], call
                else:
                    assert answer == same, call
                assert not marks(answer) & unsaid, call
                if method == "tools/call" and params["name"] not in tools:
                    assert refusal(params["name"]) in answer, call
            assert untouchable(full.storage, scopes) == before, grant


@pytest.mark.parametrize("scopes", PATTERNS)
async def test_no_route_tells_more_than_on_a_store_without_the_rest(
    scopes: str, tmp_path: Path
) -> None:
    async with serve_pair(tmp_path, inside=scopes != "nothing") as pair:
        full, twin = pair
        secrets = make_key("reader", ["read"], PATTERNS[scopes], full, twin)
        admins = make_key("operator", ["admin"], PATTERNS[scopes], full, twin)
        routes = [route async for route in list_routes(full)]
        assert {path for _, path in routes} == ROUTES
        for server, admin in zip(pair, admins, strict=True):
            page = await server.client.get("/metrics", headers={"x-memory-key": admin})
            assert (page.status_code, "for every scope" in page.text) == (403, True)
        for method, path in [*routes, ("GET", "/zz-vault"), ("DELETE", "/mcp")]:
            for shown in ({}, {"x-memory-key": "im_wrong"}, None):
                if path == "/sse" and shown is None:
                    continue  # it has no end, and is read below
                answers = []
                for server, secret in zip(pair, secrets, strict=True):
                    headers = {**HEADERS, **({"x-memory-key": secret} if shown is None else shown)}
                    answer = await server.client.request(method, path, headers=headers)
                    answers.append((answer.status_code, answer.text))
                assert answers[0] == answers[1], (method, path)
                assert not marks(answers[0][1]) - {path.strip("/")}, (method, path)
                is_open = path in ("/healthz", "/readyz")
                if (method, path) in routes and shown is not None:
                    assert answers[0][0] == (200 if is_open else 401), (method, path, shown)
        for name in ("retrieve_memory", "list_memory_scopes", "store_memory"):
            for arguments in ROWS[name]:
                params = {"name": name, "arguments": arguments}
                told = [
                    await ask_over_sse(server, secret, "tools/call", params)
                    for server, secret in zip(pair, secrets, strict=True)
                ]
                assert told[0] == told[1], params
                assert (refusal(name) in told[0]) is (TOOLS[name] != "read")


async def test_a_key_for_every_scope_sees_what_the_others_must_not(tmp_path: Path) -> None:
    async with serve(tmp_path, outside=True) as full:
        for grant in GRANTS:
            held = RIGHTS[: max(map(RIGHTS.index, grant)) + 1]
            (secret,) = make_key("-".join(grant), grant, ["*"], full)
            seen = set()
            right = "read" if grant == ("read",) else None
            async for method, params in calls_for(full, secret, right=right):
                answer = await full.ask(secret, method, params)
                is_tool = method == "tools/call"
                assert not is_tool or (refusal(params["name"]) in answer) is (
                    TOOLS[params["name"]] not in held
                ), (method, params)
                seen |= marks(answer)
            assert {"zz-vault", "zz-tag", "zz-child", "Global"} <= seen, grant
            if right is not None:
                assert {"zzquartz", "zzcorp", "zzname"} <= seen
