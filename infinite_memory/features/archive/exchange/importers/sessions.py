"""Session files of Claude Code, Codex CLI and Gemini CLI.

What the person and the assistant wrote is imported, with its time; calls of tools, their results,
thoughts, and texts that the program added are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.exchange import ImportProblem
from infinite_memory.features.archive.exchange.importers.conversation import Conversation
from infinite_memory.features.archive.exchange.reading import (
    Options,
    parse_object,
    read_lines,
    read_time_text,
    text_of,
)
from infinite_memory.features.archive.exchange.records import Item
from infinite_memory.features.archive.exchange.source import Source
from infinite_memory.features.sessions.transcripts.claude_code import read_record

_CLAUDE_CODE, _CODEX, _GEMINI = "claude-code", "codex", "gemini-cli"
_LOOKED_AT = 100
_LOOKED_AT_LINES = 20
_MAX_SESSION_BYTES = 256 << 20
_SPEAKERS = {"user": "user", "assistant": "assistant", "gemini": "assistant", "model": "assistant"}
_BLOCKS = {"input_text", "output_text", "text"}
# What Codex itself adds in the name of the user.
_ADDED = re.compile(r"\s*(?:<(?:environment_context|user_instructions|permissions)|# AGENTS\.md )")


def _objects_at_start(source: Source, file: str) -> Iterator[dict[str, Any]]:
    for line in source.head(file).split(b"\n")[:_LOOKED_AT_LINES]:
        try:
            yield parse_object(line, len(line))
        except ValueError:
            continue


def _some_file_has(source: Source, *keys: set[str]) -> bool:
    return any(
        keys_of <= fields.keys()
        for file in islice(source.with_ending(".jsonl"), _LOOKED_AT)
        for fields in _objects_at_start(source, file)
        for keys_of in keys
    )


def is_claude_code(source: Source) -> bool:
    """Return whether a source holds transcripts of Claude Code."""
    return _some_file_has(source, {"sessionId", "uuid", "message", "type"})


def is_codex(source: Source) -> bool:
    """Return whether a source holds rollout files of Codex CLI."""
    return any(
        fields.get("type") in ("session_meta", "response_item")
        or {"id", "timestamp", "instructions"} <= fields.keys()
        for file in islice(source.with_ending(".jsonl"), _LOOKED_AT)
        for fields in _objects_at_start(source, file)
    )


def is_gemini(source: Source) -> bool:
    """Return whether a source holds chats of Gemini CLI."""
    return any(
        _is_chat(source, file)
        for ending in (".json", ".jsonl")
        for file in islice(source.with_ending(ending), _LOOKED_AT)
    )


def _is_chat(source: Source, file: str) -> bool:
    head = source.head(file)
    return b'"sessionId"' in head and b'"projectHash"' in head


def read_claude_code_sessions(source: Source, options: Options) -> Iterator[Item]:
    """Yield the messages of every transcript; their ids are those that a hook gives.

    Raises:
        OSError: a file cannot be read.
    """
    for file in source.with_ending(".jsonl"):
        shown, stem = source.show(file), PurePosixPath(file).stem
        conversation: Conversation | None = None
        for where, fields in _read_objects(source, file, options):
            if isinstance(fields, ImportProblem):
                yield fields
                continue
            message = read_record(fields, stem, 0)
            if message is None:
                continue
            if conversation is None or conversation.id != message.session:
                conversation = _begin(_CLAUDE_CODE, message.session, source, file, options)
            yield from conversation.messages(
                name=message.name,
                speaker=message.speaker,
                text=message.text,
                said_at=message.said_at,
                file=shown,
                where=where,
                details=message.details,
            )


def _begin(client: str, session: str, source: Source, file: str, options: Options) -> Conversation:
    return Conversation(
        client=client, id=session, options=options, last=source.changed_at(file).astimezone(UTC)
    )


def _read_objects(
    source: Source, file: str, options: Options
) -> Iterator[tuple[str, dict[str, Any] | ImportProblem]]:
    """Yield the place and the object of every line that is not blank."""
    with source.open(file) as stream:
        for number, line in read_lines(stream, options.max_line_bytes):
            if not line.strip():
                continue
            where = f"line {number}"
            try:
                yield where, parse_object(line, options.max_line_bytes)
            except ValueError as error:
                # The last line of a session that goes on may not be whole yet.
                if line.endswith(b"\n"):
                    problem = ImportProblem(file=source.show(file), where=where, what=str(error))
                    yield where, problem


def read_codex(source: Source, options: Options) -> Iterator[Item]:
    """Yield the messages of every rollout file.

    Raises:
        OSError: a file cannot be read.
    """
    for file in source.with_ending(".jsonl"):
        shown = source.show(file)
        conversation = _begin(_CODEX, PurePosixPath(file).stem, source, file, options)
        for where, fields in _read_objects(source, file, options):
            if isinstance(fields, ImportProblem):
                yield fields
                continue
            try:
                payload = _payload_of(fields)
                if fields.get("type") == "session_meta" or "instructions" in fields:
                    conversation.id = text_of(payload, "id") or conversation.id
                    continue
                text = _codex_text(payload)
                if not text:
                    continue
                yield from conversation.messages(
                    name=where,
                    speaker=_SPEAKERS[payload["role"]],
                    text=text,
                    said_at=_time_of(fields.get("timestamp")),
                    file=shown,
                    where=where,
                )
            except ValueError as error:
                yield ImportProblem(file=shown, where=where, what=str(error))


def _payload_of(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a line holds; the first versions wrote it without an envelope."""
    payload = fields.get("payload", fields)
    if not isinstance(payload, dict):
        raise ValueError(f"the payload is {payload!r:.60}, and no object")
    return payload


def _codex_text(payload: Mapping[str, Any]) -> str:
    if payload.get("type") != "message" or payload.get("role") not in ("user", "assistant"):
        return ""
    content = payload.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [
        block["text"]
        for block in blocks
        if isinstance(block, dict)
        and block.get("type") in _BLOCKS
        and isinstance(block.get("text"), str)
        and not (payload["role"] == "user" and _ADDED.match(block["text"]))
    ]
    return "\n\n".join(text for text in texts if text.strip())


def _time_of(value: object) -> datetime | None:
    try:
        return read_time_text(value, "UTC")
    except (ValueError, InvalidInput) as error:
        raise ValueError(str(error)) from error


def read_gemini(source: Source, options: Options) -> Iterator[Item]:
    """Yield the messages of every chat: a document, or in later versions a line for each message.

    Raises:
        OSError: a file cannot be read.
    """
    for file in source.with_ending(".jsonl"):
        if _is_chat(source, file):
            yield from _read_gemini_lines(source, file, options)
    for file in source.with_ending(".json"):
        shown = source.show(file)
        try:
            with source.open(file) as stream:
                content = stream.read(_MAX_SESSION_BYTES + 1)
            if len(content) > _MAX_SESSION_BYTES:
                raise ValueError(f"the file is larger than {_MAX_SESSION_BYTES:,} bytes")
            chat = json.loads(content)
        except (ValueError, RecursionError) as error:
            yield ImportProblem(file=shown, where="", what=f"it is not JSON: {error}")
            continue
        if not isinstance(chat, dict) or not isinstance(chat.get("messages"), list):
            continue  # another file of the program, such as logs.json
        session = chat.get("sessionId") or PurePosixPath(file).stem
        conversation = _begin(_GEMINI, str(session), source, file, options)
        for number, message in enumerate(chat["messages"]):
            yield from _read_gemini_message(message, number, conversation, shown)


def _read_gemini_lines(source: Source, file: str, options: Options) -> Iterator[Item]:
    """Yield the messages of a chat with a line for each; a later line of an id replaces it."""
    shown, session = source.show(file), PurePosixPath(file).stem
    messages: dict[str, tuple[str, dict[str, Any]]] = {}
    for where, fields in _read_objects(source, file, options):
        if isinstance(fields, ImportProblem):
            yield fields
        elif "projectHash" in fields:
            session = str(fields.get("sessionId") or session)
        elif "id" in fields:
            messages[str(fields["id"])] = (where, fields)
    conversation = _begin(_GEMINI, session, source, file, options)
    for number, (where, fields) in enumerate(messages.values()):
        yield from _read_gemini_message(fields, number, conversation, shown, where)


def _read_gemini_message(
    message: object,
    number: int,
    conversation: Conversation,
    shown: str,
    where: str | None = None,
) -> Iterator[Item]:
    where = where or f"messages[{number}]"
    try:
        if not isinstance(message, dict):
            raise ValueError(f"the message is {message!r:.60}, and no object")
        speaker = _SPEAKERS.get(str(message.get("type")))
        text = _gemini_text(message.get("content"))
        if speaker is None or not text.strip():
            return  # a notice of the program, or a call of a tool
        yield from conversation.messages(
            name=text_of(message, "id") or str(number),
            speaker=speaker,
            text=text,
            said_at=_time_of(message.get("timestamp")),
            file=shown,
            where=where,
        )
    except ValueError as error:
        yield ImportProblem(file=shown, where=where, what=str(error))


def _gemini_text(content: object) -> str:
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "\n\n".join(text for text in texts if isinstance(text, str))
