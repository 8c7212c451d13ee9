"""Requests that are no requests: each gets an answer that says what was wrong, and no harm."""

from __future__ import annotations

import json
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

import anyio
import pytest
from http_server import HttpServer, call_body, post_head
from starlette.types import Message

from infinite_memory_mcp.http.bodies import MAX_BODY_BYTES, read_body
from infinite_memory_mcp.http.responses import Refusal

CONNECTIONS = 1000
_PATIENCE = """
import runpy
from infinite_memory_mcp.http import application, protocol
application._BODY_SECONDS = protocol._HEAD_SECONDS = 0.5
runpy.run_module("infinite_memory_mcp", run_name="__main__", alter_sys=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    home = tmp_path_factory.mktemp("requests") / "home"
    with HttpServer(
        home, "--log-level", "info", program=[sys.executable, "-c", _PATIENCE]
    ) as running:
        yield running
        assert running.ask(call_body("get_user_profile")).status == 200
        assert running.stop() == 0
        assert "Traceback" not in running.log


def read_all(connection: socket.socket) -> bytes:
    """Return what the server writes until it closes the connection."""
    content = b""
    while chunk := connection.recv(1 << 16):
        content += chunk
    return content


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "is not JSON"),
        (b"hello", "is not JSON"),
        (b'{"jsonrpc": "2.0", "id": 1, "method"', "is not JSON"),
        (b"\xff\xfe\x00", "is not UTF-8"),
        (call_body("store_memory", text="x").replace(b'"x"', b'"\xff"'), "is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "nested too deeply"),
        (b"[]", "batches are not part of MCP"),
        (b"null", "not an object"),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', "not a JSON-RPC message"),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', "neither a string nor an integer"),
        (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', "neither a string nor an integer"),
        (call_body("store_memory", text="\ud800"), "lone surrogate"),
    ],
)
def test_a_body_that_is_no_message_is_refused(server: HttpServer, body: bytes, reason: str) -> None:
    for path in ("/mcp", "/messages/?session_id=" + "0" * 32):
        answer = server.ask(body, path)
        assert answer.status == 400
        assert reason in answer.message
        assert "nothing was done" in answer.message
        assert len(answer.body) < 1000


def test_a_body_that_is_too_long_is_refused(server: HttpServer) -> None:
    answer = server.ask(b" " * (MAX_BODY_BYTES + 1))
    assert answer.status == 413
    assert "1,048,576 bytes" in answer.message
    # Of the length that it says, nothing has to be read.
    with server.connect() as connection:
        connection.sendall(post_head(server, 1 << 40))
        assert b"413" in connection.recv(1000)


def test_a_body_in_chunks_that_is_too_long_is_refused(server: HttpServer) -> None:
    head = post_head(server, 0).replace(b"content-length: 0", b"transfer-encoding: chunked")
    with server.connect() as connection:
        connection.sendall(head)
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            for _ in range(20):
                connection.sendall(chunk)
        except OSError:
            # The server has answered and closes.
            return
        assert b"413" in connection.recv(1000)


@pytest.mark.parametrize("path", ["/mcp", "/messages/?session_id=" + "0" * 32])
def test_a_body_that_does_not_come_is_given_up(server: HttpServer, path: str) -> None:
    with server.connect() as connection:
        connection.sendall(post_head(server, 100).replace(b"/mcp", path.encode()) + b'{"a"')
        assert b"HTTP/1.1 408" in read_all(connection)


def test_a_head_that_does_not_come_is_given_up(server: HttpServer) -> None:
    for beginning in (b"", b"POST /mcp HTTP/1.1\r\nhost: x\r\n"):
        with server.connect() as connection:
            connection.sendall(beginning)
            assert read_all(connection).startswith(b"HTTP/1.1 408")


def test_a_second_request_that_stops_in_its_head_is_given_up(server: HttpServer) -> None:
    with server.connect() as connection:
        connection.sendall(f"GET /healthz HTTP/1.1\r\nhost: {server.host}\r\n\r\n".encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert b"HTTP/1.1 408" in read_all(connection)


def test_a_body_that_is_cut_off_does_nothing(server: HttpServer) -> None:
    for _ in range(5):
        with server.connect() as connection:
            connection.sendall(post_head(server, 100) + b'{"jsonrpc"')
    assert server.ask(path="/healthz").status == 200


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/mcp/x", "POST", 404),
        ("/%2e%2e/etc/passwd", "GET", 404),
        ("/mcp", "GET", 405),
        ("/mcp", "DELETE", 405),
        ("/mcp", "OPTIONS", 405),
        ("/sse", "POST", 405),
        ("/healthz", "POST", 405),
        ("/messages/?session_id=" + "0" * 32, "POST", 404),
        ("/messages/?session_id=x", "POST", 400),
        ("/messages/", "POST", 400),
    ],
)
def test_what_is_not_served_is_said(
    server: HttpServer, path: str, method: str, status: int
) -> None:
    answer = server.ask(call_body("get_user_profile"), path, method=method)
    assert answer.status == status
    if status == 405:
        assert answer.headers["allow"]


def test_pages_of_other_hosts_are_refused(server: HttpServer) -> None:
    body = call_body("get_user_profile")
    own = f"{server.host}:{server.port}"
    for headers, status in (
        ({"host": "evil.example"}, 421),
        ({"host": f"evil.example:{server.port}"}, 421),
        ({"host": "192.168.1.1"}, 421),
        ({"host": f"localhost:{server.port}"}, 200),
        ({"host": own, "origin": f"http://{own}"}, 200),
        ({"host": own, "origin": "http://evil.example"}, 403),
        ({"host": own, "origin": "http://localhost:3000"}, 403),
        ({"host": own, "origin": "null"}, 403),
        ({"host": own, "origin": "http://["}, 403),
    ):
        assert server.ask(body, headers=headers).status == status, headers


def ask_on_all(connections: list[HTTPConnection]) -> Counter[int]:
    """Send a request on every connection, and only then read the answers; count the statuses."""
    for connection in connections:
        connection.request("GET", "/healthz")
    statuses: Counter[int] = Counter()
    for connection in connections:
        response = connection.getresponse()
        response.read()
        statuses[response.status] += 1
    return statuses


def open_connections(server: HttpServer, count: int, opened: ExitStack) -> list[HTTPConnection]:
    connections = [HTTPConnection(server.host, server.port, timeout=60) for _ in range(count)]
    for connection in connections:
        connection.connect()
        opened.callback(connection.close)
    return connections


@pytest.mark.slow("http-endurance")
def test_a_thousand_open_connections_are_all_answered(tmp_path: Path) -> None:
    # A server of its own: that of this module gives up a head after half a second.
    with HttpServer(tmp_path / "home") as server, ExitStack() as opened:
        connections = open_connections(server, CONNECTIONS, opened)
        for _ in range(2):
            assert ask_on_all(connections) == {200: CONNECTIONS}
            assert server.ask(call_body("get_user_profile")).status == 200


@pytest.mark.thorough
def test_connections_for_which_there_are_no_files_are_refused(tmp_path: Path) -> None:
    program = """
import resource, runpy
resource.setrlimit(resource.RLIMIT_NOFILE, (356, 356))
runpy.run_module("infinite_memory_mcp", run_name="__main__", alter_sys=True)
"""
    with HttpServer(tmp_path / "home", program=[sys.executable, "-c", program]) as server:
        with ExitStack() as opened:
            statuses = ask_on_all(open_connections(server, 150, opened))
            # 256 of the files are kept for the store; who is refused is disconnected.
            assert statuses[200] + statuses[503] == 150
            assert statuses[503] >= 50
        assert server.ask(call_body("get_user_profile")).status == 200


@pytest.mark.thorough
def test_a_long_call_is_not_awaited_for_ever(tmp_path: Path) -> None:
    program = """
import runpy, time
from infinite_memory.store.memory_store import MemoryStore
MemoryStore.search = lambda *_, **__: time.sleep(3)
runpy.run_module("infinite_memory_mcp", run_name="__main__", alter_sys=True)
"""
    home = tmp_path / "home"
    home.mkdir()
    (home / "infinite_memory_config.json").write_text('{"limits": {"call_seconds": 1}}')
    with HttpServer(home, program=[sys.executable, "-c", program]) as server:
        answer = server.ask(call_body("retrieve_memory", query="x"))
        assert json.loads(answer.body)["result"]["isError"]
        assert "took too long" in answer.text
        assert "Nothing was changed" in answer.text


@pytest.mark.anyio
async def test_a_slow_body_is_given_up_by_its_deadline() -> None:
    async def receive() -> Message:
        await anyio.sleep(0.01)
        return {"type": "http.request", "body": b" ", "more_body": True}

    with pytest.raises(Refusal, match=r"not complete after 0\.05 seconds") as refused:
        await read_body({"type": "http", "headers": []}, receive, seconds=0.05)
    assert refused.value.status == 408
