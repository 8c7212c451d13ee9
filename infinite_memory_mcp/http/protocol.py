"""The HTTP/1.1 protocol of the server: a deadline for heads, and refusals that say the way out."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from infinite_memory_mcp.http.responses import Refusal

_HEAD_SECONDS = 20.0


async def _refuse_connection(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    headers = {"retry-after": "5", "connection": "close"}
    reason = "too many connections are open: try again in a few seconds"
    await Refusal(503, reason, headers=headers).send(send)


class HeadDeadlineProtocol(H11Protocol):
    """Closes a connection that does not send the whole head of a request in time.

    uvicorn itself limits only the time between two requests. What uvicorn would refuse in plain
    text, too many connections and what is no HTTP, is refused by a JSON-RPC error.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._most_connections, self.limit_concurrency = self.limit_concurrency, None
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Stop waiting when a request has begun, and wait again for a request in parts."""
        most = self._most_connections
        if most is not None and max(len(self.connections), len(self.tasks)) >= most:
            self.app = _refuse_connection
        else:
            self.app = self.config.loaded_app
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
        elif self._deadline is None:
            self._wait_for_head()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Refuse what is no HTTP request."""
        self._refuse_request(
            400,
            "this is no HTTP request that can be read: send a request of HTTP/1.1 with one header"
            " Host, and with a body of the length that it declares",
        )

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_head(self) -> None:
        self._deadline = self.loop.call_later(_HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self._is_answering() and not self.transport.is_closing():
            self._refuse_request(
                408, f"the head was not complete after {_HEAD_SECONDS:g} seconds: send it again"
            )

    def _refuse_request(self, status: int, reason: str) -> None:
        """Answer with an error, unless an answer has begun, and close the connection."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            content = Refusal(status, reason).content
            head = (
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nconnection: close\r\n"
                f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
            )
            self.transport.write(head.encode() + content)
        self.transport.close()
