"""One line of the wire as a message, and a message as one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from infinite_memory_mcp.wire import encodable_data, is_encodable

__all__ = ["MAX_FRAME_BYTES", "BadFrame", "read_frame", "write_frame"]

MAX_FRAME_BYTES = 128 << 20
"""A longer line is refused: ten million characters fit, each escaped as a pair of surrogates."""

_SHAPE = (
    'send one JSON object a line: {"jsonrpc": "2.0", "id": a text or a whole number, "method":'
    ' a text, "params": an object}'
)


class BadFrame(ValueError):
    """A line that is no message; `answer` is what its sender is told."""

    def __init__(self, code: int, reason: str, request: RequestId | None = None) -> None:
        super().__init__(reason)
        error = ErrorData(code=code, message=f"{reason}; nothing was done")
        self.answer = JSONRPCError(jsonrpc="2.0", id=request, error=error)


def read_frame(line: bytes) -> JSONRPCMessage:
    """Return the message in `line`.

    A text with half of a surrogate pair may stand among the parameters, where the tool that is
    called says which one it was; anywhere else it is refused.

    Raises:
        BadFrame: the line is too long, not UTF-8, no JSON, or no message of JSON-RPC 2.0.
    """
    if len(line) > MAX_FRAME_BYTES:
        raise BadFrame(INVALID_REQUEST, f"the line is over {MAX_FRAME_BYTES:,} bytes: split it")
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        # pydantic reads no lone surrogate, and does not tell it from what is no JSON at all.
        return _checked(_decoded(line))
    # A request whose id cannot be used would otherwise pass for a notification, and wait for ever.
    if isinstance(message, JSONRPCNotification):
        _checked_id(_decoded(line))
    return message


def write_frame(message: JSONRPCMessage) -> bytes:
    """Return `message` as a line of UTF-8, with a replacement for what UTF-8 cannot hold."""
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except PydanticSerializationError:
        data = encodable_data(message.model_dump(by_alias=True, exclude_unset=True))
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"{text}\n".encode()


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line.decode())
    except UnicodeDecodeError as error:
        at = f"byte {line[error.start]:#04x} at position {error.start}"
        raise BadFrame(PARSE_ERROR, f"the line is not UTF-8 ({at}): encode it so") from error
    except ValueError as error:
        raise BadFrame(PARSE_ERROR, f"the line is not JSON ({error}): {_SHAPE}") from error
    except RecursionError as error:
        reason = "the line is nested too deeply to be read: flatten it"
        raise BadFrame(PARSE_ERROR, reason) from error
    if isinstance(data, list):
        raise BadFrame(INVALID_REQUEST, "the line is a list, and batches are not part of MCP")
    if not isinstance(data, dict):
        raise BadFrame(INVALID_REQUEST, f"the line is {data!r:.60}, no object: {_SHAPE}")
    return data


def _checked_id(data: dict[str, Any]) -> RequestId | None:
    given = data.get("id")
    if isinstance(given, str) and is_encodable(given):
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if "id" in data and "method" in data:
        shown = repr(given).encode(errors="backslashreplace").decode()
        reason = f"the id {shown:.60} is neither a text nor a whole number: {_SHAPE}"
        raise BadFrame(INVALID_REQUEST, reason)
    return None


def _checked(data: dict[str, Any]) -> JSONRPCMessage:
    request = _checked_id(data)
    outside = {name: value for name, value in data.items() if name != "params"}
    if any(not is_encodable(text) for text in _texts(outside)):
        reason = "half of a surrogate pair stands outside of the parameters: leave it out"
        raise BadFrame(INVALID_REQUEST, reason, request)
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_python(data, by_name=False)
    except ValidationError as error:
        raise BadFrame(INVALID_REQUEST, f"the line is no message: {_SHAPE}", request) from error
    return message


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
