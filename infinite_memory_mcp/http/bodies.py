"""Read the body of a request: within a size and a time, and only if it is a message."""

from __future__ import annotations

import anyio
from mcp_types import PARSE_ERROR
from pydantic_core import from_json
from starlette.types import Message, Receive, Scope

from infinite_memory_mcp.http.responses import Refusal
from infinite_memory_mcp.jsonrpc import BadFrame, read_frame

MAX_BODY_BYTES = 1 << 20
"""The longest body of a request."""

_SURROGATE = rb"\ud"


class ClientLeft(Exception):
    """The client closed the connection before its request was complete."""


def header(scope: Scope, name: bytes) -> str | None:
    """Return the first value of a header, None if it is missing."""
    values = (value for key, value in scope["headers"] if key == name)
    value: bytes | None = next(values, None)
    return None if value is None else value.decode("latin-1")


async def read_body(scope: Scope, receive: Receive, *, seconds: float) -> bytes:
    """Return the whole body.

    Raises:
        Refusal: it is too long, or was not complete after `seconds`.
        ClientLeft: the client closed the connection.
    """
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > MAX_BODY_BYTES:
        raise _make_too_long_refusal()
    body = bytearray()
    with anyio.move_on_after(seconds):
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise ClientLeft
            body += message.get("body", b"")
            if len(body) > MAX_BODY_BYTES:
                raise _make_too_long_refusal()
            if not message.get("more_body", False):
                return bytes(body)
    raise Refusal(
        408,
        f"the body was not complete after {seconds:g} seconds: send it again",
        headers={"connection": "close"},
    )


def read_method(body: bytes) -> str | None:
    """Return the method of the JSON-RPC message in a body, None for an answer.

    Raises:
        Refusal: it is not; the message says what it is instead.
    """
    try:
        message = read_frame(body, noun="body")
    except BadFrame as bad:
        reason = bad.answer.error.message.removesuffix("; nothing was done")
        raise Refusal(400, reason, code=bad.answer.error.code) from bad
    if _SURROGATE in body.lower() and not _is_readable(body):
        raise Refusal(400, "a lone surrogate stands in params: remove it", code=PARSE_ERROR)
    return getattr(message, "method", None)


def _is_readable(body: bytes) -> bool:
    """Return whether the SDK can read a body; over standard input and output it reads more."""
    try:
        from_json(body)
    except ValueError:
        return False
    return True


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body, and after it what `receive` gives."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


def _make_too_long_refusal() -> Refusal:
    return Refusal(
        413,
        f"the body is longer than {MAX_BODY_BYTES:,} bytes: split it into several requests",
    )
