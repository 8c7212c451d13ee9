"""Refusals of HTTP requests: a status, and a JSON-RPC error with the way out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp_types import INVALID_REQUEST
from starlette.types import Send

__all__ = ["Refusal", "send_content", "send_json"]


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
        body = {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": self.code, "message": f"{self}; nothing was done"},
        }
        await send_json(send, self.status, body, self.headers)


async def send_json(
    send: Send, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> None:
    """Send a whole response."""
    # ASCII: a lone surrogate in what the client sent stays an escape.
    content = json.dumps(body).encode("ascii")
    await send_content(send, status, content, "application/json", headers)


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
