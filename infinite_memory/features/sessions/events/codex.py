"""Events of the rollout files of Codex CLI: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.

The lines of type "response_item" hold what was said and called; those of type "event_msg" repeat
it for the display, and are left out; one of them says how many requests the person took back. The
files of subagents are left out too, whose work is part of another session. The first versions wrote
the items without an envelope.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from infinite_memory.features.sessions.events.builder import EventBuilder, text_in

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_ANSWERS = ("function_call_output", "custom_tool_call_output")
_EXIT = re.compile(r"(?:Process exited with code|Exit code:)\s*(-?\d+)")
_HEAD_CHARS = 400


def read_codex(builder: EventBuilder, records: Iterable[tuple[int, Any]]) -> None:
    """Give the builder the events of a rollout file, in the order in which they began."""
    named, requests, taken_back = "", list[int](), set[int]()
    for number, record in records:
        builder.position = number
        payload = record.get("payload", record)
        if not isinstance(payload, Mapping):
            builder.refuse(f"the payload is {payload!r:.60}, and no object")
            continue
        kind = record.get("type")
        if kind in ("session_meta", "turn_context") or "instructions" in record:
            if not named and _is_of_subagent(payload):
                return
            # A fork repeats the beginning of the session that it was made of.
            named = named or (str(payload.get("id") or "") if kind != "turn_context" else "")
            git = payload.get("git")
            builder.enter(
                number,
                at=record.get("timestamp"),
                session=named,
                folder=payload.get("cwd"),
                branch=git.get("branch") if isinstance(git, Mapping) else None,
            )
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            turns = payload.get("num_turns")
            if isinstance(turns, int) and 0 < turns <= len(requests):
                taken_back.update(range(requests[-turns], number))
                del requests[-turns:]
        elif kind not in ("event_msg", "compacted"):
            builder.enter(number, at=record.get("timestamp"))
            if _read_item(builder, payload):
                requests.append(number)
    builder.leave_out(taken_back)


def _is_of_subagent(payload: Mapping[str, Any]) -> bool:
    """Return whether a file is that of a subagent, whose work is part of another session."""
    source = payload.get("source")
    return payload.get("thread_source") == "subagent" or (
        isinstance(source, Mapping) and "subagent" in source
    )


def _read_item(builder: EventBuilder, item: Mapping[str, Any]) -> bool:
    """Give the builder the event of an item, and return whether the person wrote it."""
    kind = item.get("type")
    if kind == "message" and item.get("role") in ("user", "assistant"):
        speaker = str(item["role"])
        content = item.get("content")
        blocks = content if isinstance(content, list) else [content]
        is_said = builder.say(speaker, list(map(text_in, blocks)), name=item.get("id"))
        return is_said and speaker == "user"
    if kind in _CALLS:
        builder.call(item.get("call_id"), item.get("name") or "shell", _read_arguments(item))
    elif kind in _ANSWERS:
        output, ok = _read_output(item.get("output"))
        builder.answer(item.get("call_id"), output, ok=ok)
    return False


def _read_arguments(item: Mapping[str, Any]) -> object:
    """Return the arguments of a call, which may be JSON in a text, or a text of their own."""
    given = item.get("arguments", item.get("input", item.get("action")))
    if isinstance(given, str):
        try:
            parsed = json.loads(given)
        except (ValueError, RecursionError):
            return given
        return parsed if isinstance(parsed, dict) else given
    return given


def _read_output(output: object) -> tuple[str, bool]:
    """Return what a tool printed, and whether it succeeded."""
    text = text_in(output)
    code: object = None
    try:
        wrapped = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        wrapped = None
    if isinstance(wrapped, dict) and isinstance(wrapped.get("output"), str):
        text = wrapped["output"]
        metadata = wrapped.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    else:
        match = _EXIT.search(text[:_HEAD_CHARS])
        code = int(match[1]) if match else None
        _, marker, rest = text.partition("\nOutput:\n")
        text = rest if marker else text
    return text, code in (None, 0)
