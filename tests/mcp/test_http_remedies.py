"""Every refusal over HTTP is a JSON-RPC error, and the way out that it names works when tried."""

from __future__ import annotations

import ast
import json
import re
import socket
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from http_server import Answer, HttpServer, call_body

import infinite_memory_mcp.http
from infinite_memory import MemoryStore
from infinite_memory_mcp.http.bodies import MAX_BODY_BYTES

BODY = call_body("get_user_profile")
NO_STREAM = "/messages/?session_id=" + "0" * 32


@frozen
class World:
    """Servers of one store: an open one, one that needs keys, and those that a way out starts."""

    home: Path
    open: HttpServer
    keyed: HttpServer
    secrets: dict[str, str]

    def restart(self, *flags: str) -> HttpServer:
        """Return a server that was started with these flags too."""
        return HttpServer(self.home, "--log-level", "info", *flags)

    def ask(self, key: str, body: bytes | None = BODY, path: str = "/mcp") -> Answer:
        """Ask the server that needs keys, with one of them."""
        return self.keyed.ask(body, path, headers={"x-memory-key": self.secrets[key]})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = tmp_path_factory.mktemp("remedies") / "home"
    locked = home.with_name("locked")
    with MemoryStore.open(locked) as store:
        secrets = {
            right: store.keys.create(right, rights=[right], scopes="*").secret
            for right in ("read", "write", "admin")
        }
        secrets["revoked"] = store.keys.create("revoked", scopes="*").secret
        store.keys.revoke("revoked")
    with HttpServer(home) as opened, HttpServer(locked, "--require-keys") as keyed:
        yield World(home, opened, keyed, secrets)


def send_raw(server: HttpServer, request: bytes) -> Answer:
    """Send bytes that need not be a request, and read what comes back."""
    with server.connect() as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        content = b""
        while chunk := connection.recv(1 << 16):
            content += chunk
    head, _, body = content.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return Answer(int(status.split()[1]), headers, body)


def open_stream(server: HttpServer) -> Answer:
    """Open GET /sse, and post to the address that it names."""
    connection = HTTPConnection(server.host, server.port, timeout=60)
    try:
        connection.request("GET", "/sse")
        stream = connection.getresponse()
        address = ""
        while not address.startswith("data: "):
            address = stream.readline().decode().strip()
        return server.ask(BODY, address.removeprefix("data: "))
    finally:
        connection.close()


def allow_named_host(world: World, refused: Answer, headers: dict[str, str]) -> list[Answer]:
    named = re.search(r"--allow-host (\S+?), which demands a key;", refused.message)
    assert named is not None
    headers = {**headers, "x-memory-key": world.secrets["read"]}
    with HttpServer(world.home.with_name("locked"), "--allow-host", named[1]) as server:
        return [server.ask(BODY, headers=headers)]


def ask_all_paths(world: World, refused: Answer) -> list[Answer]:
    paths = re.findall(r"/\w+", refused.message.partition("paths are")[2])
    assert len(paths) >= 6
    answers = [world.open.ask(path=path) for path in paths if path != "/sse"]
    for answer in answers:
        assert answer.status in (200, 405)
    return []


Provoke = Callable[[World], Answer]
Try = Callable[[World, Answer], list[Answer]]

# A part of the reason, as the code writes it; how to get it; and its way out.
REMEDIES: dict[str, tuple[int, Provoke, Try]] = {
    "nothing is served here": (404, lambda w: w.open.ask(BODY, "/nowhere"), ask_all_paths),
    " is for ": (
        405,
        lambda w: w.open.ask(BODY, "/healthz"),
        lambda w, r: [
            w.open.ask(path="/healthz", method=name) for name in r.headers["allow"].split(", ")
        ],
    ),
    "the request names no host": (
        421,
        lambda w: send_raw(w.open, b"GET /healthz HTTP/1.0\r\n\r\n"),
        lambda w, _: [send_raw(w.open, b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")],
    ),
    " is not served here": (
        421,
        lambda w: w.open.ask(BODY, headers={"host": "memory.example"}),
        lambda w, r: [
            w.open.ask(BODY, headers={"host": f"127.0.0.1:{w.open.port}"}),
            *allow_named_host(w, r, {"host": "memory.example"}),
        ],
    ),
    " may not use this server: start it": (
        403,
        lambda w: w.open.ask(BODY, headers={"origin": "http://pages.example:81"}),
        lambda w, r: allow_named_host(w, r, {"origin": "http://pages.example:81"}),
    ),
    ", which names no host, may not use": (
        403,
        lambda w: w.open.ask(BODY, headers={"origin": "null"}),
        lambda w, _: [w.open.ask(BODY)],
    ),
    "a key is needed": (
        401,
        lambda w: w.keyed.ask(BODY),
        lambda w, _: [
            w.ask("read"),
            w.keyed.ask(BODY, headers={"authorization": f"Bearer {w.secrets['read']}"}),
            w.keyed.ask(BODY, f"/mcp?key={w.secrets['read']}"),
        ],
    ),
    "the key is not accepted": (401, lambda w: w.ask("revoked"), lambda w, _: [w.ask("read")]),
    "they need a key with the right admin": (
        403,
        lambda w: w.ask("write", None, "/metrics"),
        lambda w, _: [w.ask("admin", None, "/metrics")],
    ),
    "this server was started with --scopes": (
        403,
        lambda w: ask_confined(w, "/metrics"),
        lambda w, _: [w.open.ask(path="/metrics")],
    ),
    "the body is longer than": (
        413,
        lambda w: w.open.ask(BODY + b" " * MAX_BODY_BYTES),
        lambda w, _: [w.open.ask(BODY), w.open.ask(BODY)],
    ),
    "a lone surrogate stands in params": (
        400,
        lambda w: w.open.ask(BODY.replace(b"{}", b'{"user": "\\ud800"}')),
        lambda w, _: [w.open.ask(BODY.replace(b"{}", b'{"user": "a"}'))],
    ),
    "the body is no JSON by its header": (
        400,
        lambda w: w.open.ask(BODY, headers={"content-type": "text/plain"}),
        lambda w, _: [w.open.ask(BODY)],
    ),
    "the session_id is missing": (
        404,
        lambda w: w.open.ask(BODY, NO_STREAM),
        lambda w, _: [open_stream(w.open)],
    ),
    "this is no HTTP request": (
        400,
        lambda w: send_raw(w.open, b"hello\r\n\r\n"),
        lambda w, _: [send_raw(w.open, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")],
    ),
}
# Whose way out is another server, which takes seconds to start.
RESTARTING = {
    " is not served here",
    " may not use this server: start it",
    "this server was started with --scopes",
}
# Refusals that need a defect, an hour or an installation, and the tests that have them.
ELSEWHERE = {
    "the server failed": "a defect",
    "the store cannot be reached": "test_http_stopping",
    "the store cannot be opened": "test_http_stopping",
    "the server is stopping": "test_http_stopping",
    "metrics need the client": "another installation",
    "the body was not complete": "test_http_requests",
    "the head was not complete": "test_http_requests",
    "too many connections": "test_http_requests",
    "see the log of the server": "what a later version of a library refuses",
    "the identity provider cannot be asked": "test_http_sign_in",
    "the token is not accepted": "test_http_sign_in",
    "the token is good, but its claim": "test_http_sign_in",
    "of the token gives no right here": "test_http_sign_in",
}


def ask_confined(world: World, path: str) -> Answer:
    with world.restart("--scopes", "Global") as server:
        return server.ask(path=path)


def list_reasons() -> Iterator[str]:
    """Yield the constant parts of the reasons that the code gives for a refusal."""
    folder = Path(infinite_memory_mcp.http.__file__).parent
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        calls = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and getattr(node.func, "id", getattr(node.func, "attr", ""))
            in ("Refusal", "_refuse_request")
        ]
        returns = [
            node
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef) and function.name == "_explain_refusal"
            for node in ast.walk(function)
            if isinstance(node, ast.Return)
        ]
        for node in () if path.name == "address.py" else [*calls, *returns]:
            texts = [
                part.value
                for part in ast.walk(node)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            ]
            if any(" " in text for text in texts):
                yield "…".join(texts)


def test_each_reason_that_the_code_gives_is_provoked() -> None:
    known = [*REMEDIES, *ELSEWHERE]
    reasons = list(list_reasons())
    assert len(reasons) >= 15
    for reason in reasons:
        assert any(part in reason for part in known), reason


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param(reason, marks=pytest.mark.slow("server-endurance"))
        if reason in RESTARTING
        else reason
        for reason in REMEDIES
    ],
)
def test_the_way_out_of_a_refusal_works(world: World, reason: str) -> None:
    status, provoke, find_way_out = REMEDIES[reason]
    refused = provoke(world)
    assert refused.status == status
    assert refused.headers["content-type"].startswith("application/json")
    document = json.loads(refused.body)
    assert document["jsonrpc"] == "2.0"
    assert set(document) == {"jsonrpc", "id", "error"}
    assert reason in refused.message.replace("\\", "")
    assert refused.message.endswith("nothing was done")
    assert "None" not in refused.message
    for answer in find_way_out(world, refused):
        assert 200 <= answer.status < 300, answer.body


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ({"accept": "text/plain"}, "/mcp"),
        ({"accept": "text/event-stream"}, "/mcp"),
        ({"content-type": "text/plain"}, NO_STREAM),
        ({"content-type": "application/x-www-form-urlencoded"}, "/mcp"),
        ({}, "/messages/"),
        ({}, "/messages/?session_id=x"),
        ({}, NO_STREAM),
        ({"mcp-protocol-version": "1999-01-01"}, "/mcp"),
        ({"mcp-protocol-version": "2026-07-28"}, "/mcp"),
        ({"host": "[bad"}, "/mcp"),
        ({"origin": "http://[bad"}, "/mcp"),
    ],
)
def test_what_a_library_refuses_is_an_error_too(
    world: World, headers: dict[str, str], path: str
) -> None:
    refused = world.open.ask(BODY, path, headers=headers)
    assert refused.status >= 400
    assert refused.headers["content-type"].startswith("application/json")
    assert json.loads(refused.body)["error"]["message"]


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: abc\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
    ],
)
def test_what_is_no_http_is_an_error_too(world: World, request_: bytes) -> None:
    refused = send_raw(world.open, request_)
    assert refused.status == 400
    assert "this is no HTTP request" in refused.message
    assert refused.headers["connection"] == "close"
    assert world.open.ask(path="/healthz").status == 200


def test_an_accepted_type_of_answer_is_the_way_out_of_406(world: World) -> None:
    refused = world.open.ask(BODY, headers={"accept": "text/html"})
    assert refused.status == 406
    named = re.search(r"must accept (\S+)", refused.message)
    assert named is not None
    assert world.open.ask(BODY, headers={"accept": named[1]}).status == 200


def call(server: HttpServer, tool: str, *, key: str = "", **arguments: Any) -> dict[str, Any]:
    headers = {"x-memory-key": key} if key else {}
    document: dict[str, Any] = json.loads(
        server.ask(call_body(tool, **arguments), headers=headers).body
    )
    return document


@pytest.mark.slow("server-endurance")  # it starts six servers
@pytest.mark.parametrize(
    ("flags", "tool", "advice"),
    [
        (["--tools", "store_memory"], "get_memory_stats", "another --tools"),
        (["--read-only"], "store_memory", "without --read-only"),
        (["--exclude-tools", "store_memory"], "store_memory", "without --exclude-tools"),
    ],
)
def test_a_tool_that_is_withheld_is_offered_by_the_server_that_is_advised(
    world: World, flags: list[str], tool: str, advice: str
) -> None:
    arguments = {"text": "Apollo is due on June 5"} if tool == "store_memory" else {}
    with world.restart(*flags) as server:
        assert advice in call(server, tool, **arguments)["error"]["message"]
    advised = ["--tools", tool] if "--tools" in advice else []
    with world.restart(*advised) as server:
        assert call(server, tool, **arguments)["result"]["isError"] is False


def test_a_key_with_the_right_that_is_named_may_call(world: World) -> None:
    for held, tool, arguments in (
        ("read", "store_memory", {"text": "Apollo is due on June 5"}),
        ("write", "get_memory_stats", {}),
        ("read", "get_memory_stats", {}),
    ):
        refused = call(world.keyed, tool, key=world.secrets[held], **arguments)
        message = refused["error"]["message"]
        named = re.search(r"the right '(\w+)'", message)
        assert named is not None, message
        answer = call(world.keyed, tool, key=world.secrets[named[1]], **arguments)
        assert answer["result"]["isError"] is False


@pytest.mark.thorough
def test_the_nearest_tool_and_the_listed_resources_exist(world: World) -> None:
    message = call(world.open, "retrieve_memori")["error"]["message"]
    nearest = re.search(r"nearest is '(\w+)'", message)
    assert nearest is not None
    assert "error" not in call(world.open, nearest[1], query="Apollo")
    for name in ("get_user_profile", *re.findall(r"\w+", message.partition("all are")[2])):
        if "_" in name:
            assert "there is no tool" not in str(call(world.open, name))
