"""Events of the chats of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.json` and `.jsonl`.

Earlier versions write a document with a list of messages, later ones a line for each message, in
which a further line with the same id replaces an earlier one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infinite_memory.core.files.regular import open_regular
from infinite_memory.features.sessions.events.builder import EventBuilder, text_in
from infinite_memory.features.sessions.events.event import Event
from infinite_memory.features.sessions.transcripts.lines import read_numbered

_MAX_BYTES = 256 << 20
_SPEAKERS = {"user": "user", "gemini": "assistant", "model": "assistant"}
_EXIT = re.compile(r"^Exit Code: (-?\d+)", re.MULTILINE)
_WRAPPED = re.compile(
    r"(?<!\s)\s*+<untrusted_context>\s*+(?:Output: ?)?|(?<!\s)\s*+</untrusted_context>\s*+$"
)
_ADDED = "<session_context>"
_WORKSPACE = re.compile(r"Workspace Director(?:y|ies):\**\s*\n?\s*-?\s*(?P<folder>/[^\n]+)")


def read_gemini_events(path: Path) -> Iterator[Event]:
    """Yield the events of a chat, in the order in which they began.

    Raises:
        OSError: the file cannot be read.
    """
    builder = EventBuilder(client="gemini-cli", session=path.stem, changed_at=path.stat().st_mtime)
    records = _read_document(path) if path.suffix == ".json" else _read_lines(path)
    for number, record in records:
        if record.get("kind") == "subagent":
            return
        if isinstance(record.get("sessionId"), str):
            builder.enter(number, at=record.get("startTime"), session=record["sessionId"])
            continue
        builder.enter(number, at=record.get("timestamp"))
        _read_message(builder, record)
    yield from builder.finish()


def _read_document(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with open_regular(path) as file:
        content = file.read(_MAX_BYTES + 1)
    try:
        document = json.loads(content) if len(content) <= _MAX_BYTES else None
    except (ValueError, RecursionError):
        return
    messages = document.get("messages") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(messages, list):
        return
    yield 0, {name: document.get(name) for name in ("sessionId", "startTime", "kind")}
    for number, message in enumerate(messages, 1):
        if isinstance(message, Mapping):
            yield number, message


def _read_lines(path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the records: of several with an id the last, in the place of the first."""
    records: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for number, record in read_numbered(path):
        replaced = record.get("$set")
        if isinstance(replaced, Mapping):
            listed = replaced.get("messages")
            for message in listed if isinstance(listed, list) else ():
                # A chat that is gone on with lists all earlier messages again, without their calls.
                if isinstance(message, Mapping) and str(message.get("id")) not in records:
                    _keep(records, number, message)
            continue
        _keep(records, number, record)
    return list(records.values())


def _keep(
    records: dict[str, tuple[int, Mapping[str, Any]]], number: int, record: Mapping[str, Any]
) -> None:
    name = str(record.get("id") or f"line {number}")
    first, earlier = records.get(name, (number, record))
    records[name] = (first, {**record, "timestamp": earlier.get("timestamp")})


def _read_message(builder: EventBuilder, record: Mapping[str, Any]) -> None:
    speaker = _SPEAKERS.get(str(record.get("type")))
    if speaker is None:
        return
    text = text_in(record.get("content"))
    if speaker == "user" and text.lstrip().startswith(_ADDED):
        match = _WORKSPACE.search(text)
        builder.enter(builder.position, folder=match["folder"].strip() if match else None)
        return
    builder.say(speaker, text, name=record.get("id"))
    calls = record.get("toolCalls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            builder.call(call.get("id"), call.get("name"), call.get("args"))
            output = _output_of(call.get("result"))
            exit_code = _EXIT.search(output)
            failed = call.get("status") in ("error", "cancelled")
            failed = failed or (exit_code is not None and exit_code[1] != "0")
            builder.answer(call.get("id"), output, ok=not failed)


def _output_of(result: object) -> str:
    parts = result if isinstance(result, list) else [result]
    texts = []
    for part in parts:
        answer = part.get("functionResponse") if isinstance(part, Mapping) else None
        response = answer.get("response") if isinstance(answer, Mapping) else part
        texts.append(_WRAPPED.sub("", _text_of_response(response)))
    return "\n".join(filter(None, texts))


def _text_of_response(response: object) -> str:
    if isinstance(response, Mapping):
        return text_in(response.get("output") or response.get("error") or "")
    return text_in(response)
