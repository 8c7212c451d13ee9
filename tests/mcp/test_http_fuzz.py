"""Requests of any kind: no internal error, no traceback, no hang, and the server goes on."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from http_server import HttpServer, call_body
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infinite_memory_mcp.server import TOOLSETS

_PATIENCE = """
import runpy
from infinite_memory_mcp.http import application, protocol
application._BODY_SECONDS = protocol._HEAD_SECONDS = 0.3
runpy.run_module("infinite_memory_mcp", run_name="__main__", alter_sys=True)
"""
_HANG_SECONDS = 60.0
_TOOLS = [spec.name for specs in TOOLSETS.values() for spec in specs]
_METHODS = [
    *("initialize", "notifications/initialized", "notifications/cancelled", "ping", "nothing"),
    *("server/discover", "tools/list", "tools/call", "prompts/get", "prompts/list"),
    *("resources/list", "resources/read", "resources/templates/list", "logging/setLevel"),
    *("completion/complete", "subscriptions/listen"),
]

texts = st.text(max_size=20)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(
    st.sampled_from(["text", "query", "id", "ids", "scope", "tags", "limit", "key", "when"])
    | texts,
    values,
    max_size=4,
)
meta = st.fixed_dictionaries(
    {
        "io.modelcontextprotocol/protocolVersion": st.sampled_from(["2026-07-28", "x"]) | values,
        "io.modelcontextprotocol/clientInfo": st.just({"name": "f", "version": "1"}) | values,
        "io.modelcontextprotocol/clientCapabilities": st.just({}) | values,
    }
)
params = (
    st.fixed_dictionaries(
        {"name": st.sampled_from(_TOOLS) | texts, "arguments": arguments | values},
        optional={"_meta": meta},
    )
    | st.fixed_dictionaries(
        {"protocolVersion": st.sampled_from(["2025-11-25", "2024-11-05"]) | values},
        optional={"capabilities": values, "clientInfo": values, "_meta": meta},
    )
    | values
)
messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | values, "method": st.sampled_from(_METHODS) | values},
    optional={"id": st.integers() | texts | values, "params": params},
)
bodies = (
    messages.map(lambda message: json.dumps(message).encode())
    | values.map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=100)
    | st.integers(1, 2000).map(lambda depth: b"[" * depth)
)
paths = st.sampled_from(
    ["/mcp", "/mcp/", "/messages/", "/messages/?session_id=" + "0" * 32, "/healthz", "/readyz"]
) | st.text("/%?&=.abkmsy0é", min_size=0, max_size=12).map(lambda text: f"/{text}")
header_values = st.text(
    st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=30
)
headers = st.fixed_dictionaries(
    {
        "content-type": st.sampled_from(["application/json"] * 4 + ["text/plain", ""]),
        "accept": st.sampled_from(
            ["application/json, text/event-stream"] * 4 + ["application/json", "text/html", "*/*"]
        ),
    },
    optional={
        "mcp-protocol-version": st.sampled_from(["2026-07-28", "2025-11-25"]) | header_values,
        "mcp-method": st.sampled_from(_METHODS) | header_values,
        "mcp-name": st.sampled_from(_TOOLS) | header_values,
        "mcp-session-id": header_values,
        "x-memory-key": header_values,
        "authorization": st.sampled_from(["Bearer x", "Bearer", "Basic YQ=="]) | header_values,
        "origin": st.sampled_from(["null", "http://localhost:1"]) | header_values,
        "last-event-id": header_values,
        "expect": st.just("100-continue"),
        "upgrade": st.just("websocket"),
    },
)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """Return the bytes of a request, most of them well formed."""
    body = draw(bodies)
    method = draw(st.sampled_from(["POST"] * 6 + ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "X"]))
    lines = draw(headers)
    host = draw(st.sampled_from(["127.0.0.1"] * 6 + ["evil.example", "", "[::1", "a:b:c"]))
    length = len(body) + draw(st.sampled_from([0] * 8 + [1, -1]))
    head = [f"{method} {draw(paths)} HTTP/1.1", f"host: {host}", "connection: close"]
    head += [f"{name}: {value}" for name, value in lines.items()]
    head += [f"content-length: {max(0, length)}", "", ""]
    return "\r\n".join(head).encode("latin-1", "replace") + body


anything = requests() | st.binary(min_size=1, max_size=200).map(lambda text: text + b"\r\n\r\n")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    home = tmp_path_factory.mktemp("fuzz") / "home"
    with HttpServer(home, program=[sys.executable, "-c", _PATIENCE]) as running:
        yield running
        # It still works, and stops as it should.
        assert running.ask(call_body("get_user_profile")).status == 200
        assert running.stop() == 0
        assert "Traceback" not in running.log
        assert "ASGI callable" not in running.log


def send(server: HttpServer, request: bytes) -> bytes:
    """Return all that the server answers to a request until it closes the connection."""
    answer = b""
    with socket.create_connection((server.host, server.port), timeout=_HANG_SECONDS) as connection:
        try:
            connection.sendall(request)
            while chunk := connection.recv(1 << 16):
                answer += chunk
        except ConnectionResetError:
            # The server refused the request before it had come whole.
            pass
    return answer


@pytest.mark.parametrize(
    "count", [150, pytest.param(20_000, marks=pytest.mark.slow("http-endurance"))]
)
def test_no_request_breaks_the_server(server: HttpServer, count: int) -> None:
    statuses: set[bytes] = set()

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(request=anything)
    def answers(request: bytes) -> None:
        answer = send(server, request)
        if answer:
            assert answer.startswith(b"HTTP/1.1 ")
            status = answer[9:12]
            statuses.add(status)
            assert status != b"500", request
            assert b"Traceback" not in answer

    answers()
    # Many requests come far: to tools, to the checks of the SDK, and to our own.
    expected = {b"200", b"400", b"404", b"405"} if count > 1000 else {b"400"}
    assert expected <= statuses
