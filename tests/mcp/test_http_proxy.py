"""A proxy in front of the server: what it passes on is served, what it claims is not believed."""

from __future__ import annotations

import http.client
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from http_server import WAYS, HttpServer, call_body, connect
from talking import call

from infinite_memory import MemoryStore

NAME = "memory.example.org"
CLAIMS = {"x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "https", "x-forwarded-host": NAME}
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "upgrade", "host"}


class Proxy:
    """A reverse proxy under another name: it passes the host on, and says for whom it asks.

    A `stripped` prefix of paths is not passed on.
    """

    def __init__(self, server: HttpServer, *, host: str = NAME, stripped: str = "") -> None:
        self._server = server
        self._stripped = stripped
        self._host = host
        self._proxy = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._proxy.daemon_threads = True
        self.host, self.port = "127.0.0.1", self._proxy.server_port
        self.url = f"http://{self.host}:{self.port}"

    @contextmanager
    def running(self) -> Iterator[Proxy]:
        thread = Thread(target=self._proxy.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self._proxy.shutdown()
            thread.join()
            self._proxy.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server, host, stripped = self._server, self._host, self._stripped

        class Handler(BaseHTTPRequestHandler):
            def forward(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                kept = {
                    name: value
                    for name, value in self.headers.items()
                    if name.lower() not in HOP_BY_HOP
                }
                behind = http.client.HTTPConnection(server.host, server.port, timeout=60)
                try:
                    headers = {**kept, "host": host, **CLAIMS}
                    path = self.path.removeprefix(stripped)
                    behind.request(self.command, path, body or None, headers)
                    self.pass_back(behind.getresponse())
                except OSError:
                    # One of the two has gone.
                    self.close_connection = True
                finally:
                    behind.close()

            do_GET = do_POST = forward  # noqa: N815 - the names of the base class

            def pass_back(self, response: http.client.HTTPResponse) -> None:
                self.send_response(response.status)
                for name, value in response.getheaders():
                    if name.lower() not in HOP_BY_HOP:
                        self.send_header(name, value)
                self.send_header("connection", "close")
                self.end_headers()
                # Each part as soon as it comes: a stream has no end.
                while part := response.read1(1 << 16):
                    self.wfile.write(part)
                    self.wfile.flush()

            def log_message(self, *arguments: object) -> None:
                """Say nothing."""

        return Handler


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    home = tmp_path_factory.mktemp("proxy") / "home"
    with MemoryStore.open(home) as store:
        created = store.keys.create("laptop", rights="write", scopes="*")
    yield home, created.secret
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def server(secret: tuple[Path, str]) -> Iterator[HttpServer]:
    with HttpServer(secret[0], "--allow-host", NAME) as running:
        yield running
        assert running.stop() == 0
        assert "Traceback" not in running.log


@pytest.mark.anyio
@pytest.mark.parametrize("way", WAYS)
async def test_clients_work_through_a_proxy(
    server: HttpServer, secret: tuple[Path, str], way: str
) -> None:
    headers = {"x-memory-key": secret[1]}
    with Proxy(server).running() as proxy:
        async with connect(proxy, way, headers=headers) as client:
            receipt = await call(client, "store_memory", text=f"Told through a proxy by {way}")
            found = await call(client, "retrieve_memory", ids=[receipt["id"]])
    assert found["hits"][0]["text"] == f"Told through a proxy by {way}"


def test_no_claim_of_a_proxy_stands_for_a_key_or_a_host(
    server: HttpServer, secret: tuple[Path, str]
) -> None:
    body, shown = call_body("get_user_profile"), {"x-memory-key": secret[1]}
    assert server.ask(body, headers={**CLAIMS, "host": NAME, **shown}).status == 200
    assert server.ask(body, headers={**CLAIMS, "host": NAME}).status == 401
    # The host that was allowed is only in what a client can write as well.
    assert server.ask(body, headers={**CLAIMS, "host": "evil.example", **shown}).status == 421


@pytest.mark.process
def test_who_is_let_in_under_a_name_needs_a_key_even_while_there_is_none(tmp_path: Path) -> None:
    # A proxy on this machine looks like a program of this machine.
    with HttpServer(tmp_path / "home", "--allow-host", NAME) as open_server:
        for host in (NAME, "127.0.0.1"):
            refused = open_server.ask(call_body("get_user_profile"), headers={"host": host})
            assert refused.status == 401, host
            assert b"a key is needed" in refused.body
        assert "needs a key: `infinite-memory keys create NAME` makes one" in open_server.log


def test_a_proxy_under_a_name_that_is_not_allowed_is_told_so(server: HttpServer) -> None:
    with Proxy(server, host="other.example.org").running() as proxy:
        behind = http.client.HTTPConnection(proxy.host, proxy.port, timeout=60)
        behind.request("GET", "/healthz")
        answer = behind.getresponse()
        assert answer.status == 421
        assert b"--allow-host other.example.org" in answer.read()
        behind.close()


PREFIX = "/memory"


@pytest.fixture(scope="module")
def prefixed(secret: tuple[Path, str]) -> Iterator[HttpServer]:
    with HttpServer(secret[0], "--allow-host", NAME, "--root-path", PREFIX) as running:
        yield running
        assert running.stop() == 0
        assert "Traceback" not in running.log


@pytest.mark.anyio
@pytest.mark.parametrize("stripped", ["", PREFIX])
@pytest.mark.parametrize("way", WAYS)
async def test_clients_work_below_a_prefix(
    prefixed: HttpServer, secret: tuple[Path, str], way: str, stripped: str
) -> None:
    headers = {"x-memory-key": secret[1]}
    with Proxy(prefixed, stripped=stripped).running() as proxy:
        proxy.url += PREFIX
        async with connect(proxy, way, headers=headers) as client:
            receipt = await call(client, "store_memory", text=f"Below {PREFIX} by {way}{stripped}")
            found = await call(client, "retrieve_memory", ids=[receipt["id"]])
    assert found["hits"][0]["text"] == f"Below {PREFIX} by {way}{stripped}"


@pytest.mark.parametrize("stripped", ["", PREFIX])
def test_the_page_works_below_a_prefix(
    prefixed: HttpServer, secret: tuple[Path, str], stripped: str
) -> None:
    def ask(path: str, body: object = None, **headers: str) -> tuple[int, bytes]:
        behind = http.client.HTTPConnection(proxy.host, proxy.port, timeout=60)
        sent = {"content-type": "application/json", **headers}
        method = "GET" if body is None else "POST"
        behind.request(method, path, None if body is None else json.dumps(body), sent)
        answer = behind.getresponse()
        content = answer.read() or (answer.getheader("location") or "").encode()
        behind.close()
        return answer.status, content

    with Proxy(prefixed, stripped=stripped).running() as proxy:
        if not stripped:
            # Where the prefix is stripped, only the proxy can do it.
            assert ask(PREFIX) == (308, b"/memory/")
        status, page = ask(f"{PREFIX}/")
        assert (status, b'src="static/js/app.js"' in page) == (200, True)
        assert ask(f"{PREFIX}/static/js/app.js")[0] == 200
        status, answer = ask(f"{PREFIX}/sign-in", {"key": secret[1]})
        session = {"x-memory-session": json.loads(answer)["value"]}
        assert (status, ask(f"{PREFIX}/api/browse", {}, **session)[0]) == (200, 200)
        assert ask(f"{PREFIX}/sign-out", {}, **session)[0] == 200
        assert ask(f"{PREFIX}/api/browse", {}, **session)[0] == 401
        assert ask(f"{PREFIX}/healthz")[0] == ask(f"{PREFIX}/readyz")[0] == 200
        assert ask(f"{PREFIX}/metrics")[0] == 401
        if not stripped:
            # Another path, which only begins so.
            assert ask(f"{PREFIX}s/healthz")[0] == 404


def test_a_prefix_leaves_the_paths_of_this_machine_alone(prefixed: HttpServer) -> None:
    for path in ("/healthz", "/memory/healthz", "/", "/memory/"):
        assert prefixed.ask(path=path).status == 200
    assert prefixed.ask(path="/memory/memory/healthz").status == 404
