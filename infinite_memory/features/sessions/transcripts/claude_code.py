"""Reads the transcripts of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`.

Each line is a record. Those of type "user" and "assistant" hold a message, whose content is a text
or a list of blocks; tool calls, their results, thinking, images, records about the session, what
subagents said among themselves, and texts that the client added itself are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from infinite_memory.core.errors import InvalidInput
from infinite_memory.core.values.timestamps import read_moment
from infinite_memory.features.sessions.transcripts.lines import read_objects
from infinite_memory.features.sessions.transcripts.message import Message

_SPEAKERS = ("user", "assistant")
# Records whose text neither the person nor the assistant wrote.
_ADDED = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_COMMAND = re.compile(r"<(?:command-(?:name|message|args)|local-command-[a-z]+|bash-[a-z]+)>")
_INTERRUPTED = "[Request interrupted by user"


def read_claude_code(path: Path, position: int) -> Iterator[Message]:
    """Yield the messages of a transcript from a position; see `ReadTranscript`.

    Raises:
        OSError: the file cannot be read.
    """
    for record, end in read_objects(path, position):
        message = read_record(record, path.stem, end)
        if message is not None:
            yield message


def read_record(record: Mapping[str, Any], stem: str, end: int) -> Message | None:
    """Return the message that a record holds, None if it holds none.

    `stem` is the name of the file without its ending, `end` the position behind the record.
    """
    speaker = record.get("type")
    name = record.get("uuid")
    if speaker not in _SPEAKERS or not isinstance(name, str) or not name:
        return None
    if any(record.get(flag) is True for flag in _ADDED):
        return None
    text = _text_of(record.get("message"))
    if not text:
        return None
    session = record.get("sessionId")
    return Message(
        session=session if isinstance(session, str) and session else stem,
        name=name,
        speaker=speaker,
        text=text,
        said_at=_moment_of(record),
        details=_details_of(record),
        end=end,
    )


def _text_of(message: object) -> str:
    """Return the written text of a message, "" if it holds none."""
    content = message.get("content") if isinstance(message, Mapping) else None
    blocks = [content] if isinstance(content, str) else list(_text_blocks(content))
    texts = (_REMINDER.sub("", block).strip() for block in blocks)
    kept = [
        text
        for text in texts
        if text and not _COMMAND.match(text) and not text.startswith(_INTERRUPTED)
    ]
    return "\n\n".join(kept)


def _text_blocks(content: object) -> Iterator[str]:
    if not isinstance(content, list):
        return
    for block in content:
        if isinstance(block, dict) and block.get("type") == "text":
            text = block.get("text")
            if isinstance(text, str):
                yield text


def _moment_of(record: Mapping[str, Any]) -> datetime | None:
    value = record.get("timestamp")
    try:
        return read_moment(value, "UTC") if isinstance(value, str) else None
    except InvalidInput:
        return None


def _details_of(record: Mapping[str, Any]) -> dict[str, str]:
    branch = record.get("gitBranch")
    return {"branch": branch} if isinstance(branch, str) and branch else {}
