"""Refusals of HTTP requests: a status, and a JSON-RPC error with the way out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from mcp_types import INVALID_REQUEST
from starlette.types import Message, Send

CHALLENGE = 'Bearer realm="infinite-memory"'


class Refusal(Exception):
    """A request that is not carried out; nothing was done."""

    def __init__(
        self,
        status: int,
        reason: str,
        *,
        code: int = INVALID_REQUEST,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})

    async def send(self, send: Send) -> None:
        """Answer the request."""
        await send_content(send, self.status, self.content, "application/json", self.headers)

    @property
    def content(self) -> bytes:
        """The body of the answer."""
        error = {"code": self.code, "message": f"{self}; nothing was done"}
        return _encode_body({"jsonrpc": "2.0", "id": None, "error": error})


async def send_json(
    send: Send, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> None:
    """Send a whole response."""
    await send_content(send, status, _encode_body(body), "application/json", headers)


def _encode_body(body: Mapping[str, Any]) -> bytes:
    # ASCII: a lone surrogate in what the client sent stays an escape.
    return json.dumps(body).encode("ascii")


def refuse_in_json(send: Send, explain: Callable[[int, str], str]) -> Send:
    """Return a `send` that turns a refusal in plain text, as libraries send it, into an error.

    `explain` returns the reason with the way out, given the status and the plain text.
    """
    refused: Message | None = None
    text = b""

    async def send_on(message: Message) -> None:
        nonlocal refused, text
        if message["type"] == "http.response.start" and message["status"] >= 400:
            headers = dict(message["headers"])
            if not headers.get(b"content-type", b"").startswith(b"application/json"):
                refused = message
                return
        if refused is None:
            await send(message)
            return
        text += message.get("body", b"")
        if not message.get("more_body", False):
            status = refused["status"]
            await Refusal(status, explain(status, text.decode(errors="replace"))).send(send)

    return send_on


async def send_content(
    send: Send,
    status: int,
    content: bytes,
    content_type: str,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Send a whole response with this content."""
    lines = {
        "content-type": content_type,
        "content-length": str(len(content)),
        "cache-control": "no-store",
        **(headers or {}),
    }
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode()) for name, value in lines.items()],
        }
    )
    await send({"type": "http.response.body", "body": content})
