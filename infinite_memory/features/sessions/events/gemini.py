"""Events of the chats of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.json` and `.jsonl`.

Earlier versions write a document with a list of messages, later ones a line for each message, in
which a further line with the same id replaces an earlier one. `$set` gives messages too, and
`$rewindTo` names the first of those that the person took back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from infinite_memory.features.sessions.events.builder import EventBuilder, text_in

_SPEAKERS = {"user": "user", "gemini": "assistant", "model": "assistant"}
_EXIT = re.compile(r"^Exit Code: (-?\d+)", re.MULTILINE)
_WRAPPED = re.compile(
    r"(?<!\s)\s*+<untrusted_context>\s*+(?:Output: ?)?|(?<!\s)\s*+</untrusted_context>\s*+$"
)
_CONTEXT = "<session_context>"
_WORKSPACE = re.compile(r"Workspace Director(?:y|ies):\**\s*\n?\s*-?\s*(?P<folder>/[^\n]+)")


def read_gemini(builder: EventBuilder, records: Iterable[tuple[int, Any]]) -> None:
    """Give the builder the events of a chat, in the order in which they began."""
    for number, record in _settle(records):
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


def _settle(records: Iterable[tuple[int, Any]]) -> list[tuple[int, Any]]:
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
                    _keep(kept, number, message)
        elif target in kept:
            names = list(kept)
            for name in names[names.index(target) :]:
                del kept[name]
        else:
            _keep(kept, number, record)
    return list(kept.values())


def _keep(kept: dict[str, tuple[int, Any]], number: int, record: Any) -> None:
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
