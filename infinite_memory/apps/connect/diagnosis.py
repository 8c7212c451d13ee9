"""The doctor's findings on clients: whether they are connected, and their server answers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from infinite_memory.apps.connect.connecting import (
    ClientStatus,
    Connection,
    find_clients,
    read_status,
)
from infinite_memory.apps.connect.entry import ServerEntry, is_reference
from infinite_memory.apps.connect.platform import Platform
from infinite_memory.apps.connect.probe import (
    CLIENT_INFO,
    PROTOCOL,
    UNAUTHORIZED,
    ProbeFailed,
    ProbeResult,
    probe_server,
    read_result,
)
from infinite_memory.apps.connect.remote import is_this_machine, read_url, show_url
from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.address import masked
from infinite_memory.core.values.messages import format_count
from infinite_memory.core.values.verification import Diagnosis, State

_MAX_ANSWER_BYTES = 4 << 20
_MAX_SAID = 200


def diagnose_clients(
    platform: Platform, wanted: ServerEntry | None, *, timeout_seconds: float = 20.0
) -> Iterator[Diagnosis]:
    """Yield a diagnosis for every client that is found.

    The server of a command is started and stopped, and the server at a URL is asked.

    `wanted` is the server of this installation, None if it has none.
    """
    for client in find_clients(platform):
        status = read_status(client, platform, wanted)
        state, sentence = _diagnose_command(status, platform, timeout_seconds)
        yield Diagnosis(f"client {client.name}", state, sentence)


def _diagnose_command(
    status: ClientStatus, platform: Platform, timeout_seconds: float
) -> tuple[State, str]:
    title, name = status.client.title, status.client.name
    connect = f"`infinite-memory connect {name}`"
    if status.connection is Connection.UNREADABLE:
        return State.PROBLEM, f"{status.problem}."
    if status.entry is None:
        return State.OK, f"{title} is not connected; {connect} does it."
    where = platform.shorten(status.path)
    if status.connection is Connection.DISABLED:
        return State.WARNING, f"{title} has the server switched off in {where}."
    if status.entry.url is not None:
        return _diagnose_url(status, platform, timeout_seconds)
    try:
        result = probe_server(status.entry, platform, timeout_seconds=timeout_seconds)
    except ProbeFailed as error:
        return State.PROBLEM, f"{title} cannot use the server in {where}: {error}; {connect}."
    said = _describe_result(result)
    if status.connection is Connection.OTHER:
        command = " ".join([str(status.entry.command), *map(masked, status.entry.args)])
        return State.OK, f"{title} is connected with another command ({command:.200}); {said}"
    return State.OK, f"{title} is connected; {said}"


def _diagnose_url(
    status: ClientStatus, platform: Platform, timeout_seconds: float
) -> tuple[State, str]:
    entry, title = status.entry, status.client.title
    assert entry is not None
    assert entry.url is not None
    place = f"{title} is pointed at {show_url(entry.url)} in {platform.shorten(status.path)}"
    key = entry.key
    if entry.key_variable is not None:
        key = platform.environment.get(entry.key_variable)
        if not key:
            return State.WARNING, (
                f"{place}, with the key in the variable {entry.key_variable}, which is not set"
                " here: the server was not asked; set the variable where the client starts."
            )
    elif key is not None and is_reference(key):
        return State.OK, f"{place}, with a key that the client asks for; it was not called."
    try:
        result = probe_url(entry.url, key, timeout_seconds=timeout_seconds)
    except ProbeFailed as error:
        return State.PROBLEM, f"{place}: {error}; {_find_way_out(error, status.client.name)}."
    return State.OK, f"{place}; {_describe_result(result)}"


def _find_way_out(error: ProbeFailed, name: str) -> str:
    again = f"`infinite-memory connect {name} --http URL`"
    if error.status == UNAUTHORIZED:
        return f"{again} with --key-from-env NAME names a key, which `infinite-memory keys` makes"
    if error.status is None:
        return f"start the server with `infinite-memory serve`, or give another URL with {again}"
    return f"{again} gives another URL"


def _describe_result(result: ProbeResult) -> str:
    return (
        f"the server answered in {result.seconds:.1f} s: {result.name} {result.version},"
        f" {format_count(len(result.tools), 'tool')}."
    )


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: the key is for the server that the file names."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def probe_url(url: str, key: str | None, *, timeout_seconds: float = 20.0) -> ProbeResult:
    """Initialize a session with the server at a URL, and list the tools; nothing is changed.

    Raises:
        ProbeFailed: nothing answers in time, or the answer is a refusal; the message says what came
            back, and never holds the key.
    """
    began = time.monotonic()
    if not url.startswith(("http://", "https://")):  # urllib would read a file for file:
        raise ProbeFailed(f"{show_url(url)} is no URL of a server over HTTP")
    session = _Session(url, key, began + timeout_seconds)
    server = session.ask(1, "initialize", {"protocolVersion": PROTOCOL, **CLIENT_INFO})
    session.notify("notifications/initialized")
    listed = session.ask(2, "tools/list", {})
    return read_result(server, listed, seconds=time.monotonic() - began)


class _Session:
    """Requests to a URL, within a common time limit."""

    def __init__(self, url: str, key: str | None, deadline: float) -> None:
        self._url = _remove_user(url)
        self._deadline = deadline
        self._headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-protocol-version": PROTOCOL,
        }
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"
        # A proxy of the environment is for other machines.
        proxies = [ProxyHandler({})] if is_this_machine(url) else []
        self._opener: OpenerDirector = build_opener(_NoRedirects(), *proxies)

    def ask(self, number: int, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the result of a request.

        Raises:
            ProbeFailed: there is none in time, or an error.
        """
        body = self._send_message({"id": number, "method": method, "params": params})
        for message in _read_messages(body):
            if message.get("id") == number and isinstance(message.get("result"), dict):
                result: Mapping[str, Any] = message["result"]
                return result
            if message.get("id") == number:
                raise ProbeFailed(f"it refused `{method}`: {str(message.get('error'))[:_MAX_SAID]}")
        raise ProbeFailed(f"it answered `{method}`, but not as a server of the protocol")

    def notify(self, method: str) -> None:
        """Send a notification, which has no answer.

        Raises:
            ProbeFailed: the server does not take it.
        """
        self._send_message({"method": method})

    def _send_message(self, message: Mapping[str, Any]) -> bytes:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        request = Request(self._url, data=data, headers=self._headers, method="POST")
        seconds = max(0.1, self._deadline - time.monotonic())
        try:
            with self._opener.open(request, timeout=seconds) as response:
                session = response.headers.get("mcp-session-id")
                if session:
                    self._headers["mcp-session-id"] = session
                body: bytes = response.read(_MAX_ANSWER_BYTES)
                return body
        except HTTPError as error:
            raise ProbeFailed(self._explain_error(error), status=error.code) from error
        except (URLError, HTTPException, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            # Not its text, which may quote the URL with what is secret in it.
            said = getattr(reason, "strerror", None) or type(reason).__name__
            raise ProbeFailed(f"nothing answers at {show_url(self._url)} ({said})") from error

    def _explain_error(self, error: HTTPError) -> str:
        with error:
            said = _read_error(error.read(_MAX_ANSWER_BYTES))
        where = show_url(self._url)
        if 300 <= error.code < 400:
            to = show_url(urljoin(self._url, error.headers.get("location", "")))
            with suppress(InvalidInput):
                to = read_url(to)
            return f"{where} leads elsewhere ({error.code}), which is not followed: give {to}"
        return f"{where} answered with {error.code}" + (f": {said}" if said else "")


def _remove_user(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ProbeFailed(f"{show_url(url)} is no URL of a server over HTTP") from error
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _read_messages(body: bytes) -> list[Mapping[str, Any]]:
    """Return the messages of an answer: JSON, or a stream of events."""
    text = body.decode(errors="replace")
    lines = [line.partition(":")[2] for line in text.splitlines() if line.startswith("data:")]
    messages: list[Mapping[str, Any]] = []
    for part in lines or [text]:
        try:
            message = json.loads(part)
        except ValueError:
            continue
        if isinstance(message, dict):
            messages.append(message)
    return messages


def _read_error(body: bytes) -> str:
    """Return the message of a refusal; "" if it is no message of the protocol."""
    for message in _read_messages(body):
        error = message.get("error")
        if isinstance(error, dict) and isinstance(error.get("message"), str):
            return " ".join(error["message"].split())[:_MAX_SAID]
    return ""
