"""Asks the server at the URL of a client's file for its tools, as the client would."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import (
    HTTPRedirectHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from infinite_memory.apps.connect.probe import (
    CLIENT_INFO,
    PROTOCOL,
    ProbeFailed,
    ProbeResult,
    read_result,
)
from infinite_memory.apps.connect.remote import is_this_machine, show_url

_MAX_ANSWER_BYTES = 4 << 20
_MAX_SAID = 200


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
        self._url = _without_user(url)
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
        body = self._send({"id": number, "method": method, "params": params})
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
        self._send({"method": method})

    def _send(self, message: Mapping[str, Any]) -> bytes:
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
            raise ProbeFailed(self._explain(error), status=error.code) from error
        except (URLError, HTTPException, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            # Not its text, which may quote the URL with what is secret in it.
            said = getattr(reason, "strerror", None) or type(reason).__name__
            raise ProbeFailed(f"nothing answers at {show_url(self._url)} ({said})") from error

    def _explain(self, error: HTTPError) -> str:
        with error:
            said = _read_error(error.read(_MAX_ANSWER_BYTES))
        where = show_url(self._url)
        if 300 <= error.code < 400:
            return f"{where} leads elsewhere ({error.code}), which is not followed"
        return f"{where} answered with {error.code}" + (f": {said}" if said else "")


def _without_user(url: str) -> str:
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
