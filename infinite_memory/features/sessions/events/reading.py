"""Which session files there are, and how the events of each are read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePath
from typing import IO, Any

from attrs import frozen

from infinite_memory.core.files.json_lines import parse_object, read_lines
from infinite_memory.core.files.regular import open_regular
from infinite_memory.features.sessions.events.builder import EventBuilder, text_in
from infinite_memory.features.sessions.events.claude_code import read_claude_code
from infinite_memory.features.sessions.events.codex import read_codex
from infinite_memory.features.sessions.events.event import Event
from infinite_memory.features.sessions.withheld import NO_PAUSES, Pauses, withhold

_SPEAKERS = {"user": "user", "gemini": "assistant", "model": "assistant"}
_EXIT = re.compile(r"^Exit Code: (-?\d+)", re.MULTILINE)
_WRAPPED = re.compile(
    r"(?<!\s)\s*+<untrusted_context>\s*+(?:Output: ?)?|(?<!\s)\s*+</untrusted_context>\s*+$"
)
_CONTEXT = "<session_context>"
_WORKSPACE = re.compile(r"Workspace Director(?:y|ies):\**\s*\n?\s*-?\s*(?P<folder>/[^\n]+)")


def read_gemini(builder: EventBuilder, records: Iterable[tuple[int, Any]]) -> None:
    """Give the builder the events of a chat, in the order in which they began."""
    for number, record in _settle_records(records):
        builder.position = number
        if not isinstance(record, Mapping):
            builder.refuse(f"the message is {record!r:.60}, and no object")
        elif record.get("kind") == "subagent":
            return
        elif isinstance(record.get("sessionId"), str):
            builder.enter(number, at=record.get("startTime"), session=record["sessionId"])
        else:
            builder.enter(number, at=record.get("timestamp"))
            _read_message(builder, record)


def _settle_records(records: Iterable[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Return the records that hold in the end: the last of each id, in the place of the first.

    What the person went back behind is left out.
    """
    kept: dict[str, tuple[int, Any]] = {}
    for number, record in records:
        fields = record if isinstance(record, Mapping) else {}
        replaced, target = fields.get("$set"), str(fields.get("$rewindTo", ""))
        if isinstance(replaced, Mapping):
            listed = replaced.get("messages")
            for message in listed if isinstance(listed, list) else ():
                # A chat that is gone on with lists all earlier messages again, without their calls.
                if isinstance(message, Mapping) and str(message.get("id")) not in kept:
                    _keep_record(kept, number, message)
        elif target in kept:
            names = list(kept)
            for name in names[names.index(target) :]:
                del kept[name]
        else:
            _keep_record(kept, number, record)
    return list(kept.values())


def _keep_record(kept: dict[str, tuple[int, Any]], number: int, record: Any) -> None:
    name = str(record.get("id") or "") if isinstance(record, Mapping) else ""
    if name in kept:
        number, earlier = kept[name]
        record = {**record, "timestamp": earlier.get("timestamp")}
    kept[name or f" {number}/{len(kept)}"] = (number, record)


def _read_message(builder: EventBuilder, record: Mapping[str, Any]) -> None:
    speaker = _SPEAKERS.get(str(record.get("type")))
    if speaker is None:
        return
    content = record.get("content")
    texts = list(map(text_in, content if isinstance(content, list) else [content]))
    if texts and texts[0].lstrip().startswith(_CONTEXT) and (match := _WORKSPACE.search(texts[0])):
        builder.folder = match["folder"].strip()
    builder.say(speaker, texts, name=record.get("id"))
    calls = record.get("toolCalls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            builder.call(call.get("id"), call.get("name"), call.get("args"))
            output = _read_output(call.get("result"))
            exit_code = _EXIT.search(output)
            failed = call.get("status") in ("error", "cancelled")
            failed = failed or (exit_code is not None and exit_code[1] != "0")
            builder.answer(call.get("id"), output, ok=not failed)


def _read_output(result: object) -> str:
    parts = result if isinstance(result, list) else [result]
    texts = []
    for part in parts:
        answer = part.get("functionResponse") if isinstance(part, Mapping) else None
        response = answer.get("response") if isinstance(answer, Mapping) else part
        texts.append(_WRAPPED.sub("", _read_response(response)))
    return "\n".join(filter(None, texts))


def _read_response(response: object) -> str:
    if isinstance(response, Mapping):
        return text_in(response.get("output") or response.get("error") or "")
    return text_in(response)


CLIENTS: Mapping[str, Callable[[EventBuilder, Iterable[tuple[int, Any]]], None]] = {
    "claude-code": read_claude_code,
    "codex": read_codex,
    "gemini": read_gemini,
}
"""The readers by the name of the client."""

NAMES = ("*.jsonl", "*.json")
"""The patterns of the names of session files."""

# What a message is called after, where that is not the name of the client.
_PRODUCTS = {"gemini": "gemini-cli"}
_LOOKED_AT = 100
_DOCUMENT = ".json"
_MAX_DOCUMENT_BYTES = 256 << 20
_MAX_LINE_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 20
_CHAT_KEYS = (b'"sessionId"', b'"projectHash"')


@frozen(kw_only=True)
class SessionFile:
    """A session file, and the client that wrote it."""

    path: Path
    client: str


@frozen(kw_only=True)
class Reading:
    """The events of a session file, in the order of time, and what of it cannot be read.

    `problems` are positions with the reasons; that of a whole file is 0.
    """

    events: tuple[Event, ...]
    problems: tuple[tuple[int, str], ...]
    is_document: bool

    def place(self, position: int) -> str:
        """Return what errors call a position."""
        if not position:
            return ""
        return f"messages[{position - 1}]" if self.is_document else f"line {position}"


def find_session_files(path: Path) -> list[SessionFile]:
    """Return the session files in a file or a folder, the earliest changed first.

    Raises:
        OSError: the folder cannot be read.
    """
    if path.is_file():
        candidates = [path]
    else:
        candidates = [file for name in NAMES for file in path.rglob(name) if file.is_file()]
    files = []
    for candidate in candidates:
        # A file may be removed meanwhile.
        with suppress(OSError), open_regular(candidate) as stream:
            client = recognise_client(stream, candidate.name)
            if client is not None:
                file = SessionFile(path=candidate, client=client)
                files.append((candidate.stat().st_mtime, candidate, file))
    return [file for _, _, file in sorted(files, key=lambda entry: entry[:2])]


def recognise_client(stream: IO[bytes], name: str) -> str | None:
    """Return the client that wrote a session file called `name`, None if none did."""
    if name.lower().endswith(_DOCUMENT):
        return "gemini" if _holds_keys(stream) else None
    for _, line in islice(read_lines(stream, _MAX_LINE_BYTES), _LOOKED_AT):
        try:
            record = parse_object(line, _MAX_LINE_BYTES, errors="replace")
        except ValueError:
            continue
        keys = record.keys()
        if {"sessionId", "projectHash"} <= keys:
            return "gemini"
        if record.get("type") in ("session_meta", "response_item"):
            return "codex"
        if {"id", "timestamp", "instructions"} <= keys:
            return "codex"
        if {"sessionId", "uuid", "type"} <= keys:
            return "claude-code"
    return None


def _holds_keys(stream: IO[bytes]) -> bool:
    """Return whether a document has the keys of a chat, which may stand behind its messages."""
    missing, end = set(_CHAT_KEYS), b""
    for _ in range(0, _MAX_DOCUMENT_BYTES, _CHUNK_BYTES):
        chunk = stream.read(_CHUNK_BYTES)
        missing -= {key for key in missing if key in end + chunk}
        if not missing or not chunk:
            break
        end = chunk[-max(map(len, _CHAT_KEYS)) :]
    return not missing


def read_session(file: SessionFile, pauses: Pauses = NO_PAUSES) -> list[Event]:
    """Return what may be kept of the events of a session file, in the order of time.

    Raises:
        OSError: the file cannot be read.
    """
    with open_regular(file.path) as stream:
        changed_at = datetime.fromtimestamp(file.path.stat().st_mtime, UTC)
        name = file.path.name
        return list(read_stream(stream, file.client, name, changed_at, pauses).events)


def read_stream(
    stream: IO[bytes], client: str, name: str, changed_at: datetime, pauses: Pauses
) -> Reading:
    """Read the session file of a client called `name`, which was changed at a time.

    What is not to be kept is left out; see `withhold`.

    Raises:
        OSError: the file cannot be read.
    """
    builder = EventBuilder(
        client=_PRODUCTS.get(client, client), session=PurePath(name).stem, changed_at=changed_at
    )
    is_document = name.lower().endswith(_DOCUMENT)
    records = _read_document(stream, builder) if is_document else _read_lines(stream, builder)
    try:
        CLIENTS[client](builder, records)
    except ValueError as error:
        builder.problems.append((0, str(error)))
    # The sort is stable; a clock that was set back does not reorder a session much.
    events = sorted(builder.finish(), key=lambda event: event.at)
    kept = tuple(withhold(events, pauses))
    return Reading(events=kept, problems=tuple(builder.problems), is_document=is_document)


def _read_lines(stream: IO[bytes], builder: EventBuilder) -> Iterator[tuple[int, Any]]:
    """Yield the objects with the numbers of their lines; a line without one is a problem."""
    for number, line in read_lines(stream, _MAX_LINE_BYTES):
        if not line.strip():
            continue
        try:
            yield number, parse_object(line, _MAX_LINE_BYTES, errors="replace")
        except ValueError as error:
            # The last line of a session that goes on may not be whole yet.
            if line.endswith(b"\n"):
                builder.problems.append((number, str(error)))


def _read_document(stream: IO[bytes], builder: EventBuilder) -> Iterator[tuple[int, Any]]:
    """Yield what a document says of its session as item 0, and then its messages from 1 on.

    Raises:
        ValueError: it cannot be read.
    """
    content = stream.read(_MAX_DOCUMENT_BYTES + 1)
    if len(content) > _MAX_DOCUMENT_BYTES:
        raise ValueError(f"the file is larger than {_MAX_DOCUMENT_BYTES:,} bytes")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from error
    messages = document.get("messages") if isinstance(document, dict) else None
    if isinstance(document, dict) and isinstance(messages, list):
        header = {key: document.get(key) for key in ("sessionId", "startTime", "kind")}
        yield 0, {**header, "sessionId": document.get("sessionId") or builder.session}
        yield from enumerate(messages, 1)
