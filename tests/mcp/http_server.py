"""A server over HTTP in a process of its own, and the ways in which a client reaches it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2
from attrs import frozen
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from benchmarks.raw_server import environment

WAYS = ("auto", "legacy", "sse")
"""Both eras of the protocol at /mcp, and the older transport at /sse."""

JSON_HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}


@frozen
class Answer:
    """What a server answered to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> str:
        """What the error says."""
        return str(json.loads(self.body)["error"]["message"])

    @property
    def text(self) -> str:
        """The text that a tool answered."""
        return str(json.loads(self.body)["result"]["content"][0]["text"])


def call_body(tool: str, **arguments: Any) -> bytes:
    """Return the call of a tool, as a client without a handshake sends it."""
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


def post_head(server: HttpServer, length: int) -> bytes:
    """Return the head of a request with a body of that length."""
    lines = ["POST /mcp HTTP/1.1", f"host: {server.host}:{server.port}"]
    lines += [f"{name}: {value}" for name, value in JSON_HEADERS.items()]
    return "\r\n".join([*lines, f"content-length: {length}", "", ""]).encode()


class HttpServer:
    """A running server; leaving the context kills it. What it writes to its log is kept."""

    def __init__(
        self,
        home: Path,
        *flags: str,
        address: str = "127.0.0.1:0",
        program: Sequence[str] = (sys.executable, "-m", "infinite_memory_mcp"),
        limited: bool = False,
    ) -> None:
        self.process = subprocess.Popen(
            [*program, "--structured", "--home", str(home), "--http", address, *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(limited=limited),
        )
        self._lines: list[str] = []
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._lines.append(line)
            if match := re.search(r"serving http://(\S+):(\d+)/mcp", line):
                self.host, self.port = match[1].strip("[]"), int(match[2])
                break
        else:
            raise AssertionError(f"the server did not start: {self.log}")
        self._reader = threading.Thread(target=self._lines.extend, args=[self.process.stderr])
        self._reader.start()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def log(self) -> str:
        """All that it wrote to standard error so far."""
        return "".join(self._lines)

    def ask(
        self,
        body: bytes | None = None,
        path: str = "/mcp",
        *,
        method: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request, a POST if it has a body, and return the answer."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            method = method or ("GET" if body is None else "POST")
            connection.request(method, path, body, {**JSON_HEADERS, **(headers or {})})
            response = connection.getresponse()
            lines = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, lines, response.read())
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        """Return a bare connection."""
        return socket.create_connection((self.host, self.port), timeout=60)

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end of the process and return the exit code."""
        code = self.process.wait(120)
        self._reader.join()
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


@asynccontextmanager
async def connect(
    server: HttpServer,
    way: str,
    *,
    headers: Mapping[str, str] | None = None,
    query: str = "",
    name: str = "tests",
) -> AsyncIterator[Client]:
    """Give a client of the SDK that reaches the server in one of the `WAYS`, and its `name`."""
    info = Implementation(name=name, version="1")
    if way == "sse":
        transport = sse_client(f"{server.url}/sse{query}", headers=dict(headers or {}))
        async with Client(transport, mode="legacy", client_info=info) as client:
            yield client
        return
    async with httpx2.AsyncClient(headers=dict(headers or {}), timeout=60) as http_client:
        url = f"{server.url}/mcp{query}"
        transport = streamable_http_client(url, http_client=http_client)
        async with Client(transport, mode=way, client_info=info) as client:
            yield client


def held_program(folder: Path) -> list[str]:
    """Return the program of a server that holds each `remember` until `folder` has a file "go".

    It makes a file "begun" when the first begins.
    """
    script = f"""
import pathlib, runpy, time
from infinite_memory.store.memory_store import MemoryStore

folder, original = pathlib.Path({str(folder)!r}), MemoryStore.remember

def remember(*arguments, **settings):
    (folder / "begun").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
    return original(*arguments, **settings)

MemoryStore.remember = remember
runpy.run_module("infinite_memory_mcp", run_name="__main__", alter_sys=True)
"""
    return [sys.executable, "-c", script]


def wait_for(file: Path) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline, file
        time.sleep(0.01)
