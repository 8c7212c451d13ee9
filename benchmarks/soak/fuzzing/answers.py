"""What an answer must be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen
from jsonschema.protocols import Validator  # type: ignore[import-untyped]
from jsonschema.validators import validator_for  # type: ignore[import-untyped]
from mcp_types import CallToolResult
from pydantic import ValidationError

from benchmarks.soak.fuzzing.calls import Call
from infinite_memory.search.text.quotation import disarm_tags

_DEFECTS = ("through a defect of the server", "Error executing tool", "Internal error", "Traceback")
_INTERNAL_ERROR = -32603
_SHORTEST_REASON = 12
_LONGEST_REASON = 5000
_SURROGATE = re.compile("[\ud800-\udfff]")


class BadAnswer(Exception):
    """A line that is no valid answer; `key` is the id in it as JSON, if it has one."""

    def __init__(self, reason: str, key: str | None = None) -> None:
        super().__init__(reason)
        self.key = key


def read_answer(line: bytes) -> tuple[str, dict[str, Any]]:
    """Return the id of an answer, as JSON, and the answer.

    Raises:
        BadAnswer: the line is no answer of JSON-RPC 2.0 in UTF-8, or holds a lone surrogate.
    """
    try:
        text = line.decode()
        answer = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise BadAnswer(str(error)) from error
    if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0" or "id" not in answer:
        raise BadAnswer("it is no answer of JSON-RPC 2.0")
    key = json.dumps(answer["id"])
    if ("result" in answer) is ("error" in answer):
        raise BadAnswer("it has not either a result or an error", key)
    if "\\ud" in text.lower() and any(map(_SURROGATE.search, _texts(answer))):
        raise BadAnswer("it holds a lone surrogate", key)
    if "error" in answer and (wrong := _wrong_error(answer["error"])):
        raise BadAnswer(wrong, key)
    return key, answer


@frozen
class Judge:
    """Judges the answers of tools, which are as `tools/list` returns them."""

    _validators: Mapping[str, Validator]

    @classmethod
    def of(cls, tools: Sequence[Mapping[str, Any]]) -> Judge:
        """Return the judge of these tools."""
        schemas = {tool["name"]: tool["outputSchema"] for tool in tools}
        return cls({name: validator_for(schema)(schema) for name, schema in schemas.items()})

    def problems(self, call: Call, answer: Mapping[str, Any], *, readable: bool) -> Iterator[str]:
        """Yield what is wrong with the answer to a call whose line was sound JSON, or was not."""
        if "error" in answer:
            if isinstance(call.arguments, dict) and self._knows(call.tool) and readable:
                yield f"an error of the protocol for a sound request: {answer['error']}"
            return
        try:
            result = CallToolResult.model_validate(answer["result"])
        except ValidationError as error:
            yield f"no result of a tool: {error}"
            return
        texts = [block.text for block in result.content if block.type == "text"]
        if not texts or not all(text.strip() for text in texts):
            yield "no text in the result"
        if result.is_error:
            yield from _refusal_problems(call, " ".join(texts), ours=self._knows(call.tool))
        elif self._knows(call.tool):
            for fault in self._validators[str(call.tool)].iter_errors(result.structured_content):
                yield f"the data is not as the tool's schema says: {fault.message}"
        else:
            yield "a tool that does not exist succeeded"

    def _knows(self, tool: object) -> bool:
        return isinstance(tool, str) and tool in self._validators


def _refusal_problems(call: Call, said: str, *, ours: bool) -> Iterator[str]:
    # The SDK itself refuses a tool that does not exist, and repeats the whole of its name.
    long = ours and len(said) > _LONGEST_REASON
    if long or len(said) < _SHORTEST_REASON or any(defect in said for defect in _DEFECTS):
        yield f"the refusal does not say briefly what was wrong: {said}"
    if call.named is not None and disarm_tags(repr(call.named))[:90] not in said:
        yield f"the refusal does not name {call.named!r:.100}: {said}"


def _wrong_error(error: Any) -> str | None:
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return "its error has no code"
    message = error.get("message")
    if not isinstance(message, str) or not message.strip():
        return "its error has no message"
    if error["code"] == _INTERNAL_ERROR or any(defect in message for defect in _DEFECTS):
        return "its error tells of a defect of the server"
    return None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it holds {name}, which is not JSON")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
