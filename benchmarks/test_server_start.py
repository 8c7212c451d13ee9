"""How long a server takes to its first answer, beside the smallest one that the SDK can make.

Over standard input and output, and over HTTP.

python -m pytest benchmarks/test_server_start.py -s
"""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.raw_server import DISCOVER, INITIALIZE, RawServer, environment, server_command

ROUNDS = 15
SMALLEST = """
from mcp.server import MCPServer

server = MCPServer("smallest")

@server.tool()
def echo(text: str) -> str:
    '''Return the text.'''
    return text

server.run()
"""
_AGAIN_SECONDS = 0.005


def first_answer_seconds(command: Sequence[str], request: tuple[str, dict[str, Any]]) -> float:
    """Return the time from the start of the process to its answer."""
    started = time.perf_counter()
    with RawServer(command) as server:
        server.request(*request)
        return time.perf_counter() - started


def first_http_answer_seconds(
    command: Sequence[str], port: int, request: tuple[str, dict[str, Any]]
) -> float:
    """Return the time from the start of the process to its answer over HTTP."""
    method, params = request
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    if request is DISCOVER:
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
    started = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()
    )
    try:
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request("POST", "/mcp", json.dumps(message), headers)
                answer = connection.getresponse()
                assert answer.status == 200, answer.read()
                assert b"infinite-memory" in (body := answer.read()) or b"smallest" in body
                return time.perf_counter() - started
            except ConnectionError:
                time.sleep(_AGAIN_SECONDS)
            finally:
                connection.close()
    finally:
        process.kill()
        process.wait()


def compare(
    benchmark: Any, name: str, ours: Callable[[], float], smallest: Callable[[], float]
) -> None:
    """Measure both in turn, so that both meet the same load, and compare."""
    ours()  # writes the bytecode that an installation has
    beside: list[float] = []
    own: list[float] = []
    benchmark.pedantic(
        lambda: own.append(ours()), setup=lambda: beside.append(smallest()), rounds=ROUNDS
    )
    ratio = statistics.median(own) / statistics.median(beside)
    pairs = statistics.median(mine / other for mine, other in zip(own, beside, strict=True))
    benchmark.extra_info["ratio"] = ratio
    print(
        f"\n{name}: {statistics.median(own):.3f} s,"
        f" smallest server {statistics.median(beside):.3f} s;"
        f" ratio of the medians {ratio:.2f}, median of the ratios {pairs:.2f}"
    )
    assert ratio <= 1.3


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


REQUESTS = pytest.mark.parametrize(
    "request_", [INITIALIZE, DISCOVER], ids=["initialize", "server/discover"]
)


@REQUESTS
def test_the_first_answer_takes_little_longer_than_the_smallest_server(
    benchmark: Any, tmp_path: Path, request_: tuple[str, dict[str, Any]]
) -> None:
    ours = server_command(tmp_path / "home")
    smallest = [sys.executable, "-c", SMALLEST]
    compare(
        benchmark,
        request_[0],
        lambda: first_answer_seconds(ours, request_),
        lambda: first_answer_seconds(smallest, request_),
    )


@REQUESTS
def test_so_does_the_first_answer_over_http(
    benchmark: Any, tmp_path: Path, request_: tuple[str, dict[str, Any]]
) -> None:
    port, other = free_port(), free_port()
    ours = server_command(tmp_path / "home", "--http", f"127.0.0.1:{port}")
    run = "server.run('streamable-http', port=" + str(other) + ")"
    smallest = [sys.executable, "-c", SMALLEST.replace("server.run()", run)]
    compare(
        benchmark,
        f"{request_[0]} over HTTP",
        lambda: first_http_answer_seconds(ours, port, request_),
        lambda: first_http_answer_seconds(smallest, other, request_),
    )
