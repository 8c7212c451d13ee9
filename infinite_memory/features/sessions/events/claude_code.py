"""Events of the transcripts of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`.

A record of type "assistant" may hold texts and calls of tools, one of type "user" what the person
wrote or the answers to calls. What subagents did among themselves is left out, and so is what the
client added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infinite_memory.features.sessions.events.builder import EventBuilder, text_in
from infinite_memory.features.sessions.events.event import Event
from infinite_memory.features.sessions.transcripts.claude_code import read_record
from infinite_memory.features.sessions.transcripts.lines import read_numbered

_EXIT = re.compile(r"\AExit code -?\d+\n?")
_SKIPPED = ("isMeta", "isSidechain", "isCompactSummary")


def read_claude_code_events(path: Path) -> Iterator[Event]:
    """Yield the events of a transcript, in the order in which they began.

    Raises:
        OSError: the file cannot be read.
    """
    builder = EventBuilder(client="claude-code", session=path.stem, changed_at=path.stat().st_mtime)
    for number, record in read_numbered(path):
        if record.get("type") not in ("user", "assistant"):
            continue
        if any(record.get(flag) is True for flag in _SKIPPED):
            continue
        builder.enter(
            number,
            at=record.get("timestamp"),
            session=record.get("sessionId"),
            folder=record.get("cwd"),
            branch=record.get("gitBranch"),
        )
        message = read_record(record, path.stem, 0)
        if message is not None:
            builder.say(message.speaker, message.text, name=message.name)
        for block in _blocks(record):
            if block.get("type") == "tool_use":
                builder.call(block.get("id"), block.get("name"), block.get("input"))
            elif block.get("type") == "tool_result":
                output = text_in(block.get("content"))
                printed = _EXIT.sub("", output, count=1)
                is_error = block.get("is_error") is True or printed != output
                builder.answer(block.get("tool_use_id"), printed, ok=not is_error)
    yield from builder.finish()


def _blocks(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping):
            yield block
