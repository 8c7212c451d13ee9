"""Decode and encode JSON-RPC messages, a message per line of UTF-8."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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

from infinite_memory.search.text.quotation import replace_surrogates

MAX_FRAME_BYTES = 128 << 20
"""The longest line accepted: ten million characters, each escaped as a pair of surrogates."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_SHAPE = (
    'one JSON object is expected: {"jsonrpc": "2.0", "id": a string or an integer,'
    ' "method": a string, "params": an object}'
)


class BadFrame(ValueError):
    """A line that is not a message; `answer` is the error response for its sender."""

    def __init__(self, code: int, reason: str, request: RequestId | None = None) -> None:
        super().__init__(reason)
        error = ErrorData(code=code, message=f"{reason}; nothing was done")
        self.answer = JSONRPCError(jsonrpc="2.0", id=request, error=error)


def read_frame(line: bytes, *, noun: str = "line") -> JSONRPCMessage:
    """Return the message in `line`, which the errors call `noun`.

    A lone surrogate is allowed inside `params`, so that the tool can name the argument that holds
    it; anywhere else it is refused.

    Raises:
        BadFrame: the line is too long, not UTF-8, not JSON, or not a JSON-RPC 2.0 message.
    """
    if len(line) > MAX_FRAME_BYTES:
        raise BadFrame(INVALID_REQUEST, f"the {noun} is over {MAX_FRAME_BYTES:,} bytes: split it")
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        # pydantic rejects lone surrogates with the error that it gives for invalid JSON.
        return _validate_message(_parse_object(line, noun), noun)
    # A request with an invalid id would be taken for a notification and never be answered.
    if isinstance(message, JSONRPCNotification):
        _validate_id(_parse_object(line, noun))
    return message


def write_frame(message: JSONRPCMessage) -> bytes:
    """Return `message` as a line of UTF-8, with lone surrogates replaced."""
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except PydanticSerializationError:
        data = replace_surrogates_in(message.model_dump(by_alias=True, exclude_unset=True))
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"{text}\n".encode()


def _parse_object(line: bytes, noun: str) -> dict[str, Any]:
    try:
        data = json.loads(line.decode())
    except UnicodeDecodeError as error:
        at = f"byte {line[error.start]:#04x} at position {error.start}"
        raise BadFrame(PARSE_ERROR, f"the {noun} is not UTF-8 ({at}): send UTF-8") from error
    except ValueError as error:
        raise BadFrame(PARSE_ERROR, f"the {noun} is not JSON ({error}): {_SHAPE}") from error
    except RecursionError as error:
        reason = f"the {noun} is nested too deeply to be read: flatten it"
        raise BadFrame(PARSE_ERROR, reason) from error
    if isinstance(data, list):
        raise BadFrame(INVALID_REQUEST, f"the {noun} is a list, and batches are not part of MCP")
    if not isinstance(data, dict):
        raise BadFrame(
            INVALID_REQUEST, f"the {noun} is {show_json(data):.60}, not an object: {_SHAPE}"
        )
    return data


def _validate_id(data: dict[str, Any]) -> RequestId | None:
    request_id = data.get("id")
    if isinstance(request_id, str) and _is_encodable(request_id):
        return request_id
    if isinstance(request_id, int) and not isinstance(request_id, bool):
        return request_id
    if "id" in data and "method" in data:
        shown = show_json(request_id).encode(errors="backslashreplace").decode()
        reason = f"the id {shown:.60} is neither a string nor an integer: {_SHAPE}"
        raise BadFrame(INVALID_REQUEST, reason)
    return None


def _validate_message(data: dict[str, Any], noun: str) -> JSONRPCMessage:
    request_id = _validate_id(data)
    outside = {name: value for name, value in data.items() if name != "params"}
    if any(not _is_encodable(text) for text in _iter_strings(outside)):
        reason = "a lone surrogate stands outside of params: remove it"
        raise BadFrame(INVALID_REQUEST, reason, request_id)
    try:
        message: JSONRPCMessage = jsonrpc_message_adapter.validate_python(data, by_name=False)
    except ValidationError as error:
        raise BadFrame(
            INVALID_REQUEST, f"the {noun} is not a JSON-RPC message: {_SHAPE}", request_id
        ) from error
    return message


def _iter_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _iter_strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _iter_strings(inner)


def show_json(value: object) -> str:
    """Return a value of a message for an error: a text in quotes, anything else as JSON."""
    return repr(value) if isinstance(value, str) else json.dumps(value, default=repr)


def replace_surrogates_in(value: Any) -> Any:
    """Return a copy of JSON data with U+FFFD for the lone surrogates in its strings and names."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, Mapping):
        return {
            replace_surrogates(str(name)): replace_surrogates_in(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [replace_surrogates_in(inner) for inner in value]
    return value


def _is_encodable(text: str) -> bool:
    """Return whether UTF-8 can encode `text`: it has no lone surrogate."""
    return text.isascii() or _SURROGATE.search(text) is None
