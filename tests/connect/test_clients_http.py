"""A client is pointed at a server over HTTP, with its key, and the doctor asks that server."""

from __future__ import annotations

import json
import socket
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from attrs import frozen

from infinite_memory import MemoryStore
from infinite_memory.apps.connect.catalog import CLIENTS, Client, Syntax, get_client
from infinite_memory.apps.connect.connecting import (
    Connection,
    apply_change,
    find_file,
    plan_change,
    read_status,
)
from infinite_memory.apps.connect.diagnosis import diagnose_clients, probe_url
from infinite_memory.apps.connect.entry import ServerEntry
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.apps.connect.probe import ProbeFailed
from infinite_memory.apps.connect.remote import (
    check_key,
    check_variable,
    is_this_machine,
    read_url,
    show_url,
)
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.verification import State
from tests.mcp.http_server import HttpServer

MakePlatform = Callable[..., Platform]
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
URL = "http://127.0.0.1:8765/mcp"
SECRET = "im_abcdefgh_the-secret-part"
NAME = "MEMORY_KEY"
BEARER = f"Bearer {SECRET}"
OVER_HTTP = [client for client in CLIENTS if client.url_key is not None]

# The part of an entry that shows the key: the key itself, and by a variable.
DOCUMENTED: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
    "claude-code": (
        {"headers": {"Authorization": BEARER}},
        {"headers": {"Authorization": "Bearer ${MEMORY_KEY}"}},
    ),
    "cursor": (
        {"headers": {"Authorization": BEARER}},
        {"headers": {"Authorization": "Bearer ${env:MEMORY_KEY}"}},
    ),
    "vscode": ({"headers": {"Authorization": BEARER}}, None),
    "codex": (
        {"http_headers": {"Authorization": BEARER}},
        {"bearer_token_env_var": NAME},
    ),
    "gemini": (
        {"headers": {"Authorization": BEARER}},
        {"headers": {"Authorization": "Bearer ${MEMORY_KEY}"}},
    ),
    "windsurf": (
        {"headers": {"Authorization": BEARER}},
        {"headers": {"Authorization": "Bearer ${env:MEMORY_KEY}"}},
    ),
    "zed": ({"headers": {"Authorization": BEARER}}, None),
    "cline": (
        {"headers": {"Authorization": BEARER}},
        {"headers": {"Authorization": "Bearer ${env:MEMORY_KEY}"}},
    ),
    "opencode": (
        {"headers": {"Authorization": BEARER}},
        {"headers": {"Authorization": "Bearer {env:MEMORY_KEY}"}},
    ),
    "copilot": (
        {"headers": {"Authorization": BEARER}},
        {"headers": {"Authorization": "Bearer ${MEMORY_KEY}"}},
    ),
}


def stored(client: Client, platform: Platform) -> dict[str, Any]:
    """Return our entry as the client's file holds it."""
    text = find_file(client, platform).read_text(encoding="utf-8")
    data = json.loads(text) if client.syntax is Syntax.JSON else tomllib.loads(text)
    entry: dict[str, Any] = data[client.container]["infinite-memory"]
    return entry


@pytest.mark.parametrize("client", OVER_HTTP, ids=lambda client: client.name)
def test_a_key_stands_in_the_entry_as_the_client_documents(
    platform: Platform, client: Client
) -> None:
    by_key, by_variable = DOCUMENTED[client.name]
    for entry, shown in (
        (ServerEntry(url=URL, key=SECRET), by_key),
        (ServerEntry(url=URL, key_variable=NAME), by_variable),
    ):
        if shown is None:
            with pytest.raises(InvalidInput, match="takes no header from the environment: give"):
                client.form(entry)
            continue
        apply_change(client, platform, entry, now=NOW)
        form = stored(client, platform)
        assert form == client.form(entry)
        assert shown.items() <= form.items()
        assert ServerEntry.from_form(form) == entry
        assert not plan_change(client, platform, entry).changes
        status = read_status(client, platform, entry)
        assert (status.connection, status.entry) == (Connection.CONNECTED, entry)
        own = ServerEntry(command="/im")
        assert read_status(client, platform, own).connection is Connection.OVER_HTTP
    apply_change(client, platform, None, now=NOW)
    assert read_status(client, platform, None).connection is Connection.NOT_CONNECTED


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_a_key_stays_for_its_url_and_goes_to_no_other(platform: Platform, name: str) -> None:
    client = get_client(name)

    def connect(**settings: Any) -> dict[str, Any]:
        apply_change(client, platform, ServerEntry(**settings), now=NOW)
        return stored(client, platform)

    with_key = connect(url=URL, key=SECRET)
    assert connect(url=URL) == with_key
    path = find_file(client, platform)
    path.write_text(path.read_text().replace(BEARER, f'{BEARER}", "X-Team" : "blue'))
    if name == "codex":
        path.write_text(path.read_text().replace('"X-Team" :', "X-Team ="))
    by_variable = connect(url=URL, key_variable=NAME)
    assert by_variable[client.headers_key]["X-Team"] == "blue"
    assert SECRET not in path.read_text()
    assert connect(url=f"{URL}/else") == {client.url_key: f"{URL}/else"}
    connect(url=URL, key=SECRET)
    assert SECRET not in str(connect(command="/im"))


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("127.0.0.1:8765", URL),
        (" localhost:1 ", "http://localhost:1/mcp"),
        ("[::1]:8765", "http://[::1]:8765/mcp"),
        ("http://127.0.0.1:8765", URL),
        ("http://127.0.0.1:8765/", URL),
        ("https://memory.example.org/memory/", "https://memory.example.org/memory/mcp"),
        ("http://127.0.0.1:8765/sse", "http://127.0.0.1:8765/sse"),
        ("https://memory.example.org/team/mcp?a=b", "https://memory.example.org/team/mcp?a=b"),
    ],
)
def test_an_address_is_completed_to_a_url(typed: str, url: str) -> None:
    assert read_url(typed) == url


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "'' is no URL of a server, such as http://127.0.0.1:8765/mcp"),
        ("memory.example.org", "is no URL"),
        ("ftp://host/mcp", "'ftp://host/mcp' is no URL"),
        ("http://host:99999/mcp", "is no URL"),
        ("http://host:0/mcp", "is no URL"),
        ("http://[::1/mcp", "is no URL"),
        ("http://host /mcp", "is no URL"),
        ("http://höst/mcp", "is no URL"),
        ("http:///mcp", "is no URL"),
        (f"http://u:{SECRET}@host/mcp", "the URL of 'host' holds a secret"),
        (f"http://host/mcp?key={SECRET}", "--key-from-env"),
        (f"ftp://u:{SECRET}@host/mcp?key={SECRET}", "'host/mcp' is no URL"),
        ("http://host/mcp#part", "fragment"),
    ],
)
def test_what_is_no_url_of_a_server_is_refused_without_its_secret(typed: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_url(typed)
    assert said in str(refused.value)
    assert SECRET not in str(refused.value)


def test_what_is_no_key_or_no_variable_is_refused_and_no_key_is_shown() -> None:
    assert check_key(f" {SECRET}\n") == SECRET
    assert check_variable("$MEMORY_KEY") == NAME
    for wrong in ("", " ", f"{SECRET} more", f"{SECRET}\r\nx: y", f"{SECRET}é", SECRET * 1000):
        with pytest.raises(InvalidInput) as refused:
            check_key(wrong)
        assert SECRET not in str(refused.value)
    with pytest.raises(InvalidInput, match=r"'\$MEMORY_KEY' names a variable"):
        check_key("$MEMORY_KEY")
    with pytest.raises(InvalidInput, match="'1 two' is no name of a variable"):
        check_variable("1 two")
    with pytest.raises(InvalidInput, match="was given an access key") as mistaken:
        check_variable(SECRET)
    assert SECRET not in str(mistaken.value)
    for wrong_entry in ({"command": "/im"}, {"url": URL, "key_variable": NAME}):
        with pytest.raises(InvalidInput):
            ServerEntry(key=SECRET, **wrong_entry)  # type: ignore[arg-type]


def test_an_address_of_this_machine_is_known_and_a_url_is_shown_without_secrets() -> None:
    local = ["http://127.0.0.1:1/mcp", "http://localhost/mcp", "http://[::1]:1/mcp"]
    assert all(map(is_this_machine, local))
    assert not is_this_machine("http://192.168.1.2/mcp")
    assert not is_this_machine("https://memory.example.org/mcp")
    assert show_url(f"http://u:{SECRET}@h:1/mcp?key={SECRET}") == "http://h:1/mcp"
    assert SECRET not in show_url(f"http://u:{SECRET}@[h:1/mcp?key={SECRET}")


@frozen
class Served:
    url: str
    key: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run a server of ours with one key."""
    home = tmp_path_factory.mktemp("served") / "home"
    with MemoryStore.open(home) as store:
        key = store.keys.create("laptop", rights=["read"], scopes="*").secret
    with HttpServer(home, "--require-keys") as server:
        yield Served(f"{server.url}/mcp", key)


def test_the_doctor_asks_the_server_at_the_url_with_the_key_of_the_client(
    make_platform: MakePlatform, served: Served
) -> None:
    platform = make_platform(**{NAME: served.key, "WRONG": SECRET})
    wrong_variable = ServerEntry(url=served.url, key_variable="WRONG")
    for name, entry in (
        ("claude-code", ServerEntry(url=served.url, key_variable=NAME)),
        ("codex", ServerEntry(url=served.url, key_variable=NAME)),
        ("cursor", ServerEntry(url=served.url)),
        ("gemini", wrong_variable),
        ("windsurf", ServerEntry(url=served.url, key_variable="UNSET_KEY")),
        ("zed", ServerEntry(url=served.url, key=served.key)),
        ("cline", ServerEntry(url=served.url.replace("/mcp", "/else"), key=served.key)),
        ("vscode", ServerEntry(url=served.url, key="${input:memory-key}")),
    ):
        apply_change(get_client(name), platform, entry, now=NOW)
    found = {item.about.removeprefix("client "): item for item in diagnose_clients(platform, None)}
    for name in ("claude-code", "codex", "zed"):
        assert found[name].state is State.OK, found[name]
        assert f"is pointed at {served.url} in ~/" in found[name].sentence
        assert "the server answered in" in found[name].sentence
        assert "tools" in found[name].sentence
    assert found["cursor"].state is State.PROBLEM
    assert "answered with 401: a key is needed" in found["cursor"].sentence
    assert "connect cursor --http URL` with --key-from-env NAME" in found["cursor"].sentence
    assert "answered with 401: the key is not accepted" in found["gemini"].sentence
    assert found["windsurf"].state is State.WARNING
    assert "the variable UNSET_KEY, which is not set here" in found["windsurf"].sentence
    assert "answered with 404" in found["cline"].sentence
    assert "asks for; it was not called" in found["vscode"].sentence
    said = " ".join(item.sentence for item in found.values())
    assert served.key not in said
    assert SECRET not in said


def test_the_doctor_names_the_way_out_where_nothing_answers(platform: Platform) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    cursor, gemini = get_client("cursor"), get_client("gemini")
    apply_change(cursor, platform, ServerEntry(url=f"http://127.0.0.1:{port}/mcp"), now=NOW)
    apply_change(gemini, platform, ServerEntry(url="unix:/run/memory"), now=NOW)
    apply_change(get_client("zed"), platform, ServerEntry(url="http://[::1/mcp"), now=NOW)
    first, second, third = diagnose_clients(platform, None)
    assert {first.state, second.state, third.state} == {State.PROBLEM}
    assert f"nothing answers at http://127.0.0.1:{port}/mcp (" in first.sentence
    assert "start the server with `infinite-memory serve`" in first.sentence
    assert "unix:/run/memory is no URL of a server over HTTP" in second.sentence
    assert "http://[::1/mcp is no URL of a server over HTTP" in third.sentence


RESULTS = {
    "initialize": {"serverInfo": {"name": "other", "version": "1"}},
    "tools/list": {"tools": [{"name": "a", "description": "Does a. And b."}]},
}


class Other(BaseHTTPRequestHandler):
    """A server of the protocol with sessions and streams, as ours is not."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method = message["method"]
        if self.path == "/moved":
            self.send_response(307)
            self.send_header("location", "/mcp")
            self.end_headers()
        elif self.path == "/cut":
            self.close_connection = True
        elif method != "initialize" and self.headers["mcp-session-id"] != "s1":
            self.answer(b"no session", "text/plain", 400)
        elif self.path == "/odd":
            self.answer(b"[1]", "application/json")
        elif self.path == "/refusing" and method == "tools/list":
            error = {"jsonrpc": "2.0", "id": message["id"], "error": {"message": "no tools"}}
            self.answer(json.dumps(error).encode(), "application/json")
        elif method in RESULTS:
            result = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[method]}
            note = '{"jsonrpc": "2.0", "method": "notifications/message"}'
            events = f"event: message\ndata: {note}\n\ndata: {json.dumps(result)}\n\n"
            self.answer(events.encode(), "text/event-stream")
        else:
            self.answer(b"", "text/plain", 202)

    def answer(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        for name, value in (("content-type", kind), ("content-length", str(len(body)))):
            self.send_header(name, value)
        self.send_header("mcp-session-id", "s1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def other() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_server_with_sessions_and_streams_is_understood(other: str) -> None:
    result = probe_url(f"{other}/mcp", None)
    assert (result.name, result.version, result.tools) == ("other", "1", (("a", "Does a."),))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/moved", "leads elsewhere (307), which is not followed: give http"),
        ("/cut", "nothing answers at"),
        ("/odd", "answered `initialize`, but not as a server of the protocol"),
        ("/refusing", "it refused `tools/list`: {'message': 'no tools'}"),
    ],
)
def test_what_came_back_is_said(other: str, path: str, said: str) -> None:
    with pytest.raises(ProbeFailed) as failed:
        probe_url(f"{other}{path}", SECRET)
    assert said in str(failed.value)
    assert SECRET not in str(failed.value)
