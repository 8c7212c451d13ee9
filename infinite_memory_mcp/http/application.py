"""The ASGI application: who may ask what, and the end of the server."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

import anyio
import anyio.to_thread
from attrs import define, field
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infinite_memory.core.errors import InfiniteMemoryError
from infinite_memory.core.values.access.key import AccessKey, Right
from infinite_memory_mcp.http.auth import KeyCheck, take_secret
from infinite_memory_mcp.http.bodies import ClientLeft, header, read_body, read_method, replay
from infinite_memory_mcp.http.handles import MESSAGE_PATH, Handles
from infinite_memory_mcp.http.hosts import HostCheck
from infinite_memory_mcp.http.metrics import MetricsPage
from infinite_memory_mcp.http.responses import Refusal, refuse_in_json, send_content, send_json
from infinite_memory_mcp.http.slots import FairSlots
from infinite_memory_mcp.lazy_store import LazyStore
from infinite_memory_mcp.web.api import METHODS
from infinite_memory_mcp.web.page import Page, find_route

if TYPE_CHECKING:
    from infinite_memory_mcp.http.oauth import ProtectedResource

_log = logging.getLogger(__name__)
_BODY_SECONDS = 20.0
_SEND_SECONDS = 60.0
_READY_SECONDS = 5.0
_LAST_EVENTS_SECONDS = 0.25
_ABOUT_THE_SERVER = {
    "initialize",
    "notifications/initialized",
    "ping",
    "server/discover",
    "tools/list",
}
"""Methods whose answers are the same for every store."""

_PATHS = {
    "/mcp": ("POST",),
    "/sse": ("GET",),
    MESSAGE_PATH.rstrip("/"): ("POST",),
    "/healthz": ("GET", "HEAD"),
    "/readyz": ("GET", "HEAD"),
    "/metrics": ("GET", "HEAD"),
}
_POLLED = {"position", "work"}
"""What the page asks again and again."""

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


@define(eq=False)
class _Exchange:
    """A request that is being answered."""

    send_on: Send
    is_stream: bool = False
    has_started: bool = False
    is_complete: bool = False
    scope: anyio.CancelScope = field(factory=anyio.CancelScope)
    begun: float = field(factory=time.perf_counter)
    status: int | None = None
    key: AccessKey | None = None

    async def send(self, message: Message) -> None:
        """Send a part of the answer, and note how far the answer has come.

        Raises:
            ClientLeft: the client reads nothing.
        """
        self.has_started = True
        self.status = message.get("status", self.status)
        self.is_complete = message["type"] == "http.response.body" and not message.get("more_body")
        with anyio.move_on_after(_SEND_SECONDS) as waiting:
            await self.send_on(message)
        if waiting.cancelled_caught:
            raise ClientLeft

    async def end(self) -> None:
        """End an answer that was cut off."""
        if self.has_started and not self.is_complete:
            await self.send({"type": "http.response.body", "body": b""})


class HttpApplication:
    """Serves the protocol at /mcp and /sse, the state of the server at /healthz and /readyz,
    metrics at /metrics, and the page of a person at /.

    Every other answer than that of a tool is a JSON-RPC error with a status: 400 not a message, 401
    no key, 403 a foreign page or a key without the right, 404 no such path, 405 another method, 408
    too slow, 413 too long, 421 a foreign host, 501 no metrics, 503 stopping, or the store cannot be
    opened.
    """

    def __init__(
        self,
        memory: LazyStore,
        handles: Handles,
        keys: KeyCheck,
        hosts: HostCheck,
        slots: FairSlots,
        metrics: MetricsPage,
        page: Page | None = None,
        *,
        root_path: str = "",
        resource: ProtectedResource | None = None,
    ) -> None:
        """Serve the `handles` of the keys in `memory`; their calls run in `slots`.

        The `page` of a person is served at /, unless it is None. All paths are served below
        `root_path` too. Clients that are to sign in are told of the `resource`.
        """
        self._memory = memory
        self._handles = handles
        self._keys = keys
        self._hosts = hosts
        self._slots = slots
        self._exchanges: set[_Exchange] = set()
        self._is_draining = False
        self._fewer = anyio.Event()
        self._ready_check = anyio.Lock()
        self._metrics = metrics
        self._page = page
        self._root_path = root_path
        self._resource = resource

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve for the duration of the block."""
        async with self._handles.running():
            yield

    async def drain(self) -> None:
        """Refuse later requests, wait until those before are answered, and end all streams.

        Calls that run end at their next step, and their answers say what is left.
        """
        self._is_draining = True
        self._memory.stopping.set()
        while self._slots.running or any(not exchange.is_stream for exchange in self._exchanges):
            self._fewer = anyio.Event()
            with anyio.move_on_after(0.1):
                await self._fewer.wait()
        if self._exchanges:
            # Answers to clients of the SSE transport are still on their way to the streams.
            await anyio.sleep(_LAST_EVENTS_SECONDS)
        self.cancel()

    def cancel(self) -> None:
        """End every answer that is under way."""
        self._is_draining = True
        for exchange in self._exchanges:
            exchange.scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        scope = self._take_prefix(scope)
        exchange = _Exchange(send)
        self._exchanges.add(exchange)
        try:
            with exchange.scope:
                await self._answer_request(scope, receive, exchange)
            if exchange.scope.cancelled_caught:
                await exchange.end()
        except ClientLeft:
            _log.info("a client left before it was answered")
        finally:
            _write_line(scope, exchange)
            self._exchanges.discard(exchange)
            self._fewer.set()

    def _take_prefix(self, scope: Scope) -> Scope:
        """Return a request without the prefix of its path, which a proxy may have taken already."""
        path = scope["path"]
        if not self._root_path or not f"{path}/".startswith(f"{self._root_path}/"):
            return scope
        return {**scope, "path": path.removeprefix(self._root_path)}

    async def _answer_request(self, scope: Scope, receive: Receive, exchange: _Exchange) -> None:
        try:
            await self._route_request(scope, receive, exchange)
        except Refusal as refusal:
            if refusal.status == 401 and self._resource is not None:
                where = self._resource.challenge(header(scope, b"host") or "")
                refusal.headers["www-authenticate"] += f", {where}"
            if not exchange.has_started:
                await refusal.send(exchange.send)
        except ClientLeft:
            raise
        except Exception:  # noqa: BLE001 - the boundary of the process
            # The server keeps serving after a defect.
            _log.exception("a request failed")
            if not exchange.has_started:
                await Refusal(500, "the server failed; its log has the details", code=-32603).send(
                    exchange.send
                )

    async def _route_request(self, scope: Scope, receive: Receive, exchange: _Exchange) -> None:
        if self._page is not None and find_route(scope["path"]) is not None:
            await self._serve_page(self._page, scope, receive, exchange)
            return
        if not scope["path"]:
            # The links of the page are relative: to its folder, not to the folder above.
            headers = {"location": f"{self._root_path}/"}
            await send_content(exchange.send, 308, b"", "text/plain", headers)
            return
        path = scope["path"].rstrip("/")
        about = self._resource if self._resource and self._resource.is_at(path) else None
        if path not in _PATHS and about is None:
            here = "" if self._page is None else ", and / for a person"
            raise Refusal(404, f"nothing is served here: the paths are {', '.join(_PATHS)}{here}")
        if scope["method"] not in _PATHS.get(path, ("GET", "HEAD")):
            allowed = ", ".join(_PATHS.get(path, ("GET", "HEAD")))
            raise Refusal(405, f"{path} is for {allowed}", headers={"allow": allowed})
        self._hosts.check(header(scope, b"host"), header(scope, b"origin"))
        if about is not None:
            await send_json(exchange.send, 200, about.describe(header(scope, b"host") or ""))
        elif path == "/healthz":
            await send_json(exchange.send, 200, {"status": "alive"})
        elif path == "/readyz":
            await self._answer_readiness(exchange.send)
        elif path == "/metrics":
            await self._answer_metrics(scope, exchange)
        else:
            await self._serve_protocol(path, scope, receive, exchange)

    async def _serve_page(
        self, page: Page, scope: Scope, receive: Receive, exchange: _Exchange
    ) -> None:
        self._hosts.check(header(scope, b"host"), header(scope, b"origin"))
        if self._is_draining:
            raise _make_stopping_refusal()
        await page.answer(scope, receive, exchange)

    async def _answer_readiness(self, send: Send) -> None:
        if self._is_draining:
            raise _make_stopping_refusal()
        is_ready = False
        # One look at a time, however many ask.
        async with self._ready_check:
            with anyio.move_on_after(_READY_SECONDS):
                is_ready = await anyio.to_thread.run_sync(
                    self._look_at_store, abandon_on_cancel=True
                )
        if not is_ready:
            raise Refusal(
                503,
                "the store cannot be reached: the log of the server has the reason",
                headers={"retry-after": "5"},
            )
        await send_json(send, 200, {"status": "ready"})

    async def _answer_metrics(self, scope: Scope, exchange: _Exchange) -> None:
        """Send the metrics, to a client without a key only where no key is needed."""
        _, secret = take_secret(scope)
        exchange.key = key = await self._keys.authenticate(secret)
        if key is not None and not (key.allows(Right.ADMIN) and "*" in key.scopes):
            raise Refusal(
                403,
                "the metrics count the whole store: they need a key with the right admin for every"
                " scope (*): show such a key",
            )
        content, content_type = await anyio.to_thread.run_sync(
            self._metrics.render, header(scope, b"accept")
        )
        await send_content(exchange.send, 200, content, content_type)

    def _look_at_store(self) -> bool:
        try:
            with self._memory.call() as store:
                store.journal.entries(limit=1)
        except InfiniteMemoryError as error:
            _log.warning("not ready: %s", error)
            return False
        return True

    async def _serve_protocol(
        self, path: str, scope: Scope, receive: Receive, exchange: _Exchange
    ) -> None:
        if self._is_draining:
            raise _make_stopping_refusal()
        stripped, secret = take_secret(scope)
        is_early = secret is None and self._keys.is_undecided
        exchange.key = key = None if is_early else await self._keys.authenticate(secret)
        send: Send = exchange.send
        if path == "/sse":
            exchange.is_stream = True
            send = _add_key_to_endpoint(send, scope, secret)
        else:
            body = await read_body(scope, receive, seconds=_BODY_SECONDS)
            if read_method(body) not in _ABOUT_THE_SERVER and is_early:
                exchange.key = key = await self._keys.authenticate(None)
            receive = replay(body, receive)
        if self._is_draining:
            raise _make_stopping_refusal()
        await self._pass_on(key, path, stripped, receive, send)

    async def _pass_on(
        self, key: AccessKey | None, path: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        handle = await self._handles.get(key)
        app: ASGIApp = handle.streamable if path == "/mcp" else handle.sse
        inner = path if path != MESSAGE_PATH.rstrip("/") else MESSAGE_PATH
        inner = f"{self._root_path}{inner}"
        handle.open_requests += 1
        try:
            await app(
                {**scope, "path": inner, "raw_path": inner.encode(), "root_path": self._root_path},
                receive,
                refuse_in_json(send, _explain_refusal),
            )
        finally:
            handle.open_requests -= 1


def _explain_refusal(status: int, text: str) -> str:
    """Return the way out of a refusal of the SDK, which sends a text alone."""
    if "Content-Type" in text:
        return "the body is no JSON by its header: send 'content-type: application/json'"
    if "session" in text.casefold():
        return (
            "the session_id is missing, or is of no stream that is open: open GET /sse, and post to"
            " the address that it names"
        )
    return f"{text or f'the request was answered with {status}'}: see the log of the server"


def _write_line(scope: Scope, exchange: _Exchange) -> None:
    """Log an exchange: a call of the page or a refused one at "info", any other at "debug".

    Tools log their calls. The line has neither the query, which may hold a key, nor a path that
    nothing is served at.
    """
    status = exchange.status
    path = scope["path"].rstrip("/")
    route = path if path in _PATHS else find_route(scope["path"]) or "unknown"
    name = path.removeprefix("/api/")
    is_call = route == "/api" and name not in _POLLED
    level = logging.DEBUG if status is not None and status < 400 and not is_call else logging.INFO
    if not _log.isEnabledFor(level):
        return
    called = f"page.{name}" if name in METHODS else "unknown"
    fields = {
        "route": route,
        **({"tool": called} if route == "/api" else {}),
        "method": scope["method"] if scope["method"] in _METHODS else "unknown",
        "status": status,
        "duration_ms": round((time.perf_counter() - exchange.begun) * 1000, 3),
        "outcome": "cut off" if status is None else "ok" if status < 400 else "refused",
        "key": None if exchange.key is None else exchange.key.name,
    }
    shown = called if route == "/api" else route
    _log.log(level, "%s %s", shown, fields["outcome"], extra={"fields": fields})


def _make_stopping_refusal() -> Refusal:
    headers = {"retry-after": "1", "connection": "close"}
    return Refusal(503, "the server is stopping: try again in a moment", headers=headers)


def _add_key_to_endpoint(send: Send, scope: Scope, secret: str | None) -> Send:
    """Return a `send` that adds a key of the query to the address to which a client is led."""
    marker = b"event: endpoint"
    if secret is None or b"key=" not in scope["query_string"]:
        return send

    async def send_with_key(message: Message) -> None:
        body = message.get("body", b"")
        if body.startswith(marker):
            lines = body.split(b"\r\n")
            key = b"&key=" + quote(secret, safe="").encode()
            lines = [line + key if line.startswith(b"data: ") else line for line in lines]
            message = {**message, "body": b"\r\n".join(lines)}
        await send(message)

    return send_with_key
