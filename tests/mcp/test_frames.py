"""Lines as messages, and messages as lines."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mcp_types import ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse

from infinite_memory_mcp import jsonrpc
from infinite_memory_mcp.jsonrpc import BadFrame, read_frame, write_frame

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def line(**fields: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode()


def refused(content: bytes) -> JSONRPCError:
    with pytest.raises(BadFrame) as caught:
        read_frame(content)
    assert caught.value.answer.error.message.endswith("; nothing was done")
    return caught.value.answer


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"remember this", "is not JSON"),
        (b'{"jsonrpc": "2.0", "id": 1', "is not JSON"),
        (b"\xff\xfe{}", "not UTF-8 (byte 0xff at position 0)"),
        (line(id=1, method="x", params={"a": "?"}).replace(b"?", b"\xe2\x82"), "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_a_parse_error_without_an_id(content: bytes, said: str) -> None:
    answer = refused(content)
    assert (answer.id, answer.error.code) == (None, -32700)
    assert said in answer.error.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[]", "batches"),
        (b"17", "is 17, not an object"),
        (b"{}", "not a JSON-RPC message"),
        (line(id=None, method="x"), "the id null"),
        (line(id=1.5, method="x"), "the id 1.5"),
        (line(id=True, method="x"), "the id true"),
        (line(id="\ud800", method="x"), r"the id '\ud800'"),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request(content: bytes, said: str) -> None:
    answer = refused(content)
    assert (answer.id, answer.error.code) == (None, -32600)
    assert said in answer.error.message


@pytest.mark.parametrize("request_id", [3, "three", 2**70])
@pytest.mark.parametrize(
    "fields", [{}, {"method": 7}, {"method": "x", "params": []}, {"method": "\ud800"}]
)
def test_a_bad_request_is_answered_by_its_id_where_it_has_one(
    request_id: int | str, fields: dict[str, object]
) -> None:
    answer = refused(line(id=request_id, **fields))
    assert (answer.id, answer.error.code) == (request_id, -32600)


def test_a_line_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = line(id=1, method="x")
    assert read_frame(content)
    monkeypatch.setattr(jsonrpc, "MAX_FRAME_BYTES", len(content) - 1)
    assert "the line is over" in refused(content).error.message


def test_half_of_a_surrogate_pair_reaches_the_tool_which_can_name_it() -> None:
    message = read_frame(line(id=1, method="x", params={"a": "\ud800"}))
    assert message == JSONRPCRequest(jsonrpc="2.0", id=1, method="x", params={"a": "\ud800"})


@given(JSON)
@example("\x00\u202e\u200b\U0001f600")
def test_a_request_is_read_as_it_was_written(value: object) -> None:
    request = JSONRPCRequest(jsonrpc="2.0", id=1, method="x", params={"a": value})
    assert read_frame(write_frame(request)) == request


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_line_raises_anything_but_its_refusal(content: bytes) -> None:
    refused(content)


@given(st.text(alphabet=st.characters()), st.integers())
def test_every_message_becomes_one_line_of_utf_8(said: str, number: int) -> None:
    for message in (
        JSONRPCResponse(jsonrpc="2.0", id=number, result={said: [said, {"a": said}]}),
        JSONRPCError(jsonrpc="2.0", id=said, error=ErrorData(code=1, message=said, data=[said])),
    ):
        written = write_frame(message)
        assert written.count(b"\n") == 1
        assert written.endswith(b"\n")
        written.decode()


def test_what_utf_8_cannot_hold_is_replaced_in_an_answer() -> None:
    answer = JSONRPCResponse(jsonrpc="2.0", id=1, result={"a\ud800": ["b\udfff"]})
    assert json.loads(write_frame(answer))["result"] == {"a\ufffd": ["b\ufffd"]}
