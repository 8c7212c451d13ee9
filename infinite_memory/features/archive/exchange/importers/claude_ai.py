"""Account exports of Claude: conversations, what Claude remembers, and projects.

Messages come with their times. The text of a file that was attached is a note of its own; calls of
tools, their results and thoughts are left out. `memories.json` gives a note for each memory, and
`projects.json` the instructions and the description of a project, and a note for each document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from infinite_memory.core.values.draft import Draft, divide_by_content
from infinite_memory.core.values.ids import import_id
from infinite_memory.core.values.memory import Kind, Origin
from infinite_memory.features.archive.exchange.opening import Value
from infinite_memory.features.archive.exchange.reading import (
    Faults,
    Options,
    naming_of,
    read_time_text,
    text_of,
)
from infinite_memory.features.archive.exchange.records import DraftRecord, Item
from infinite_memory.features.sessions.conversation import Conversation

_CLIENT = "claude"
_SPEAKERS = {"human": "user", "assistant": "assistant"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TITLE_CHARS = 200


def is_claude(value: Any) -> bool:
    """Return whether a value is a conversation, the memories or a project, by keys of Claude."""
    return isinstance(value, dict) and (
        isinstance(value.get("chat_messages"), list)
        or not {"conversations_memory", "project_memories"}.isdisjoint(value)
        or {"uuid", "name", "docs"} <= value.keys()
    )


def read_claude(found: Value, options: Options) -> Iterator[Item]:
    """Yield the messages of a conversation, the memories, or the texts of a project.

    Raises:
        ValueError: it is none of these.
    """
    value = found.value
    if not isinstance(value, dict) or not is_claude(value):
        raise ValueError("it is no conversation with chat_messages")
    if "chat_messages" in value:
        yield from _read_conversation(value, found, options)
    else:
        yield from _read_notes(value, found, options)


def _read_conversation(value: dict[str, Any], found: Value, options: Options) -> Iterator[Item]:
    faults = Faults(found.file, found.where)
    conversation = Conversation(
        client=_CLIENT,
        id=str(text_of(value, "uuid") or ""),
        limits=options.limits,
        last=faults.try_read(read_time_text, value.get("created_at"), "UTC") or _EPOCH,
        topic=faults.try_read(text_of, value, "name"),
    )
    if not conversation.id:
        raise ValueError("the conversation has no uuid")
    yield from faults.problems
    counts = Counter[str]()
    for number, message in enumerate(value["chat_messages"]):
        faults = Faults(found.file, f"{found.where}.chat_messages[{number}]".lstrip("."))
        if isinstance(message, dict):
            yield from _read_message(message, number, counts, conversation, faults)
        else:
            faults.add(f"the message is {message!r:.60}, and no object")
        yield from faults.problems


def _read_message(
    message: Mapping[str, Any],
    number: int,
    counts: Counter[str],
    conversation: Conversation,
    faults: Faults,
) -> Iterator[DraftRecord]:
    speaker = _SPEAKERS.get(str(message.get("sender")))
    if speaker is None:
        faults.add(f"the sender {message.get('sender')!r:.60} is neither human nor assistant")
        return
    name, former = faults.try_read(text_of, message, "uuid") or "", str(number)
    texts = list(_list_texts(message, faults))
    if not name:
        name = import_id([speaker, message.get("created_at"), texts])
        counts[name] += 1
        name = f"{name}/{counts[name]}"
    said_at = faults.try_read(read_time_text, message.get("created_at"), "UTC")
    for part, (text, details) in enumerate(texts):
        drafts = conversation.drafts(
            *(_CLIENT, conversation.id, name if not part else f"{name}/{part}"),
            speaker=speaker,
            text=text,
            said_at=said_at,
            details=details,
        )
        for place, draft in enumerate(drafts):
            earlier = [_CLIENT, conversation.id, former if not part else f"{former}/{part}", place]
            yield DraftRecord(
                file=faults.file,
                where=faults.where,
                draft=draft,
                earlier_ids=(import_id(earlier),),
                is_final=True,
            )


def _list_texts(message: Mapping[str, Any], faults: Faults) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what was written, and the text of every attached file with its name."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    written = [
        block["text"]
        for block in blocks
        if isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
        and block["text"].strip()
    ]
    yield ("\n\n".join(written) or faults.try_read(text_of, message, "text") or "", {})
    attached = message.get("attachments")
    for attachment in attached if isinstance(attached, list) else []:
        if isinstance(attachment, dict):
            text = faults.try_read(text_of, attachment, "extracted_content")
            if text:
                yield text, {"file": str(attachment.get("file_name") or "attachment")[:200]}


def _list_notes(value: Mapping[str, Any]) -> Iterator[tuple[list[str], Any, Any, Any, str]]:
    """Yield what identifies each note, its text, title and time, and the project that it is of."""
    if "docs" in value:
        project = str(value.get("uuid"))
        name, at = value.get("name"), value.get("created_at")
        yield ["project", project], value.get("prompt_template"), name, at, project
        yield ["description", project], value.get("description"), name, at, project
        docs = value["docs"]
        for each in docs if isinstance(docs, list) else ():
            fields = each if isinstance(each, dict) else {"content": each}
            own = str(fields.get("uuid") or fields.get("filename"))
            title, at = fields.get("filename"), fields.get("created_at")
            yield ["document", project, own], fields.get("content"), title, at, project
        return
    account, remembered = str(value.get("account_uuid") or ""), "What Claude remembers"
    yield ["memory", account], value.get("conversations_memory"), remembered, None, ""
    projects = value.get("project_memories")
    for project, text in projects.items() if isinstance(projects, dict) else ():
        yield ["memory", account, project], text, f"{remembered} of {project}", None, project


def _read_notes(value: Mapping[str, Any], found: Value, options: Options) -> Iterator[Item]:
    faults = Faults(found.file, found.where)
    for names, text, title, written, project in _list_notes(value):
        kept = faults.try_read(text_of, {"a text": text}, "a text") or ""
        at = faults.try_read(read_time_text, written, "UTC")
        for number, part in enumerate(divide_by_content(kept, options.limits.max_text_bytes)):
            draft = Draft(
                id=import_id([_CLIENT, *names, *([part] if number else [])]),
                text=part,
                title=" ".join(str(title or "").split())[:_TITLE_CHARS] or None,
                kind=Kind.NOTE,
                origin=Origin.IMPORT,
                context={"client": _CLIENT, **({"claude_project": project} if project else {})},
                happened_at=at,
            )
            yield DraftRecord(
                file=found.file,
                where=found.where,
                naming=naming_of(*names),
                is_final=number > 0,
                draft=draft,
            )
    yield from faults.problems
